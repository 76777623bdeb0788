"""One well-formed request of every operation. One of the OpenAPI document that is missing here fails a test."""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple, Protocol
from uuid import uuid4

import httpx

from service.http.openapi import document
from tests.http_contract.api import NDJSON, Api, Json, artifact_path, artifacts_path, experience, ref_of, scope_path


class Sample(NamedTuple):
    """A request; `status` is that of its success."""

    method: str
    path: str
    body: Json | None = None
    status: int = 200
    headers: Mapping[str, str] = MappingProxyType({})
    content: bytes | None = None

    def sent_by(self, api: Api) -> httpx.Response:
        return api.send(self.method, self.path, self.body, content=self.content, headers=self.headers)


class Things(Protocol):
    """What requests name inside a Scope."""

    def citation(self) -> Json: ...
    def candidate(self) -> Json: ...
    def experience(self) -> Json: ...
    def topic(self) -> Json: ...
    def scope_version(self) -> int: ...
    def token_id(self) -> str: ...


class Invented(Things):
    """Names of the right form that nothing has."""

    def citation(self) -> Json:
        memory = {"family": "memory", "artifact_id": "memory", "revision": 1}
        return {"memory_ref": memory, "entry_id": "mem_ent_" + "0" * 32, "entry_version_id": "mem_ver_" + "0" * 32}

    def candidate(self) -> Json:
        return {"candidate_id": "cand_" + "0" * 32, "version": 1}

    def experience(self) -> Json:
        return {"family": "experience", "artifact_id": "exp_" + "0" * 32, "revision": 1}

    def topic(self) -> Json:
        return {"family": "topic-memory", "artifact_id": "top_" + "0" * 32, "revision": 1}

    def scope_version(self) -> int:
        return 1

    def token_id(self) -> str:
        return "tok_" + "0" * 32


class Fresh(Things):
    """Things that are made in `scope` when they are asked for, by someone who may."""

    def __init__(self, admin: Api, scope: str) -> None:
        self._admin = admin
        self._scope = scope

    def citation(self) -> Json:
        entry: Json = self._admin.remember(self._scope, f"entry {uuid4().hex}")["entry"]
        return dict(entry["citation"])

    def candidate(self) -> Json:
        return self._admin.propose(self._scope, experience())

    def experience(self) -> Json:
        return ref_of(self._admin.create_artifact(self._scope, "experience", experience()))

    def topic(self) -> Json:
        content = {"title": "title", "summary": "summary", "detail": "detail"}
        return ref_of(self._admin.create_artifact(self._scope, "topic-memory", content))

    def scope_version(self) -> int:
        return int(self._admin.get(scope_path(self._scope)).json()["version"])

    def token_id(self) -> str:
        return str(self._admin.call("/v1/access/tokens", success=201, id="somebody")["token_id"])


def _post(path: str, scope: str, success: int = 200, **body: Any) -> Sample:
    return Sample("POST", path, {"scope_id": scope, **body}, success)


def _review(name: str, scope: str, candidate: Json, **body: Any) -> Sample:
    named = {"candidate_id": candidate["candidate_id"], "expected_version": candidate["version"]}
    return Sample("POST", f"/v1/artifact-candidates/{name}", {"scope_id": scope, **named, **body})


def _import_entry(scope: str, things: Things) -> Sample:
    line = b'{"type":"memory-entry","kind":"fact","text":"imported"}\n'
    return Sample("POST", scope_path(scope) + "/import", headers={"Content-Type": NDJSON}, content=line)


def _replace_artifact(scope: str, things: Things) -> Sample:
    ref = things.experience()
    headers = {"If-Match": f'"revision:{ref["revision"]}"'}
    return Sample("PUT", artifact_path(scope, ref), {"content": experience("another")}, headers=headers)


def _new_scope(scope: str, things: Things) -> Sample:
    body = {"title": "t", "summary": "s", "idempotency_key": uuid4().hex}
    return Sample("POST", "/v1/scopes", body, 201)


def _replace_scope(scope: str, things: Things) -> Sample:
    body = {"expected_version": things.scope_version(), "title": "t", "summary": "s"}
    return Sample("PUT", scope_path(scope), body)


SAMPLES: dict[str, Callable[[str, Things], Sample]] = {
    "get_live": lambda _, __: Sample("GET", "/health/live"),
    "get_ready": lambda _, __: Sample("GET", "/health/ready"),
    "get_capabilities": lambda _, __: Sample("GET", "/v1/capabilities"),
    "get_metrics": lambda _, __: Sample("GET", "/metrics"),
    "get_openapi_yaml": lambda _, __: Sample("GET", "/openapi.yaml"),
    "get_openapi_json": lambda _, __: Sample("GET", "/openapi.json"),
    "get_docs": lambda _, __: Sample("GET", "/docs"),
    "prepare_context": lambda scope, _: _post(
        "/v1/context/prepare", scope, query="entry", assembly={"sections": [{"family": "topic-memory", "limit": 1}]}
    ),
    "create_scope": _new_scope,
    "list_scopes": lambda _, __: Sample("GET", "/v1/scopes"),
    "get_scope": lambda scope, _: Sample("GET", scope_path(scope)),
    "replace_scope": _replace_scope,
    "delete_scope": lambda scope, things: Sample(
        "POST", scope_path(scope) + "/delete", {"expected_version": things.scope_version()}
    ),
    "remember_memory": lambda scope, _: _post("/v1/memory/remember", scope, kind="fact", text="remembered"),
    "search_memory": lambda scope, _: _post("/v1/memory/search", scope, query="entry", limit=5, mode="fts"),
    "list_memory_entries": lambda scope, _: _post("/v1/memory/entries/list", scope, include_inactive=True, limit=1),
    "get_memory_entry": lambda scope, things: _post("/v1/memory/entries/get", scope, citation=things.citation()),
    "revise_memory_entry": lambda scope, things: _post(
        "/v1/memory/entries/revise", scope, citation=things.citation(), kind="fact", text=f"revised {uuid4().hex}"
    ),
    "retire_memory_entry": lambda scope, things: _post("/v1/memory/entries/retire", scope, citation=things.citation()),
    "erase_memory_entry": lambda scope, things: _post(
        "/v1/memory/entries/erase", scope, entry_id=things.citation()["entry_id"]
    ),
    "list_memory_changes": lambda scope, _: _post("/v1/memory/changes", scope, since_revision=0),
    "propose_experience": lambda scope, _: _post("/v1/experience/propose", scope, 201, proposal=experience()),
    "search_experience": lambda scope, _: _post("/v1/experience/search", scope, query="lesson", limit=5),
    "get_experience": lambda scope, things: _post("/v1/experience/get", scope, artifact=things.experience()),
    "propose_profile": lambda scope, _: _post("/v1/profile/propose", scope, 201, content="# Profile"),
    "search_topic_memory": lambda scope, _: _post("/v1/topic-memory/search", scope, query="title", limit=5),
    "get_topic_memory": lambda scope, things: _post("/v1/topic-memory/get", scope, artifact=things.topic()),
    "list_candidates": lambda scope, _: _post("/v1/artifact-candidates/list", scope, status="pending", limit=5),
    "get_candidate": lambda scope, things: _post(
        "/v1/artifact-candidates/get", scope, candidate_id=things.candidate()["candidate_id"]
    ),
    "approve_candidate": lambda scope, things: _review("approve", scope, things.candidate()),
    "reject_candidate": lambda scope, things: _review("reject", scope, things.candidate(), reason="no"),
    "revise_candidate": lambda scope, things: _review(
        "revise", scope, things.candidate(), proposal=experience("revised")
    ),
    "get_artifact": lambda scope, things: Sample("GET", artifact_path(scope, things.experience())),
    "get_artifact_revision": lambda scope, things: Sample(
        "GET", artifact_path(scope, things.experience()) + "/revisions/1"
    ),
    "list_artifact_revisions": lambda scope, things: Sample(
        "GET", artifact_path(scope, things.experience()) + "/revisions"
    ),
    "list_artifacts": lambda scope, _: Sample("GET", artifacts_path(scope) + "/experience"),
    "create_artifact": lambda scope, _: Sample(
        "POST", artifacts_path(scope), {"family": "experience", "content": experience()}, 201
    ),
    "replace_artifact": _replace_artifact,
    "erase_artifact": lambda scope, things: Sample(
        "POST", artifact_path(scope, things.experience()) + "/erase", {"reason": "asked for"}
    ),
    "import_scope": _import_entry,
    "export_scope": lambda scope, _: Sample("GET", scope_path(scope) + "/export"),
    "get_access": lambda _, __: Sample("GET", "/v1/access/me"),
    "create_token": lambda _, __: Sample("POST", "/v1/access/tokens", {"id": "somebody", "type": "user"}, 201),
    "list_tokens": lambda _, __: Sample("GET", "/v1/access/tokens"),
    "revoke_token": lambda _, things: Sample("POST", "/v1/access/tokens/revoke", {"token_id": things.token_id()}),
}


def declared() -> dict[str, Json]:
    """What the OpenAPI document says of each operation, by its id, with its path and method added."""
    return {
        described["operationId"]: {**described, "path": path, "method": method}
        for path, methods in document().content["paths"].items()
        for method, described in methods.items()
    }


def operations_with_json_body() -> list[str]:
    return [
        name
        for name, described in declared().items()
        if "application/json" in described.get("requestBody", {}).get("content", {})
    ]
