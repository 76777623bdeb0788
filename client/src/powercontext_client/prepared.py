"""The answer of prepare: its four fields, the check before a host injects it, the key under which it may be kept."""

import hashlib
import json
from collections.abc import Mapping
from typing import Any, Final, Literal

from msgspec import UNSET, Struct, UnsetType

from powercontext_client.assembly import AssemblyInput, written_out
from powercontext_client.errors import InvalidPrepared

PREPARED_CONTEXT_SCHEMA: Final = "powercontext.prepared-context.v1"
FIELDS: Final = frozenset({"schema", "status", "content", "content_bytes"})


class PreparedContext(Struct, frozen=True, kw_only=True):
    """A checked answer. `content` is an opaque string to inject unchanged, None when there is nothing to inject.

    `content_bytes` is the UTF-8 length of `content`, 0 when it is None.
    """

    schema: Literal["powercontext.prepared-context.v1"] = PREPARED_CONTEXT_SCHEMA
    status: Literal["ready", "empty"]
    content: str | None
    content_bytes: int


def check_prepared(response: Mapping[str, Any] | bytes, max_bytes: int) -> PreparedContext:
    """The answer, when it keeps every rule of RFC 1489 for the four fields.

    response: the decoded JSON object, or the body as it came.
    max_bytes: the budget of the request in UTF-8 bytes.
    Raises InvalidPrepared otherwise; then nothing of the answer may be injected.
    """
    fields = _decoded(response) if isinstance(response, bytes) else response
    if not isinstance(fields, Mapping):
        raise InvalidPrepared(f"The answer must be a JSON object, decoded or as bytes, not {type(fields).__name__}.")
    if set(fields) != FIELDS:
        raise InvalidPrepared("The answer does not have exactly the four fields of a prepared context.")
    if fields["schema"] != PREPARED_CONTEXT_SCHEMA:
        raise InvalidPrepared("The answer has an unknown schema.")
    content, content_bytes = fields["content"], fields["content_bytes"]
    if type(content_bytes) is not int:  # True and 8.0 are no integers here
        raise InvalidPrepared("content_bytes is not an integer.")
    if fields["status"] == "empty":
        if content is not None or content_bytes != 0:
            raise InvalidPrepared("An empty answer has content.")
        return PreparedContext(status="empty", content=None, content_bytes=0)
    if fields["status"] != "ready":
        raise InvalidPrepared("The answer has an unknown status.")
    if not isinstance(content, str) or not content:
        raise InvalidPrepared("A ready answer has no content.")
    try:
        size = len(content.encode())
    except UnicodeEncodeError:
        raise InvalidPrepared("content holds a lone surrogate.") from None
    if size != content_bytes:
        raise InvalidPrepared("content_bytes is not the UTF-8 length of content.")
    if size > max_bytes:
        raise InvalidPrepared("content is larger than the budget of the request.")
    return PreparedContext(status="ready", content=content, content_bytes=size)


def prepare_cache_key(
    *,
    scope_id: str,
    session_or_turn: str,
    query: str,
    max_bytes: int,
    assembly: AssemblyInput | UnsetType = UNSET,
) -> str:
    """The key under which a prepared text may be kept and found again: equal exactly when the request means the same.

    Left-out defaults, the order of keys and the order of `show` make no difference; the order of sections, a limit,
    what is shown, the budget, the query, the Scope and the session or turn do. An omitted assembly (the legacy
    output) never shares a key with any assembly, `{}` included. A host must ask and store through this one key
    (RFC 1489, hosts).
    """
    selection: list[Any] = ["legacy"] if assembly is UNSET else ["assembly", _normalised(written_out(assembly))]
    parts = [scope_id, session_or_turn, query, max_bytes, selection]
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


def _normalised(assembly: Any) -> Any:
    """Sort `show`, whose order means nothing. Repeats are kept: they are illegal and mean another answer."""
    if not isinstance(assembly, dict) or not isinstance(assembly["show"], list | tuple):
        return assembly
    return {**assembly, "show": sorted(assembly["show"], key=str)}


def _decoded(body: bytes) -> Any:
    try:
        # Decoded first: json.loads would also take UTF-16 and UTF-32.
        return json.loads(body.decode(), object_pairs_hook=_without_repeats)
    except (ValueError, RecursionError):
        raise InvalidPrepared("The answer is not a JSON object.") from None


def _without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    fields = dict(pairs)
    if len(fields) != len(pairs):
        raise ValueError("a key is repeated")
    return fields
