"""What one answer lets a client ask next, as OpenAPI links: an id that was made is read, changed, decided or cited."""

from typing import Any

_SCOPE = "$response.body#/scope_id"
_ARTIFACT_PATH = {
    "scope_id": _SCOPE,
    "family": "$response.body#/family",
    "artifact_id": "$response.body#/artifact_id",
}
_IN_SCOPE_OF_REQUEST = {"scope_id": "$request.body#/scope_id"}
_CANDIDATE = {**_IN_SCOPE_OF_REQUEST, "candidate_id": "$response.body#/candidate_id"}
_CANDIDATE_AT_VERSION = {**_CANDIDATE, "expected_version": "$response.body#/version"}
_ENTRY = {**_IN_SCOPE_OF_REQUEST, "citation": "$response.body#/entry/citation"}
_RESULT = {**_IN_SCOPE_OF_REQUEST, "artifact": "$response.body#/result_artifact"}

_PROPOSAL = {"situation": "s", "action": "a", "outcome": "o", "lesson": "l"}


def _link(operation_id: str, parameters: dict[str, str] | None = None, body: dict[str, Any] | None = None) -> Any:
    link: dict[str, Any] = {"operationId": operation_id}
    if parameters is not None:
        link["parameters"] = parameters
    if body is not None:
        link["requestBody"] = body
    return link


def _of_candidate() -> dict[str, Any]:
    return {
        "read": _link("get_candidate", body=_CANDIDATE),
        "approve": _link("approve_candidate", body=_CANDIDATE_AT_VERSION),
        "reject": _link("reject_candidate", body={**_CANDIDATE_AT_VERSION, "reason": "not convincing"}),
    }


LINKS: dict[str, dict[str, Any]] = {
    "create_scope": {
        "read": _link("get_scope", {"scope_id": _SCOPE}),
        "remember": _link("remember_memory", body={"scope_id": _SCOPE, "kind": "fact", "text": "a first entry"}),
        "propose": _link("propose_experience", body={"scope_id": _SCOPE, "proposal": _PROPOSAL}),
        "create": _link("create_artifact", {"scope_id": _SCOPE}, {"family": "experience", "content": _PROPOSAL}),
        "prepare": _link("prepare_context", body={"scope_id": _SCOPE, "query": "entry", "assembly": {}}),
        "export": _link("export_scope", {"scope_id": _SCOPE}),
        "delete": _link("delete_scope", {"scope_id": _SCOPE}, {"expected_version": "$response.body#/version"}),
    },
    "remember_memory": {
        "read": _link("get_memory_entry", body=_ENTRY),
        "revise": _link("revise_memory_entry", body={**_ENTRY, "kind": "fact", "text": "a revised entry"}),
        "retire": _link("retire_memory_entry", body=_ENTRY),
        "changes": _link("list_memory_changes", body={**_IN_SCOPE_OF_REQUEST, "since_revision": 0}),
        "erase": _link(
            "erase_memory_entry", body={**_IN_SCOPE_OF_REQUEST, "entry_id": "$response.body#/entry/citation/entry_id"}
        ),
    },
    "propose_experience": _of_candidate(),
    "propose_profile": _of_candidate(),
    "approve_candidate": {"read": _link("get_experience", body=_RESULT)},
    "create_artifact": {
        "head": _link("get_artifact", _ARTIFACT_PATH),
        "exact": _link("get_artifact_revision", {**_ARTIFACT_PATH, "revision": "$response.body#/revision"}),
        "history": _link("list_artifact_revisions", _ARTIFACT_PATH),
        "erase": _link("erase_artifact", _ARTIFACT_PATH, {}),
    },
    "create_token": {"revoke": _link("revoke_token", body={"token_id": "$response.body#/token_id"})},
}
"""By operation id: the links of its success."""
