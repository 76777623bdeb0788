"""Ask the context sidecar for one text to inject: settings, request, check. Python standard library only.

Every plugin that is written in Python carries its own copy of this file, so that a plugin folder can be copied as it
is; a test keeps the copies equal.
"""

import hashlib
import json
import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar
from urllib.parse import urlsplit

# Some hosts load a plugin's folder as a package, others start a program in it.
if __package__:
    from .powercontext_exchange import Limits, Request, Unanswered, post_for_json
else:
    from powercontext_exchange import Limits, Request, Unanswered, post_for_json

SCHEMA = "powercontext.prepared-context.v1"
QUERY_MAX_CHARS = 8192  # RFC 1489, request contract
DEFAULT_MAX_BYTES = 8000  # RFC 1489, request contract
CONTENT_MAX_BYTES = 32_768  # RFC 1489, request contract: the largest max_bytes
DEFAULT_SECTIONS = [{"family": "memory", "limit": 6}, {"family": "experience", "limit": 2}]
FIELDS = {"schema", "status", "content", "content_bytes"}
# JSON writes at most six bytes for one byte of content; the rest of the answer is far below 1024.
ESCAPE_FACTOR, FRAME_BYTES = 6, 1024
TIMEOUT_MAX_S = 86_400
SOCKET_PATH_MAX_BYTES = 107  # Linux, unix(7); where it is less, the connection fails

_TOKEN = re.compile(r"[\x21-\x7e]+")
_BLANK = re.compile(r"[\x00-\x20\x7f]")
_DIGITS = re.compile(r"[0-9]{1,15}")  # as many as every reader of JSON keeps
_T = TypeVar("_T")


class NothingToInject(Exception):
    """Why this turn goes on without a prepared text. The message holds no token, query or content."""


@dataclass(frozen=True)
class Settings:
    """Where the sidecar is and what to ask it for.

    base_url: http or https, without user, query and fragment; with `unix_socket` only its path prefix counts.
    assembly: the configured JSON text, sent as it stands; None sends no `assembly` at all.
    request_timeout_s, total_timeout_s: seconds for each wait on the network and for the whole, up to TIMEOUT_MAX_S.
    """

    scope_id: str
    base_url: str = "http://127.0.0.1:8000"
    unix_socket: str | None = None
    token: str | None = field(default=None, repr=False)
    max_bytes: int = DEFAULT_MAX_BYTES
    request_timeout_s: float = 2.0
    total_timeout_s: float = 3.0
    assembly: str | None = None


def read_settings(host: str, environment: Mapping[str, str] = os.environ) -> Settings:
    """The settings of one host from POWERCONTEXT_<HOST>_<NAME>, else from POWERCONTEXT_<NAME>.

    CONTEXT_ASSEMBLY alone has no such fallback: a selection is configured for one host. An empty value is none.
    Raises NothingToInject when there is no Scope or a value cannot be used, and names the variable, never its value;
    a broken assembly must never turn into a request without one.
    """

    def setting(name: str, read: Callable[[str], _T], otherwise: _T, *, common: bool = True) -> _T:
        own = f"POWERCONTEXT_{host}_{name}"
        for variable in (own, f"POWERCONTEXT_{name}") if common else (own,):
            if text := environment.get(variable):
                try:
                    return read(text)
                except NothingToInject as wrong:
                    raise NothingToInject(f"{variable} {wrong}") from None
        return otherwise

    scope_id = setting("SCOPE_ID", _utf8, "")
    if not scope_id:
        raise NothingToInject("POWERCONTEXT_SCOPE_ID is not set")
    return Settings(
        scope_id=scope_id,
        base_url=setting("BASE_URL", _address, Settings.base_url),
        unix_socket=setting("UNIX_SOCKET", _socket_path, None),
        token=setting("TOKEN", _token, None),
        max_bytes=setting("MAX_BYTES", _whole_number, Settings.max_bytes),
        request_timeout_s=setting("REQUEST_TIMEOUT_S", _seconds, Settings.request_timeout_s),
        total_timeout_s=setting("TOTAL_TIMEOUT_S", _seconds, Settings.total_timeout_s),
        assembly=setting("CONTEXT_ASSEMBLY", _json_text, None, common=False),
    )


def _utf8(text: str) -> str:
    try:
        text.encode()
    except UnicodeEncodeError:
        raise NothingToInject("is not UTF-8") from None
    return text


def _token(text: str) -> str:
    if not _TOKEN.fullmatch(text):
        raise NothingToInject("is not printable ASCII without blanks")
    return text


def _address(text: str) -> str:
    # What it holds stays unsaid: it may be a password.
    try:
        address = urlsplit(_utf8(text))
        encodable = (address.hostname or "").encode("idna")
    except ValueError:
        raise NothingToInject("must be an http or https address") from None
    # urlsplit takes some blanks out without a word.
    if address.scheme not in {"http", "https"} or not encodable or _BLANK.search(text):
        raise NothingToInject("must be an http or https address")
    if address.netloc.rpartition("@")[0] or address.query or address.fragment:
        raise NothingToInject("must hold neither user, query nor fragment")
    try:
        _ = address.port
    except ValueError:
        raise NothingToInject("must hold a port from 0 to 65535, or none") from None
    return text


def _socket_path(text: str) -> str:
    if len(os.fsencode(text)) > SOCKET_PATH_MAX_BYTES:
        raise NothingToInject("is longer than the path of a socket may be")
    return text


def _whole_number(text: str) -> int:
    if not _DIGITS.fullmatch(text):
        raise NothingToInject("is not a whole number in decimal digits")
    return int(text)


def _seconds(text: str) -> float:
    try:
        # float would also take underscores and other scripts' digits, which no other reader of settings does.
        seconds = float(text) if text.isascii() and "_" not in text else 0.0
    except ValueError:
        seconds = 0.0
    if not 0 < seconds <= TIMEOUT_MAX_S:
        raise NothingToInject(f"is not a number above 0 and at most {TIMEOUT_MAX_S}")
    return seconds


def _json_text(text: str) -> str:
    def refuse(constant: str) -> None:
        raise ValueError(constant)  # NaN and Infinity, which json takes and JSON does not have

    try:
        json.loads(_utf8(text), parse_constant=refuse)
    except ValueError:
        raise NothingToInject("is not JSON") from None
    except RecursionError:
        raise NothingToInject("is nested too deeply") from None
    return text


def prepare(settings: Settings, query: str) -> str | None:
    """The content to inject unchanged, None when there is none; comes back within `total_timeout_s`.

    A longer query is asked by its first 8192 characters. Raises NothingToInject for every failure; nothing is retried.
    """
    if not query.strip():
        return None
    return check_prepared(_post(settings, query[:QUERY_MAX_CHARS]), settings.max_bytes)


def check_prepared(body: bytes, max_bytes: int) -> str | None:
    """The content of an answer that keeps every rule of RFC 1489, None when it is empty.

    max_bytes: the budget of the request in UTF-8 bytes. Raises NothingToInject otherwise.
    """
    try:
        # Decoded first: json.loads would also take UTF-16 and UTF-32.
        answer = json.loads(body.decode(), object_pairs_hook=_without_repeats)
    except (ValueError, RecursionError):
        raise NothingToInject("the answer is not a JSON object") from None
    if not isinstance(answer, dict) or set(answer) != FIELDS:
        raise NothingToInject("the answer does not have exactly the four fields")
    content, size = answer["content"], answer["content_bytes"]
    if answer["schema"] != SCHEMA or type(size) is not int:
        raise NothingToInject("the answer has an unknown schema or no whole content_bytes")
    if answer["status"] == "empty" and content is None and size == 0:
        return None
    if answer["status"] != "ready" or not isinstance(content, str) or not content:
        raise NothingToInject("status and content of the answer do not agree")
    try:
        counted = len(content.encode())
    except UnicodeEncodeError:
        raise NothingToInject("content holds a lone surrogate") from None
    if counted != size:
        raise NothingToInject("content_bytes is not the length of content")
    if counted > max_bytes:
        raise NothingToInject("content is over the budget")
    return content


def cache_key(settings: Settings, session_or_turn: str, query: str) -> str:
    """The one key under which a prepared text may be kept and found again within a process.

    Equal exactly when the request means the same: left-out defaults, the order of keys and of `show` make no
    difference; no assembly is different from any assembly. Raises NothingToInject when the host's own calls leave too
    little of the stack for the assembly's nesting.
    """
    selection: list[Any] = ["legacy"]
    try:
        if settings.assembly is not None:
            selection = ["assembly", _normalised(json.loads(settings.assembly))]
        parts = [settings.scope_id, session_or_turn, query[:QUERY_MAX_CHARS], settings.max_bytes, selection]
        return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()
    except RecursionError:
        raise NothingToInject("the assembly is nested too deeply") from None


def _normalised(assembly: Any) -> Any:
    if not isinstance(assembly, dict):
        return assembly
    whole = {"format": "markdown", "sections": DEFAULT_SECTIONS, "show": [], **assembly}
    if isinstance(whole["show"], list):
        whole["show"] = sorted(whole["show"], key=str)
    return whole


def _post(settings: Settings, query: str) -> bytes:
    """The body of the answer. The assembly is the configured text itself: reading and writing it could change it."""
    body = json.dumps({"scope_id": settings.scope_id, "query": query, "max_bytes": settings.max_bytes})
    if settings.assembly is not None:
        body = f'{body[:-1]}, "assembly": {settings.assembly}}}'
    headers = {"Content-Type": "application/json", "Accept": "application/json"}
    if settings.token is not None:
        headers["Authorization"] = f"Bearer {settings.token}"
    most_bytes = min(settings.max_bytes, CONTENT_MAX_BYTES) * ESCAPE_FACTOR + FRAME_BYTES
    request = Request(settings.base_url, settings.unix_socket, "/v1/context/prepare", headers, body.encode())
    try:
        return post_for_json(request, Limits(settings.total_timeout_s, settings.request_timeout_s, most_bytes))
    except Unanswered as reason:
        raise NothingToInject(str(reason)) from None


def _without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    fields = dict(pairs)
    if len(fields) != len(pairs):
        raise ValueError("a key is repeated")
    return fields
