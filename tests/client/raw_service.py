"""A peer that answers with any bytes at any pace; no HTTP library would send most of them."""

import contextlib
import socket
import threading
from collections.abc import Callable, Iterator

# What to do once a request has come, given the connection and the request's bytes.
Behaviour = Callable[[socket.socket, bytes], None]

READY = b'{"schema":"powercontext.prepared-context.v1","status":"ready","content":"hello","content_bytes":5}'
RECEIVE_BYTES = 65536


def whole_answer(body: bytes = READY, status: bytes = b"200 OK", headers: bytes = b"") -> bytes:
    """An answer of the contract's kind; `headers` are whole lines with their ends."""
    head = b"HTTP/1.1 %s\r\nContent-Type: application/json\r\n%sContent-Length: %d\r\n\r\n"
    return head % (status, headers, len(body)) + body


@contextlib.contextmanager
def raw_service(behave: Behaviour) -> Iterator[str]:
    """The URL of a peer that does this for each request on each connection; it ends with the test's process."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen(256)
        threading.Thread(target=_accept, args=(listener, behave), daemon=True).start()
        try:
            yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        finally:
            listener.shutdown(socket.SHUT_RDWR)


def _accept(listener: socket.socket, behave: Behaviour) -> None:
    with contextlib.suppress(OSError):  # closed by the test
        while True:
            connection, _ = listener.accept()
            threading.Thread(target=_serve, args=(connection, behave), daemon=True).start()


def _serve(connection: socket.socket, behave: Behaviour) -> None:
    with connection, contextlib.suppress(OSError):  # the client may go at any time
        while request := _request(connection):
            behave(connection, request)


def _request(connection: socket.socket) -> bytes:
    """One whole request, nothing when the client has gone."""
    received = b""
    while b"\r\n\r\n" not in received:
        more = connection.recv(RECEIVE_BYTES)
        if not more:
            return b""
        received += more
    head, _, body = received.partition(b"\r\n\r\n")
    declared = [line.partition(b":")[2] for line in head.split(b"\r\n") if line.lower().startswith(b"content-length:")]
    while declared and len(body) < int(declared[0]):
        body += connection.recv(RECEIVE_BYTES)
    return head + b"\r\n\r\n" + body
