"""One HTTP request and its answer within a deadline that nothing outlives. Python standard library only.

Every plugin that is written in Python carries its own copy of this file; a test keeps the copies equal.
"""

import contextlib
import http.client
import io
import json
import re
import socket
import threading
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote, urlsplit

RECEIVED_MAX_BYTES = 524_288
"""Of an answer with its head and all interim answers before it; above every `most_bytes` that is asked for here."""

_CODE = re.compile(r"[a-z0-9_]{1,64}")
_REQUEST_ID = re.compile(r"[0-9a-zA-Z_-]{1,64}")


class Unanswered(Exception):
    """Why there is no answer. The message holds no token, address or content."""


@dataclass(frozen=True)
class Request:
    """A POST of JSON.

    base_url: http or https, with a host that can be encoded and a valid port; its own path comes before `path`.
    unix_socket: the path of a socket that takes the place of its host, or None.
    """

    base_url: str
    unix_socket: str | None
    path: str
    headers: dict[str, str] = field(repr=False)
    body: bytes = field(repr=False)


@dataclass(frozen=True)
class Limits:
    """Seconds for the whole and for each wait on the network, both above 0, and bytes of the answer's body."""

    total_s: float
    each_wait_s: float
    most_bytes: int


def post_for_json(request: Request, limits: Limits) -> bytes:
    """The body of a 200 answer in JSON, as it came. Follows no redirect, heeds no proxy variable, asks once.

    Comes back within `total_s`, and then no thread is left but one that still waits for a name to be resolved. Raises
    Unanswered for every failure.
    """
    line = _Line()
    outcome: list[bytes | Unanswered] = []

    def ask() -> None:
        try:
            outcome.append(_ask(request, limits, line))
        except Unanswered as reason:
            outcome.append(reason)
        except Exception as failure:  # noqa: BLE001 - Python would print the traceback of a thread into the host
            outcome.append(Unanswered(f"the sidecar did not answer: {type(failure).__name__}"))

    # A thread of its own, because neither name resolution nor an answer that trickles heeds a socket's timeout.
    asking = threading.Thread(target=ask, name="powercontext", daemon=True)
    asking.start()
    try:
        asking.join(limits.total_s)
        late = asking.is_alive()
    finally:
        line.break_off()
    if late:
        raise Unanswered(f"the sidecar did not answer within {limits.total_s:g} seconds")
    if isinstance(outcome[0], Unanswered):
        raise outcome[0]
    return outcome[0]


def _ask(request: Request, limits: Limits, line: "_Line") -> bytes:
    address = urlsplit(request.base_url)
    secure = address.scheme == "https" and request.unix_socket is None
    kind = _SecureConnection if secure else _Connection
    connection = kind(address.hostname or "", address.port, timeout=limits.each_wait_s)
    connection.line, connection.unix_socket = line, request.unix_socket
    target = quote(address.path.rstrip("/"), safe="/%:@!$&'()*+,;=~") + request.path
    try:
        connection.request("POST", target, request.body, request.headers)
        with connection.getresponse() as answer:
            if answer.status != http.client.OK:
                raise Unanswered(f"the sidecar answered {_told(answer, limits.most_bytes)}")
            if answer.headers.get_content_type() != "application/json":
                raise Unanswered("the sidecar did not answer JSON")
            received = answer.read(limits.most_bytes + 1)
            if len(received) > limits.most_bytes:
                raise Unanswered("the answer is far over the budget")
            return received
    finally:
        connection.close()
        line.release()


def _told(answer: http.client.HTTPResponse, most_bytes: int) -> str:
    """What may be said of an error: its status, its code and its request id, and no other word that was sent to us."""
    told = str(answer.status)
    if answer.headers.get_content_type() == "application/json":
        received = answer.read(most_bytes + 1)
        with contextlib.suppress(ValueError, TypeError, KeyError, RecursionError):
            code = json.loads(received.decode())["error"]["code"] if len(received) <= most_bytes else None
            if isinstance(code, str) and _CODE.fullmatch(code):
                told += f" {code}"
    request_id = answer.headers.get("X-PowerContext-Request-ID", "")
    return f"{told} (request {request_id})" if _REQUEST_ID.fullmatch(request_id) else told


class _Line:
    """The way to the sidecar that one request takes, which the thread that waits for it may break off."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._held: socket.socket | None = None
        self._broken = False

    def hold(self, opened: socket.socket) -> None:
        """Take the place of the socket before. Raises Unanswered when the line is broken off."""
        with self._lock:
            self._close()
            self.check()
            # A duplicate: TLS takes the socket over, and a number that is closed here may soon be another file's.
            self._held = opened.dup()

    def check(self) -> None:
        """Raise Unanswered when the line is broken off."""
        if self._broken:
            raise Unanswered("the waiting is over")

    def break_off(self) -> None:
        """End every wait on the socket at once, and let no other be opened."""
        with self._lock:
            self._broken = True
            if self._held is not None:
                with contextlib.suppress(OSError):
                    self._held.shutdown(socket.SHUT_RDWR)

    def release(self) -> None:
        """The request is over."""
        with self._lock:
            self._close()

    def _close(self) -> None:
        if self._held is not None:
            self._held.close()
            self._held = None


class _Bounded(io.RawIOBase):
    """The bytes of an answer up to RECEIVED_MAX_BYTES: http.client itself reads on while interim answers come."""

    def __init__(self, received: io.RawIOBase) -> None:
        self._received = received
        self._left = RECEIVED_MAX_BYTES

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        count = self._received.readinto(buffer) or 0
        self._left -= count
        if self._left < 0:
            raise Unanswered("the answer is far over the budget")
        return count

    def close(self) -> None:
        self._received.close()
        super().close()


class _Answer(http.client.HTTPResponse):
    def __init__(self, sock: socket.socket, *args: Any, **kwargs: Any) -> None:
        super().__init__(sock, *args, **kwargs)
        self.fp = io.BufferedReader(_Bounded(self.fp.detach()))


class _Connection(http.client.HTTPConnection):
    """A connection over TCP or a Unix socket whose waits end when its line is broken off."""

    response_class = _Answer
    line: _Line
    unix_socket: str | None

    def connect(self) -> None:
        failed = OSError("no address")
        for family, address in self._addresses():
            try:
                self.sock = self._opened(family, address)
            except OSError as failure:
                failed = failure
            else:
                return
        raise failed

    def _opened(self, family: int, address: Any) -> socket.socket:
        opened = socket.socket(family, socket.SOCK_STREAM)
        try:
            self.line.hold(opened)
            opened.settimeout(self.timeout)
            opened.connect(address)
            # Breaking off has no effect on a socket that is not yet connecting.
            self.line.check()
            if self.unix_socket is None:
                opened.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        except BaseException:
            opened.close()
            raise
        return opened

    def _addresses(self) -> list[tuple[int, Any]]:
        if self.unix_socket is not None:
            return [(socket.AF_UNIX, self.unix_socket)]
        found = socket.getaddrinfo(self.host, self.port, type=socket.SOCK_STREAM)
        return [(family, address) for family, _, _, _, address in found]


class _SecureConnection(http.client.HTTPSConnection, _Connection):
    """The same with TLS."""
