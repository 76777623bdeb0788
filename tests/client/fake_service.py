"""An HTTP server that records what it is sent and answers what it is told, on TCP or on a Unix socket."""

import contextlib
import json
import socketserver
import threading
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any


@dataclass
class Received:
    """One request as it came over the wire; `peer` tells connections apart."""

    method: str
    target: str
    headers: dict[str, str]
    body: bytes
    peer: int

    def json(self) -> Any:
        return json.loads(self.body)


@dataclass
class FakeService:
    """Answers every request alike. `body` may be bytes or JSON data; the answer begins after `delay_s`."""

    url: str = ""
    status: int = 200
    body: Any = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=lambda: {"Content-Type": "application/json"})
    delay_s: float = 0
    trickle_s: float = 0
    received: list[Received] = field(default_factory=list)

    def answer(self, body: Any, status: int = 200, **headers: str) -> None:
        self.body, self.status = body, status
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        self.headers = {"Content-Type": "application/json", **named}

    @property
    def last(self) -> Received:
        return self.received[-1]


def _handler(service: FakeService) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, format: str, *args: Any) -> None:
            pass

        def address_string(self) -> str:
            return "local"

        def handle_one_request(self) -> None:
            with contextlib.suppress(ConnectionError):
                super().handle_one_request()

        def do_GET(self) -> None:
            self._answer()

        def do_POST(self) -> None:
            self._answer()

        def do_PUT(self) -> None:
            self._answer()

        def _answer(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            service.received.append(
                Received(self.command, self.path, dict(self.headers.items()), body, id(self.connection))
            )
            time.sleep(service.delay_s)
            raw = service.body if isinstance(service.body, bytes) else json.dumps(service.body).encode()
            self.send_response(service.status)
            for name, value in service.headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(raw)))
            self.end_headers()
            if not service.trickle_s:
                self.wfile.write(raw)
                return
            for byte in raw:
                self.wfile.write(bytes([byte]))
                time.sleep(service.trickle_s)

    return Handler


class _Tcp(socketserver.ThreadingTCPServer):
    daemon_threads = True
    block_on_close = False


class _Unix(socketserver.ThreadingUnixStreamServer):
    daemon_threads = True
    block_on_close = False


@contextlib.contextmanager
def running(service: FakeService, socket: Path | None = None) -> Iterator[FakeService]:
    """Serve on a free port of 127.0.0.1, or on the socket."""
    handler = _handler(service)
    server = _Tcp(("127.0.0.1", 0), handler) if socket is None else _Unix(str(socket), handler)
    if isinstance(server, _Tcp):
        service.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield service
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
