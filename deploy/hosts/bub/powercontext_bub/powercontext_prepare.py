"""Ask the context sidecar for one text to inject: settings, request, check. Python standard library only.

Every plugin that is written in Python carries its own copy of this file, so that a plugin folder can be copied as it
is; a test keeps the copies equal.
"""

import hashlib
import http.client
import json
import os
import re
import socket
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

SCHEMA = "powercontext.prepared-context.v1"
QUERY_MAX_CHARS = 8192  # RFC 1489, request contract
DEFAULT_MAX_BYTES = 8000  # RFC 1489, request contract
DEFAULT_SECTIONS = [{"family": "memory", "limit": 6}, {"family": "experience", "limit": 2}]
FIELDS = {"schema", "status", "content", "content_bytes"}
# JSON writes at most six bytes for one byte of content; the rest of the answer is far below 1024.
ESCAPE_FACTOR, FRAME_BYTES = 6, 1024

_TOKEN = re.compile(r"[\x21-\x7e]+")


class NothingToInject(Exception):
    """Why this turn goes on without a prepared text. The message holds no token, query or content."""


@dataclass(frozen=True)
class Settings:
    """Where the sidecar is and what to ask it for.

    assembly: the configured JSON text, sent as it stands; None sends no `assembly` at all.
    request_timeout_s: seconds for each wait on the network. total_timeout_s: seconds for the whole of `prepare`.
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
    Raises NothingToInject when there is no Scope or a value cannot be used; a broken assembly must never turn into
    a request without one.
    """

    def setting(name: str) -> str | None:
        return environment.get(f"POWERCONTEXT_{host}_{name}") or environment.get(f"POWERCONTEXT_{name}") or None

    scope_id = setting("SCOPE_ID")
    if scope_id is None:
        raise NothingToInject("POWERCONTEXT_SCOPE_ID is not set")
    token = setting("TOKEN")
    if token is not None and not _TOKEN.fullmatch(token):
        raise NothingToInject("POWERCONTEXT_TOKEN is not printable ASCII without blanks")
    assembly = environment.get(f"POWERCONTEXT_{host}_CONTEXT_ASSEMBLY") or None
    if assembly is not None:
        try:
            json.loads(assembly)
        except (ValueError, RecursionError):
            raise NothingToInject(f"POWERCONTEXT_{host}_CONTEXT_ASSEMBLY is not JSON") from None
    try:
        return Settings(
            scope_id=scope_id,
            base_url=setting("BASE_URL") or Settings.base_url,
            unix_socket=setting("UNIX_SOCKET"),
            token=token,
            max_bytes=int(setting("MAX_BYTES") or Settings.max_bytes),
            request_timeout_s=float(setting("REQUEST_TIMEOUT_S") or Settings.request_timeout_s),
            total_timeout_s=float(setting("TOTAL_TIMEOUT_S") or Settings.total_timeout_s),
            assembly=assembly,
        )
    except ValueError:
        raise NothingToInject("MAX_BYTES, REQUEST_TIMEOUT_S or TOTAL_TIMEOUT_S is not a number") from None


def prepare(settings: Settings, query: str) -> str | None:
    """The content to inject unchanged, None when there is none; comes back within `total_timeout_s`.

    A longer query is asked by its first 8192 characters. Raises NothingToInject for every failure; nothing is retried.
    """
    if not query.strip():
        return None
    outcome: list[str | None | NothingToInject] = []

    def ask() -> None:
        try:
            outcome.append(check_prepared(_post(settings, query[:QUERY_MAX_CHARS]), settings.max_bytes))
        except NothingToInject as reason:
            outcome.append(reason)
        except (OSError, http.client.HTTPException, ValueError) as failure:
            outcome.append(NothingToInject(f"the sidecar did not answer: {type(failure).__name__}"))

    # A thread of its own, because neither name resolution nor an answer that trickles heeds a socket's timeout.
    asking = threading.Thread(target=ask, name="powercontext-prepare", daemon=True)
    asking.start()
    asking.join(settings.total_timeout_s)
    if not outcome:
        raise NothingToInject(f"the sidecar did not answer within {settings.total_timeout_s} seconds")
    if isinstance(outcome[0], NothingToInject):
        raise outcome[0]
    return outcome[0]


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
    difference; no assembly is different from any assembly.
    """
    selection: list[Any] = ["legacy"]
    if settings.assembly is not None:
        selection = ["assembly", _normalised(json.loads(settings.assembly))]
    parts = [settings.scope_id, session_or_turn, query, settings.max_bytes, selection]
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


def _normalised(assembly: Any) -> Any:
    if not isinstance(assembly, dict):
        return assembly
    whole = {"format": "markdown", "sections": DEFAULT_SECTIONS, "show": [], **assembly}
    if isinstance(whole["show"], list):
        whole["show"] = sorted(whole["show"], key=str)
    return whole


def _post(settings: Settings, query: str) -> bytes:
    """The body of a 200 answer. The assembly is the configured text itself: reading and writing it could change it."""
    fields = {"scope_id": settings.scope_id, "query": query, "max_bytes": settings.max_bytes}
    body = json.dumps(fields)
    if settings.assembly is not None:
        body = f'{body[:-1]}, "assembly": {settings.assembly}}}'
    headers = {"Content-Type": "application/json", "Accept": "application/json"}
    if settings.token is not None:
        headers["Authorization"] = f"Bearer {settings.token}"
    address = urlsplit(settings.base_url)
    connection = _connect(settings, address.scheme, address.hostname, address.port)
    try:
        connection.request("POST", f"{address.path.rstrip('/')}/v1/context/prepare", body.encode(), headers)
        answer = connection.getresponse()
        if answer.status != http.client.OK:
            raise NothingToInject(f"the sidecar answered {answer.status}")
        if answer.headers.get_content_type() != "application/json":
            raise NothingToInject("the sidecar did not answer JSON")
        most = settings.max_bytes * ESCAPE_FACTOR + FRAME_BYTES
        received = answer.read(most + 1)
        if len(received) > most:
            raise NothingToInject("the answer is far over the budget")
        return received
    finally:
        connection.close()


def _connect(settings: Settings, scheme: str, name: str | None, port: int | None) -> http.client.HTTPConnection:
    if settings.unix_socket is not None:
        return _UnixConnection(settings.unix_socket, settings.request_timeout_s)
    if scheme not in {"http", "https"} or not name:
        raise NothingToInject("POWERCONTEXT_BASE_URL is not an http or https address")
    kind = http.client.HTTPSConnection if scheme == "https" else http.client.HTTPConnection
    return kind(name, port, timeout=settings.request_timeout_s)


class _UnixConnection(http.client.HTTPConnection):
    def __init__(self, path: str, timeout_s: float) -> None:
        super().__init__("localhost", timeout=timeout_s)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self._path)


def _without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    fields = dict(pairs)
    if len(fields) != len(pairs):
        raise ValueError("a key is repeated")
    return fields
