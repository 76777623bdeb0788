"""Stands between a host and the sidecar: records each prepare and its answer, or answers faultily in its place."""

import contextlib
import http.client
import json
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from io import BufferedIOBase
from typing import Any
from urllib.parse import urlsplit

SCHEMA = "powercontext.prepared-context.v1"
FAULTY_TEXT = "FAULTY-TEXT-NEVER-INJECT 验"
# Answers that do not end, of a server that keeps the connection open.
# Each is what comes at once, and what comes again and again after it.
_HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
HANGS: dict[str, tuple[bytes, bytes]] = {
    "no answer": (b"", b""),
    "a head that drips": (_HEAD + b"X-Drip: ", b"x"),
    "a head, then silence": (_HEAD + b"Content-Length: 40000\r\n\r\n", b""),
    "a body that drips": (_HEAD + b"Content-Length: 40000\r\n\r\n", b" "),
}
_DRIP_S = 0.1
_HANG_S = 120


def _four(**change: Any) -> bytes:
    true = {"schema": SCHEMA, "status": "ready", "content": FAULTY_TEXT, "content_bytes": len(FAULTY_TEXT.encode())}
    return json.dumps({**true, **change}).encode()


def _error(code: str) -> bytes:
    return json.dumps({"error": {"code": code, "message": "m", "details": None}}).encode()


_LARGE = FAULTY_TEXT + "x" * 40_000
_JSON = "application/json"
FAULTS: dict[str, tuple[int, str, bytes]] = {
    "500": (500, _JSON, _error("internal_error")),
    "503": (503, _JSON, _error("runtime_not_ready")),
    "403": (403, _JSON, _error("forbidden")),
    "422": (422, _JSON, _error("invalid_request")),
    "redirect": (307, _JSON, _four()),
    "wrong content type": (200, "text/html", _four()),
    "not JSON": (200, _JSON, FAULTY_TEXT.encode()),
    "over the budget": (200, _JSON, _four(content=_LARGE, content_bytes=len(_LARGE.encode()))),
    "one byte too few": (200, _JSON, _four(content_bytes=len(FAULTY_TEXT.encode()) - 1)),
    "one byte too many": (200, _JSON, _four(content_bytes=len(FAULTY_TEXT.encode()) + 1)),
    "ready without content": (200, _JSON, _four(content=None)),
    "empty with content": (200, _JSON, _four(status="empty")),
    "unknown schema": (200, _JSON, _four(schema="powercontext.prepared-context.v2")),
    "fifth field": (200, _JSON, _four(items=[])),
    "a field twice": (200, _JSON, b'{"content": null, ' + _four().removeprefix(b"{")),
}


@dataclass
class Prepare:
    """One prepare: the request's raw body and headers, and the content that was answered, None when none was."""

    body: bytes
    headers: dict[str, str]
    content: str | None = None

    @property
    def request(self) -> Any:
        return json.loads(self.body)


@dataclass
class RecordingProxy:
    """`fault` is a key of FAULTS or of HANGS, or None to ask the sidecar.

    content: answered correctly in the sidecar's place when it is not None.
    """

    sidecar_url: str
    url: str = ""
    fault: str | None = None
    content: str | None = None
    prepares: list[Prepare] = field(default_factory=list)
    others: list[str] = field(default_factory=list)
    closing: threading.Event = field(default_factory=threading.Event)


@contextlib.contextmanager
def recording_proxy(sidecar_url: str) -> Iterator[RecordingProxy]:
    """Serve on a free port of 127.0.0.1."""
    proxy = RecordingProxy(sidecar_url)
    server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(proxy))
    server.daemon_threads = True
    proxy.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    try:
        yield proxy
    finally:
        proxy.closing.set()
        server.shutdown()
        server.server_close()


def _hang(proxy: RecordingProxy, output: BufferedIOBase) -> None:
    begun, drip = HANGS[proxy.fault or ""]
    ends = time.monotonic() + _HANG_S
    with contextlib.suppress(ConnectionError):
        output.write(begun)
        while not proxy.closing.wait(_DRIP_S) and time.monotonic() < ends:
            output.write(drip)


def _handler(proxy: RecordingProxy) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, format: str, *args: Any) -> None:
            pass

        def do_GET(self) -> None:
            proxy.others.append(f"GET {self.path}")
            self._send(404, _JSON, _error("not_found"))

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            if self.path != "/v1/context/prepare":
                proxy.others.append(f"POST {self.path}")
                self._send(404, _JSON, _error("not_found"))
                return
            prepare = Prepare(body, dict(self.headers.items()))
            proxy.prepares.append(prepare)
            if proxy.fault in HANGS:
                self.close_connection = True
                _hang(proxy, self.wfile)
            elif proxy.fault is not None:
                self._send(*FAULTS[proxy.fault])
            elif proxy.content is not None:
                prepare.content = proxy.content
                self._send(200, _JSON, _four(content=proxy.content, content_bytes=len(proxy.content.encode())))
            else:
                self._forward(prepare)

        def _forward(self, prepare: Prepare) -> None:
            sidecar = http.client.HTTPConnection(urlsplit(proxy.sidecar_url).netloc, timeout=30)
            try:
                sidecar.request("POST", "/v1/context/prepare", prepare.body, {"Content-Type": _JSON})
                answer = sidecar.getresponse()
                body = answer.read()
            finally:
                sidecar.close()
            if answer.status == 200:
                prepare.content = json.loads(body)["content"]
            self._send(answer.status, answer.headers["Content-Type"], body)

        def _send(self, status: int, content_type: str, body: bytes) -> None:
            self.send_response(status)
            self.send_header("Content-Type", content_type)
            self.send_header("Content-Length", str(len(body)))
            if status == 307:
                self.send_header("Location", "/v1/context/prepare?again")
            self.end_headers()
            with contextlib.suppress(ConnectionError):
                self.wfile.write(body)

    return Handler
