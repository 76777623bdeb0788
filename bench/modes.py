"""The four kinds of prepare that are measured, their bodies, and what a plausible answer is."""

import json
from collections.abc import Sequence
from typing import Any, NamedTuple

MAX_BYTES = 8000
READY_BYTES = (400, MAX_BYTES)
"""Content of fewer bytes than the frame and one item is no answer to these queries."""


class Mode(NamedTuple):
    """`assembly` None is a request without the field, which takes the legacy output."""

    name: str
    assembly: dict[str, Any] | None
    is_empty: bool = False


MODES = (
    Mode("legacy", None),
    Mode("{}", {}),
    Mode("memory 8", {"sections": [{"family": "memory", "limit": 8}]}),
    Mode("sections []", {"sections": []}, is_empty=True),
)
DEFAULT_MODE, EMPTY_MODE = MODES[1], MODES[3]


def request_bodies(mode: Mode, asked: Sequence[tuple[str, str]]) -> list[bytes]:
    """One body for each (scope_id, query)."""
    bodies = []
    for scope_id, query in asked:
        body: dict[str, Any] = {"scope_id": scope_id, "query": query, "max_bytes": MAX_BYTES}
        if mode.assembly is not None:
            body["assembly"] = mode.assembly
        bodies.append(json.dumps(body, ensure_ascii=False).encode())
    return bodies


def fault_of(mode_is_empty: bool, status: int, body: bytes) -> str | None:
    """What is wrong with an answer to prepare, None when it is 200 and plausible."""
    if status != 200:
        return f"status {status}: {body[:300]!r}"
    try:
        answer = json.loads(body)
        state, content, size = answer["status"], answer["content"], answer["content_bytes"]
    except (ValueError, LookupError, TypeError):
        return f"not a prepared context: {body[:300]!r}"
    if mode_is_empty:
        return (
            None if (state, content, size) == ("empty", None, 0) else f"content where none was asked for: {size} bytes"
        )
    if state != "ready" or not isinstance(content, str):
        return f"status {state!r} where content was expected"
    if size != len(content.encode()):
        return f"content_bytes is {size}, content has {len(content.encode())}"
    low, high = READY_BYTES
    return None if low <= size <= high else f"content of {size} bytes is outside {low} to {high}"
