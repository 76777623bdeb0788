"""The network of the blocking client: all that a call waits for shares one deadline.

httpx and httpcore bound each wait by itself, so that a service that sends a byte now and then would hold its caller for
ever. Here every connect, handshake, read and write gets only what is left of the call. Resolving a host name is
outside: the system's resolver takes no limit.
"""

import contextlib
import socket
import ssl
import time
from collections.abc import Iterable, Iterator
from contextvars import ContextVar

import httpcore
import httpx

KEPT_CONNECTIONS = 20
KEPT_FOR_S = 5.0

_deadline: ContextVar[float] = ContextVar("deadline")


@contextlib.contextmanager
def within(timeout_s: float) -> Iterator[None]:
    """Give what happens inside so many seconds.

    Raises httpcore.TimeoutException when they are over, at the latest at the end.
    """
    earlier = _deadline.set(time.monotonic() + timeout_s)
    try:
        yield
        seconds_left()
    finally:
        _deadline.reset(earlier)


def seconds_left() -> float:
    """What is left, above 0, inside `within`; raises httpcore.TimeoutException when nothing is."""
    left = _deadline.get() - time.monotonic()
    if left <= 0:
        raise httpcore.TimeoutException
    return left


class DeadlineTransport(httpx.BaseTransport):
    """Connections to the network or to a Unix socket, reused. Requests must be sent inside `within`.

    There is no upper limit of connections: each blocked thread has one, and none waits for another's.
    """

    def __init__(self, unix_socket: str | None) -> None:
        self._pool = httpcore.ConnectionPool(
            ssl_context=httpx.create_ssl_context(),
            max_connections=None,
            max_keepalive_connections=KEPT_CONNECTIONS,
            keepalive_expiry=KEPT_FOR_S,
            uds=unix_socket,
            network_backend=_Network(),
        )

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        url = httpcore.URL(
            scheme=request.url.raw_scheme,
            host=request.url.raw_host,
            port=request.url.port,
            target=request.url.raw_path,
        )
        sent = httpcore.Request(request.method, url, headers=request.headers.raw, content=request.read())
        answer = self._pool.handle_request(sent)
        return httpx.Response(answer.status, headers=answer.headers, stream=_Body(answer))

    def close(self) -> None:
        self._pool.close()


class _Body(httpx.SyncByteStream):
    def __init__(self, answer: httpcore.Response) -> None:
        self._answer = answer

    def __iter__(self) -> Iterator[bytes]:
        return self._answer.iter_stream()

    def close(self) -> None:
        self._answer.close()


class _Network(httpcore.NetworkBackend):
    """Opens connections. The `timeout` of every method here is httpcore's, per wait, and makes no difference."""

    def __init__(self) -> None:
        self._sockets = httpcore.SyncBackend()

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[httpcore.SOCKET_OPTION] | None = None,
    ) -> httpcore.NetworkStream:
        addresses = _addresses(host, port)
        for tried, address in enumerate(addresses):
            others_left = len(addresses) - tried - 1
            # An address that swallows packets must leave time for the next one.
            share_s = seconds_left() / (others_left + 1)
            try:
                return _Stream(self._sockets.connect_tcp(address, port, share_s, local_address, socket_options))
            except (httpcore.ConnectError, httpcore.ConnectTimeout):
                if not others_left:
                    raise
        raise httpcore.ConnectError("the host has no address")

    def connect_unix_socket(
        self, path: str, timeout: float | None = None, socket_options: Iterable[httpcore.SOCKET_OPTION] | None = None
    ) -> httpcore.NetworkStream:
        return _Stream(self._sockets.connect_unix_socket(path, seconds_left(), socket_options))


class _Stream(httpcore.NetworkStream):
    def __init__(self, stream: httpcore.NetworkStream) -> None:
        self._stream = stream

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        return self._stream.read(max_bytes, seconds_left())

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        # Not through the stream below, which gives each piece of a large body the whole timeout.
        sock: socket.socket = self._stream.get_extra_info("socket")
        unsent = memoryview(buffer)
        try:
            while unsent:
                sock.settimeout(seconds_left())
                unsent = unsent[sock.send(unsent) :]
        except TimeoutError as late:
            raise httpcore.WriteTimeout from late
        except OSError as broken:
            raise httpcore.WriteError from broken

    def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore.NetworkStream:
        return _Stream(self._stream.start_tls(ssl_context, server_hostname, seconds_left()))

    def close(self) -> None:
        self._stream.close()

    def get_extra_info(self, info: str) -> object:
        return self._stream.get_extra_info(info)


def _addresses(host: str, port: int) -> list[str]:
    """The numeric addresses of a host, in the order of the system's preference."""
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except OSError as unknown:
        raise httpcore.ConnectError("the host is unknown") from unknown
    # getnameinfo keeps the zone of a link-local address.
    return [socket.getnameinfo(place, socket.NI_NUMERICHOST | socket.NI_NUMERICSERV)[0] for *_, place in found]
