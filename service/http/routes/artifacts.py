"""Artifacts: exact reads with ETags, listings, direct writes, erasure."""

from urllib.parse import quote

import msgspec
from litestar import Response
from litestar.enums import MediaType

from contracts.artifacts import (
    Artifact,
    ArtifactPage,
    CreateArtifactRequest,
    EraseArtifactRequest,
    ErasedArtifact,
    ReplaceArtifactRequest,
)
from service.http.etags import etag_of, expected_revision, matches
from service.http.operation import Call, PageQuery, operation

_ARTIFACT = "/v1/scopes/{scope_id}/artifacts/{family}/{artifact_id}"


@operation(
    "GET",
    _ARTIFACT,
    role="viewer",
    tag="artifacts",
    answer=Artifact,
    errors=(304, 404, 410),
    sends=("ETag",),
    takes=("If-None-Match",),
)
async def get_artifact(call: Call) -> Response[bytes]:
    """Read the head revision; 304 when If-None-Match names it."""
    artifact = await call.operations.artifacts.head(call.scope_id, call.path["family"], call.path["artifact_id"])
    if matches(call.request.headers.get("if-none-match"), artifact.revision):
        return Response(b"", status_code=304, headers={"ETag": etag_of(artifact.revision)})
    return _with_etag(artifact)


@operation(
    "GET",
    _ARTIFACT + "/revisions/{revision}",
    role="viewer",
    tag="artifacts",
    answer=Artifact,
    errors=(404, 410),
    sends=("ETag",),
)
async def get_artifact_revision(call: Call) -> Response[bytes]:
    """Read one exact revision."""
    path = call.path
    artifact = await call.operations.artifacts.revision(
        call.scope_id, path["family"], path["artifact_id"], path["revision"]
    )
    return _with_etag(artifact)


@operation(
    "GET",
    _ARTIFACT + "/revisions",
    role="viewer",
    tag="artifacts",
    query=PageQuery,
    answer=ArtifactPage,
    errors=(404,),
)
async def list_artifact_revisions(call: Call) -> ArtifactPage:
    """List the revisions of one Artifact, newest first."""
    return await call.operations.artifacts.revisions(
        call.scope_id, call.path["family"], call.path["artifact_id"], call.query.limit, call.query.cursor
    )


@operation(
    "GET",
    "/v1/scopes/{scope_id}/artifacts/{family}",
    role="viewer",
    tag="artifacts",
    query=PageQuery,
    answer=ArtifactPage,
    errors=(404,),
)
async def list_artifacts(call: Call) -> ArtifactPage:
    """List the heads of one family in order of id."""
    return await call.operations.artifacts.heads(
        call.scope_id, call.path["family"], call.query.limit, call.query.cursor
    )


@operation(
    "POST",
    "/v1/scopes/{scope_id}/artifacts",
    role="reviewer",
    tag="artifacts",
    status=201,
    body=CreateArtifactRequest,
    answer=Artifact,
    errors=(404, 409, 410),
    sends=("ETag", "Location"),
)
async def create_artifact(call: Call) -> Response[bytes]:
    """Write an Experience, a Profile or a Topic Memory directly."""
    artifact = await call.operations.artifacts.create(call.scope_id, call.body)
    parts = (artifact.scope_id, "artifacts", artifact.family, artifact.artifact_id)
    location = "/v1/scopes/" + "/".join(quote(part, safe="") for part in parts)
    return _with_etag(artifact, status=201, Location=location)


@operation(
    "PUT",
    _ARTIFACT,
    role="reviewer",
    tag="artifacts",
    body=ReplaceArtifactRequest,
    answer=Artifact,
    errors=(404, 410, 412, 428),
    sends=("ETag",),
    takes=("If-Match",),
)
async def replace_artifact(call: Call) -> Response[bytes]:
    """Write the next revision; If-Match names the head it replaces."""
    artifact = await call.operations.artifacts.replace(
        call.scope_id,
        call.path["family"],
        call.path["artifact_id"],
        call.body,
        expected_revision(call.request.headers.get("if-match")),
    )
    return _with_etag(artifact)


@operation(
    "POST",
    _ARTIFACT + "/erase",
    role="admin",
    tag="artifacts",
    body=EraseArtifactRequest,
    answer=ErasedArtifact,
    errors=(404,),
)
async def erase_artifact(call: Call) -> ErasedArtifact:
    """Take the content of every revision of an Artifact out of the storage."""
    return await call.operations.artifacts.erase(
        call.scope_id, call.path["family"], call.path["artifact_id"], call.body
    )


def _with_etag(artifact: Artifact, status: int = 200, **headers: str) -> Response[bytes]:
    return Response(
        msgspec.json.encode(artifact),
        status_code=status,
        media_type=MediaType.JSON,
        headers={"ETag": etag_of(artifact.revision), **headers},
    )


ROUTES = (
    get_artifact,
    get_artifact_revision,
    list_artifact_revisions,
    list_artifacts,
    create_artifact,
    replace_artifact,
    erase_artifact,
)
