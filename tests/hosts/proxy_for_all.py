"""A proxy as HTTP_PROXY names one: passes on what is meant for this machine and records every request that comes."""

import contextlib
import http.client
import socket
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import urlsplit

NAMES = ("HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy")


@dataclass
class ProxyForAll:
    """`passed` are the requests as text: line, headers and body."""

    url: str = ""
    passed: list[str] = field(default_factory=list)

    @property
    def variables(self) -> dict[str, str]:
        """The environment that sends everything here, also what goes to this machine."""
        return {**dict.fromkeys(NAMES, self.url), "NO_PROXY": "", "no_proxy": "", "NODE_USE_ENV_PROXY": "1"}


@contextlib.contextmanager
def proxy_for_all() -> Iterator[ProxyForAll]:
    """Serve on a free port of 127.0.0.1."""
    proxy = ProxyForAll()
    server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(proxy))
    server.daemon_threads = False  # so that closing waits for what is still being recorded
    proxy.url = f"http://127.0.0.1:{server.server_address[1]}"
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
    try:
        yield proxy
    finally:
        server.shutdown()
        server.server_close()


def _relay(source: socket.socket, target: socket.socket) -> bytes:
    """Carry over what comes until the source ends, and return it."""
    carried = b""
    with contextlib.suppress(OSError):
        while piece := source.recv(65_536):
            carried += piece
            target.sendall(piece)
        target.shutdown(socket.SHUT_WR)
    return carried


def _handler(proxy: ProxyForAll) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def log_message(self, format: str, *args: Any) -> None:
            pass

        def do_CONNECT(self) -> None:
            proxy.passed.append(self.requestline)
            target = urlsplit(f"//{self.path}")
            if target.hostname != "127.0.0.1":
                self.send_error(502)
                return
            with socket.create_connection((target.hostname, target.port or 80)) as far:
                self.send_response(200)
                self.end_headers()
                answering = threading.Thread(target=_relay, args=(far, self.connection), daemon=True)
                answering.start()
                proxy.passed.append(_relay(self.connection, far).decode(errors="replace"))
                answering.join()
            self.close_connection = True

        def do_GET(self) -> None:
            self._pass()

        def do_POST(self) -> None:
            self._pass()

        def _pass(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            proxy.passed.append(f"{self.requestline}\n{self.headers}{body.decode(errors='replace')}")
            target = urlsplit(self.path)
            if target.hostname != "127.0.0.1":
                self.send_error(502)
                return
            passed_on = http.client.HTTPConnection(target.netloc, timeout=30)
            try:
                passed_on.request(self.command, target.path, body, {"Content-Type": "application/json"})
                answer = passed_on.getresponse()
                answered = answer.read()
            finally:
                passed_on.close()
            self.send_response(answer.status)
            self.send_header("Content-Type", answer.headers["Content-Type"])
            self.send_header("Content-Length", str(len(answered)))
            self.end_headers()
            with contextlib.suppress(ConnectionError):
                self.wfile.write(answered)

    return Handler
