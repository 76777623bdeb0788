"""The answers of the contract: exactly these keys, with values of these kinds."""

import re
from collections.abc import Callable
from datetime import datetime
from typing import Any, NamedTuple


class OrNull(NamedTuple):
    """The shape, or null."""

    shape: Any


def conform(value: Any, shape: Any, at: str) -> None:
    """Fails where `value` has a key too many or too few, or a value of another kind."""
    if isinstance(shape, OrNull):
        if value is not None:
            conform(value, shape.shape, at)
    elif isinstance(shape, dict):
        assert isinstance(value, dict), at
        assert set(value) == set(shape), f"{at}: {sorted(value)}"
        for key, kind in shape.items():
            conform(value[key], kind, f"{at}.{key}")
    elif isinstance(shape, list):
        assert isinstance(value, list), at
        for index, item in enumerate(value):
            conform(item, shape[0], f"{at}[{index}]")
    else:
        assert shape(value), f"{at}: {value!r}"


def _one_of(*choices: str) -> Callable[[Any], bool]:
    return lambda value: value in choices


def _text(least: int, most: int) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, str) and least <= len(value) <= most


def _matching(pattern: str) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, str) and re.fullmatch(pattern, value) is not None


def _integer(least: int) -> Callable[[Any], bool]:
    return lambda value: type(value) is int and value >= least


def _number(most: int) -> Callable[[Any], bool]:
    return lambda value: type(value) in (int, float) and 0 <= value <= most


def _flag(value: Any) -> bool:
    return isinstance(value, bool)


def _anything(value: Any) -> bool:
    return isinstance(value, dict)


def _empty_list(value: Any) -> bool:
    return bool(value == [])


def _moment(value: Any) -> bool:
    """RFC 3339 with a zone."""
    return datetime.fromisoformat(value).tzinfo is not None


def _some_of(*choices: str) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, list) and bool(value) and set(value) <= set(choices)


_printable = _matching(r"[\x21-\x7E]{1,128}")
_scope_id = _text(1, 256)
_cursor = OrNull(_matching(r"[\x20-\x7E]{1,128}"))
_role = _one_of("viewer", "contributor", "reviewer", "admin")

REF = {"family": _printable, "artifact_id": _printable, "revision": _integer(1)}
CITE = {"memory_ref": REF, "entry_id": _printable, "entry_version_id": _printable}
SOURCE_REF = {"name": _one_of("content"), "source_id": _matching(r"[\x21-\x7E]{1,256}")}
SCOPE = {
    "scope_id": _scope_id,
    "title": _text(1, 256),
    "summary": _text(1, 2000),
    "parent_scope_id": OrNull(_scope_id),
    "context_references": [_scope_id],
    "external_references": [{"kind": _text(1, 128), "value": _text(1, 2000)}],
    "version": _integer(1),
}
SCOPE_PAGE = {"items": [SCOPE], "next_cursor": _cursor}
ENTRY = {
    "citation": CITE,
    "version": _integer(1),
    "kind": _text(1, 128),
    "text": _text(1, 8192),
    "state": _one_of("active", "inactive"),
    "source_refs": _empty_list,
    "artifact_refs": _empty_list,
}
_WRITE = {"memory": REF, "entry": OrNull(ENTRY)}
_CHANGE = {
    "op": _one_of("add", "revise", "deactivate"),
    "entry_id": _printable,
    "from_entry_version_id": OrNull(_printable),
    "to_entry_version_id": OrNull(_printable),
    "reason": OrNull(_text(0, 512)),
}
EXPERIENCE = dict.fromkeys(("situation", "action", "outcome", "lesson"), _text(1, 8000))
CANDIDATE = {
    "memory_citations": [CITE],
    "permissions": OrNull(dict.fromkeys(("can_revise", "can_approve", "can_reject"), _flag)),
    "candidate_id": _matching("cand_[0-9a-f]{32}"),
    "version": _integer(1),
    "family": _one_of("experience", "profile"),
    "status": _one_of("pending", "approved", "rejected"),
    "proposal": _anything,
    "source_refs": [SOURCE_REF],
    "artifact_refs": [REF],
    "target": OrNull(REF),
    "reason": OrNull(_text(1, 2000)),
    "result_artifact": OrNull(REF),
    "decision_reason": OrNull(_text(1, 2000)),
}
_SOURCE = {"source_type": _one_of("content"), "source_id": _matching(r"[\x21-\x7E]{1,256}")}
_family = _one_of("memory", "experience", "profile", "topic-memory")
_digest = _matching("sha256:[0-9a-f]{64}")
_ARTIFACT_NAME = {
    "scope_id": _scope_id,
    "family": _family,
    "artifact_id": _printable,
    "revision": _integer(1),
    "sources": [_SOURCE],
    "artifacts": [REF],
    "content_digest": _digest,
}
ARTIFACT = {**_ARTIFACT_NAME, "content": _anything, "memory_citations": [CITE]}
_ITEM = {
    **_ARTIFACT_NAME,
    "title": OrNull(_text(1, 512)),
    "summary": OrNull(_text(1, 8000)),
    "published_at": OrNull(_moment),
    "source_count": OrNull(_integer(0)),
}
ARTIFACT_PAGE = {"items": [_ITEM], "next_cursor": _cursor}
IMPORT_REPORT = {
    "line": _integer(1),
    "status": _one_of("stored", "skipped", "refused"),
    "citation": OrNull(CITE),
    "artifact": OrNull(REF),
    "error": OrNull({"code": _text(1, 64), "message": _text(1, 1000)}),
}
IMPORT_TOTALS = {"totals": dict.fromkeys(("stored", "skipped", "refused"), _integer(0))}
_PRINCIPAL = {"type": _one_of("user", "service"), "id": _text(1, 128), "description": OrNull(_text(0, 512))}
_GRANTS = [{"scope_id": _scope_id, "role": _role}]
ACCESS_ME = {"principal": _PRINCIPAL, "mode": _one_of("enforced", "disabled"), "grants": _GRANTS}
TOKEN_PAGE = {
    "items": [
        {
            "token_id": _printable,
            "principal": _PRINCIPAL,
            "grants": _GRANTS,
            "created_at": _moment,
            "revoked_at": OrNull(_moment),
        }
    ],
    "next_cursor": _cursor,
}
READINESS = {"status": _one_of("ready", "degraded", "not_ready"), "checks": _anything}

ANSWERS: dict[str, Any] = {
    "/v1/scopes": SCOPE,
    "/v1/context/prepare": {
        "schema": _one_of("powercontext.prepared-context.v1"),
        "status": _one_of("ready", "empty"),
        "content": OrNull(_text(1, 32768)),
        "content_bytes": _integer(0),
    },
    "/v1/memory/remember": _WRITE,
    "/v1/memory/entries/revise": _WRITE,
    "/v1/memory/entries/retire": _WRITE,
    "/v1/memory/entries/get": ENTRY,
    "/v1/memory/entries/list": {"memory": OrNull(REF), "entries": [ENTRY]},
    "/v1/memory/entries/erase": {"memory": REF, "entry_id": _printable, "erased_versions": _integer(0)},
    "/v1/memory/search": {
        "memory": OrNull(REF),
        "mode": OrNull(_one_of("fts", "vector", "hybrid")),
        "hits": [
            {"citation": CITE, "text": _text(1, 8192), "score": _number(1), "matched_by": _some_of("fts", "vector")}
        ],
    },
    "/v1/memory/changes": {"memory": OrNull(REF), "revisions": [{"memory_ref": REF, "changes": [_CHANGE]}]},
    "/v1/experience/propose": CANDIDATE,
    "/v1/experience/get": {
        "artifact": REF,
        "content": EXPERIENCE,
        "source_refs": [SOURCE_REF],
        "artifact_refs": [REF],
        "memory_citations": [CITE],
    },
    "/v1/experience/search": {"hits": [{"artifact": REF, "content": EXPERIENCE}]},
    "/v1/profile/propose": CANDIDATE,
    "/v1/artifact-candidates/list": {"candidates": [CANDIDATE], "next_cursor": _cursor},
    "/v1/artifact-candidates/get": CANDIDATE,
    "/v1/artifact-candidates/approve": CANDIDATE,
    "/v1/artifact-candidates/reject": CANDIDATE,
    "/v1/artifact-candidates/revise": CANDIDATE,
    "/v1/topic-memory/search": {
        "mode": _one_of("fts", "hybrid"),
        "hits": [
            {
                "artifact": REF,
                "title": _text(1, 512),
                "summary": _text(1, 8000),
                "snippet": OrNull(_text(0, 480)),
                "score": _number(100),
                "matched_by": _some_of("topic_fts", "topic_vector", "detail_fts", "detail_vector"),
            }
        ],
    },
    "/v1/topic-memory/get": {
        "artifact": REF,
        "title": _text(1, 512),
        "summary": _text(1, 8000),
        "detail": _text(1, 125_000),
        "source_refs": [SOURCE_REF],
    },
    "/v1/access/tokens": {"token_id": _printable, "token": _text(1, 512), "principal": _PRINCIPAL, "grants": _GRANTS},
    "/v1/access/tokens/revoke": {"token_id": _printable, "revoked_at": _moment},
}
