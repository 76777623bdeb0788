"""Artifacts: exact reads, listings, direct writes and erasure; Experience, Profile and Topic Memory by name."""

from typing import TYPE_CHECKING, Any

from contracts.artifacts import (
    Artifact,
    ArtifactContent,
    ArtifactPage,
    CreateArtifactRequest,
    EraseArtifactRequest,
    ErasedArtifact,
    ExperienceContent,
    ExperienceRead,
    ExperienceSearchRequest,
    ExperienceSearchResponse,
    GetArtifactRequest,
    ProfileContent,
    ReplaceArtifactRequest,
    TopicMemoryContent,
    TopicMemoryRead,
    TopicMemorySearchRequest,
    TopicMemorySearchResponse,
)
from contracts.errors import InvalidRequest, PreconditionRequired
from contracts.identity import Ref, SourceRef
from contracts.ports import Proposal
from contracts.review import Candidate, ProposeExperienceRequest, ProposeProfileRequest
from service.access import Action, Caller
from service.normalize import profile_text, stored_content
from service.operations.candidates import check_provenance, with_permissions
from service.validation import checked

if TYPE_CHECKING:
    from service.runtime import Runtime

CONTENT_OF: dict[str, type[ArtifactContent]] = {
    "experience": ExperienceContent,
    "profile": ProfileContent,
    "topic-memory": TopicMemoryContent,
}
"""The content of each family that can be written directly."""


class ArtifactOperations:
    """Artifacts of any family under their Scope."""

    def __init__(self, runtime: "Runtime", caller: Caller) -> None:
        self._artifacts = runtime.storage.artifacts
        self._runtime = runtime
        self._caller = caller

    async def head(self, scope_id: str, family: str, artifact_id: str) -> Artifact:
        """Raises ArtifactNotFound, ContentErased."""
        self._caller.require(Action.READ, scope_id)
        return await self._artifacts.read(scope_id, family, artifact_id, None)

    async def revision(self, scope_id: str, family: str, artifact_id: str, revision: int) -> Artifact:
        """Raises ArtifactNotFound, ContentErased."""
        self._caller.require(Action.READ, scope_id)
        return await self._artifacts.read(scope_id, family, artifact_id, revision)

    async def revisions(
        self, scope_id: str, family: str, artifact_id: str, limit: int, cursor: str | None
    ) -> ArtifactPage:
        """Newest first."""
        self._caller.require(Action.READ, scope_id)
        items, following = await self._artifacts.revisions(scope_id, family, artifact_id, limit=limit, cursor=cursor)
        return ArtifactPage(items=items, next_cursor=following)

    async def heads(self, scope_id: str, family: str, limit: int, cursor: str | None) -> ArtifactPage:
        """Heads of one family in order of artifact id."""
        self._caller.require(Action.READ, scope_id)
        items, following = await self._artifacts.heads(scope_id, family, limit=limit, cursor=cursor)
        return ArtifactPage(items=items, next_cursor=following)

    async def create(self, scope_id: str, request: CreateArtifactRequest) -> Artifact:
        """Raises ArtifactAlreadyExists for a second Profile."""
        content = stored_content(request.content, "body", "content")
        self._caller.require(Action.REVIEW, scope_id)
        created = await self._artifacts.create(scope_id, content)
        await self._runtime.inference.written(scope_id)
        return created

    async def replace(
        self,
        scope_id: str,
        family: str,
        artifact_id: str,
        request: ReplaceArtifactRequest,
        expected_revision: int | None,
    ) -> Artifact:
        """The next revision after `expected_revision`, which the caller must name.

        Raises PreconditionRequired, ArtifactNotFound, PreconditionFailed, ContentErased.
        """
        content = content_of(family, request.content, "content")
        self._caller.require(Action.REVIEW, scope_id)
        if expected_revision is None:
            raise PreconditionRequired
        replaced = await self._artifacts.replace(scope_id, artifact_id, content, expected_revision)
        await self._runtime.inference.written(scope_id)
        return replaced

    async def erase(
        self, scope_id: str, family: str, artifact_id: str, request: EraseArtifactRequest
    ) -> ErasedArtifact:
        """Raises ArtifactNotFound."""
        _require_written_directly(family)
        self._caller.require(Action.ADMINISTER, scope_id)
        erased = await self._artifacts.erase(scope_id, family, artifact_id, request.reason)
        return ErasedArtifact(scope_id=scope_id, family=family, artifact_id=artifact_id, erased_revisions=erased)


class ExperienceOperations:
    """Experiences: proposed, reviewed, searched, read by reference."""

    def __init__(self, runtime: "Runtime", caller: Caller) -> None:
        self._runtime = runtime
        self._storage = runtime.storage
        self._caller = caller

    async def propose(self, request: ProposeExperienceRequest) -> Candidate:
        """A pending Candidate. Raises ArtifactNotFound for a target that does not exist."""
        check_provenance(request.source_refs, request.artifact_refs, request.memory_citations)
        if request.target is not None and request.target.family != "experience":
            raise InvalidRequest.at("body", "target", "family", msg="must be experience")
        self._caller.require(Action.CONTRIBUTE, request.scope_id)
        proposal = Proposal(
            content=request.proposal,
            source_refs=request.source_refs,
            artifact_refs=request.artifact_refs,
            memory_citations=request.memory_citations,
            target=request.target,
            reason=request.reason,
        )
        candidate = await self._storage.candidates.propose(request.scope_id, proposal)
        return with_permissions(candidate, self._caller, request.scope_id)

    async def search(self, request: ExperienceSearchRequest) -> ExperienceSearchResponse:
        """Approved Experiences at their head revisions."""
        self._caller.require(Action.READ, request.scope_id)
        vector = await self._runtime.searching_vector(request.scope_id, request.query)
        hits = await self._storage.artifacts.search_experience(request.scope_id, request.query, request.limit, vector)
        return ExperienceSearchResponse(hits=hits)

    async def get(self, request: GetArtifactRequest) -> ExperienceRead:
        """Raises ArtifactNotFound, ContentErased."""
        _require_family(request.artifact, "experience")
        self._caller.require(Action.READ, request.scope_id)
        ref = request.artifact
        artifact = await self._storage.artifacts.read(request.scope_id, ref.family, ref.artifact_id, ref.revision)
        return ExperienceRead(
            artifact=ref,
            content=checked(artifact.content, ExperienceContent),
            source_refs=_source_refs(artifact),
            artifact_refs=artifact.artifacts,
            memory_citations=artifact.memory_citations,
        )


class ProfileOperations:
    """Profiles: proposed and reviewed; the head is read as an Artifact."""

    def __init__(self, runtime: "Runtime", caller: Caller) -> None:
        self._storage = runtime.storage
        self._caller = caller

    async def propose(self, request: ProposeProfileRequest) -> Candidate:
        """A pending Candidate; the head stays as it is until it is approved."""
        content = ProfileContent(content=profile_text(request.content, "body", "content"))
        self._caller.require(Action.CONTRIBUTE, request.scope_id)
        candidate = await self._storage.candidates.propose(
            request.scope_id, Proposal(content=content, reason=request.reason)
        )
        return with_permissions(candidate, self._caller, request.scope_id)


class TopicMemoryOperations:
    """Topic Memories: searched, read by reference."""

    def __init__(self, runtime: "Runtime", caller: Caller) -> None:
        self._runtime = runtime
        self._storage = runtime.storage
        self._caller = caller

    async def search(self, request: TopicMemorySearchRequest) -> TopicMemorySearchResponse:
        """Topic Memories at their head revisions."""
        self._caller.require(Action.READ, request.scope_id)
        vector = await self._runtime.searching_vector(request.scope_id, request.query)
        hits = await self._storage.artifacts.search_topic_memory(request.scope_id, request.query, request.limit, vector)
        return TopicMemorySearchResponse(mode="fts" if vector is None else "hybrid", hits=hits)

    async def get(self, request: GetArtifactRequest) -> TopicMemoryRead:
        """Raises ArtifactNotFound, ContentErased."""
        _require_family(request.artifact, "topic-memory")
        self._caller.require(Action.READ, request.scope_id)
        ref = request.artifact
        artifact = await self._storage.artifacts.read(request.scope_id, ref.family, ref.artifact_id, ref.revision)
        content = checked(artifact.content, TopicMemoryContent)
        return TopicMemoryRead(
            artifact=ref,
            title=content.title,
            summary=content.summary,
            detail=content.detail,
            source_refs=_source_refs(artifact),
        )


def content_of(family: str, content: dict[str, Any], *path: str) -> ArtifactContent:
    """Content that came untyped because the family stands elsewhere, checked and in its stored form.

    `path` is where it stood in the body. Raises InvalidRequest.
    """
    _require_written_directly(family)
    return stored_content(checked(content, CONTENT_OF[family], "body", *path), "body", *path)


def _require_written_directly(family: str) -> None:
    if family not in CONTENT_OF:
        raise InvalidRequest.at("path", "family", msg=f"must be one of {', '.join(CONTENT_OF)}")


def _require_family(ref: Ref, family: str) -> None:
    if ref.family != family:
        raise InvalidRequest.at("body", "artifact", "family", msg=f"must be {family}")


def _source_refs(artifact: Artifact) -> tuple[SourceRef, ...]:
    return tuple(SourceRef(name="content", source_id=source.source_id) for source in artifact.sources)
