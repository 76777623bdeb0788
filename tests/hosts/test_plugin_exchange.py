"""HTTP as the plugins in JavaScript speak it, in each interpreter: what goes out, and every form of answer."""

import contextlib
import os
import socketserver
import ssl
import subprocess
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tests.client.fake_service import FakeService, running
from tests.hosts.plugin_params import JAVASCRIPT_PROGRAMS
from tests.hosts.plugin_programs import PluginProgram
from tests.hosts.programs import PLUGINS

pytestmark = pytest.mark.parametrize("program", JAVASCRIPT_PROGRAMS)

BODY = b'{"schema":"powercontext.prepared-context.v1","status":"ready","content":"hello","content_bytes":5}'
OK = b"HTTP/1.1 200 OK\r\n"
JSON = b"Content-Type: application/json\r\n"
LENGTH = b"Content-Length: %d\r\n" % len(BODY)
CHUNKS = b"5;x=y\r\n" + BODY[:5] + b"\r\n%X\r\n" % len(BODY[5:]) + BODY[5:] + b"\r\n0\r\n\r\n"
# Each as it comes over the wire; then the connection is closed.
ANSWERS = {
    "length": OK + JSON + LENGTH + b"\r\n" + BODY,
    "chunks": OK + JSON + b"Transfer-Encoding: chunked\r\n\r\n" + CHUNKS,
    "up to the end": OK + JSON + b"\r\n" + BODY,
    "HTTP/1.0": b"HTTP/1.0 200\r\n" + JSON + b"\r\n" + BODY,
    "names and values in any form": OK + b"content-TYPE:Application/JSON; charset=utf-8 \r\n" + LENGTH + b"\r\n" + BODY,
    "after an interim answer": b"HTTP/1.1 103 Early Hints\r\nX: y\r\n\r\n" + OK + JSON + LENGTH + b"\r\n" + BODY,
}
NO_ANSWERS = {
    "nothing": b"",
    "not HTTP": b"hello\r\n\r\n" + BODY,
    "a line without a name": OK + JSON + b"no name\r\n\r\n" + BODY,
    "a head without an end": OK + JSON + b"X: " + b"x" * 100_000,
    "shorter than its length": OK + JSON + b"Content-Length: 1000\r\n\r\n" + BODY,
    "a length below nought": OK + JSON + b"Content-Length: -1\r\n\r\n" + BODY,
    "two lengths": OK + JSON + LENGTH + b"Content-Length: 5\r\n\r\n" + BODY,
    "longer than any answer": OK + JSON + b"Content-Length: 60000\r\n\r\n" + b" " * 60_000,
    "longer than any answer, up to the end": OK + JSON + b"\r\n" + b" " * 60_000 + BODY,
    "longer than any answer, in chunks": OK
    + JSON
    + b"Transfer-Encoding: chunked\r\n\r\n"
    + b"1\r\n \r\n" * 60_000
    + CHUNKS,
    "chunks that break off": OK + JSON + b"Transfer-Encoding: chunked\r\n\r\n" + CHUNKS[:-7],
    "a chunk of no size": OK + JSON + b"Transfer-Encoding: chunked\r\n\r\nx" + CHUNKS,
    "packed": OK + JSON + b"Transfer-Encoding: gzip, chunked\r\n\r\n" + CHUNKS,
    "no content type": OK + LENGTH + b"\r\n" + BODY,
    "no content": b"HTTP/1.1 204 No Content\r\n" + JSON + b"\r\n",
}


@dataclass
class Wire:
    """Answers every connection by these bytes; `heard` is what came."""

    answer: bytes
    url: str = ""
    heard: list[bytes] = field(default_factory=list)


@contextlib.contextmanager
def wire(answer: bytes, certificate: ssl.SSLContext | None = None) -> Iterator[Wire]:
    """Serve on a free port of 127.0.0.1."""
    service = Wire(answer)

    class Handler(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            with contextlib.suppress(OSError):
                line = certificate.wrap_socket(self.request, server_side=True) if certificate else self.request
                with line:
                    service.heard.append(line.recv(65_536))
                    line.sendall(service.answer)

    class Server(socketserver.ThreadingTCPServer):
        daemon_threads = True
        block_on_close = False

    with Server(("127.0.0.1", 0), Handler) as server:
        service.url = f"{'https' if certificate else 'http'}://localhost:{server.server_address[1]}"
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
        yield service
        server.shutdown()


def test_the_request_is_one_post_with_what_the_contract_asks_for(program: PluginProgram) -> None:
    with wire(ANSWERS["length"]) as service:
        program.ask("验", {"SCOPE_ID": "s", "BASE_URL": f"{service.url}/at/ä/", "TOKEN": "t-1"})
        (request,) = service.heard
    head, _, body = request.partition(b"\r\n\r\n")
    line, *headers = head.decode("ascii").split("\r\n")
    assert line == "POST /at/%C3%A4/v1/context/prepare HTTP/1.1"
    assert body.decode() == '{"scope_id":"s","query":"验","max_bytes":8000}'
    assert sorted(headers) == [
        "Accept: application/json",
        "Authorization: Bearer t-1",
        "Connection: close",
        f"Content-Length: {len(body)}",
        "Content-Type: application/json",
        f"Host: {service.url.removeprefix('http://')}",
    ]


# Far above what a host can show; as an array of characters it has gigabytes, and most interpreters refuse to make one.
LONG = """
const { prepare } = await import(process.argv[1]);
const settings = { scopeId: "s", token: null, assembly: null, baseUrl: process.argv[2], unixSocket: null,
                   maxBytes: 8000, requestTimeoutS: 20, totalTimeoutS: 20 };
process.stdout.write(await prepare(settings, "𠮷".repeat(100) + "x".repeat(2 ** 28)));
"""


def test_a_prompt_of_a_quarter_of_a_gigabyte_is_asked_by_its_beginning(program: PluginProgram) -> None:
    interpreter, *_ = program.command
    flags = ["--input-type=module"] if "--input-type=module" in program.command else []
    with running(FakeService(body=BODY)) as service:
        module = (PLUGINS / "pi" / "prepare.mjs").as_uri()
        done = subprocess.run(
            [interpreter, *flags, "-e", LONG, module, service.url],
            env={"PATH": os.environ["PATH"], **dict(program.variables)},
            capture_output=True,
            check=False,
            timeout=60,
        )
        assert (done.returncode, done.stdout) == (0, b"hello"), done.stderr.decode()
        assert service.last.json()["query"] == "𠮷" * 100 + "x" * 8092


def test_every_form_of_a_true_answer_is_taken(program: PluginProgram) -> None:
    for form, answer in ANSWERS.items():
        with wire(answer) as service:
            outcome = program.ask("q", {"SCOPE_ID": "s", "BASE_URL": service.url})
        assert outcome.content == "hello", (form, outcome)


def test_every_other_answer_is_refused_in_one_line(program: PluginProgram) -> None:
    for form, answer in NO_ANSWERS.items():
        with wire(answer) as service:
            outcome = program.ask("q", {"SCOPE_ID": "s", "BASE_URL": service.url})
        assert outcome.content is None, form
        assert outcome.said != "", form
        assert "hello" not in outcome.said
        assert "\n" not in outcome.said
        assert len(service.heard) == 1


def test_a_unix_socket_takes_the_place_of_the_network(program: PluginProgram, tmp_path: Path) -> None:
    fields = {"schema": "powercontext.prepared-context.v1", "status": "ready", "content": "hello", "content_bytes": 5}
    with running(FakeService(body=fields), tmp_path / "s") as service:
        settings = {"SCOPE_ID": "s", "UNIX_SOCKET": str(tmp_path / "s"), "BASE_URL": "https://elsewhere.invalid/at"}
        assert program.ask("q", settings).content == "hello"
        assert service.last.target == "/at/v1/context/prepare"


def test_a_secure_address_is_asked_when_its_certificate_is_trusted_and_told_nothing_otherwise(
    program: PluginProgram, certificate: Path
) -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    asked: list[Any] = []
    with wire(ANSWERS["length"], context) as service:
        settings = {"SCOPE_ID": "s", "TOKEN": "t-1"}
        trusted = {"NODE_EXTRA_CA_CERTS": str(certificate)}
        assert program.ask("q", {**settings, "BASE_URL": service.url}, trusted).content == "hello"
        asked += service.heard
        service.heard.clear()
        assert program.ask("q", {**settings, "BASE_URL": service.url}).content is None
        of_another = service.url.replace("localhost", "127.0.0.1")
        assert program.ask("q", {**settings, "BASE_URL": of_another}, trusted).content is None
        assert b"".join(service.heard) == b""
    assert [request.startswith(b"POST /v1/context/prepare ") for request in asked] == [True]
