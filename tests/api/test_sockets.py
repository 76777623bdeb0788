"""The server as a process on a real socket: what only shows below ASGI."""

import contextlib
import json
import re
import signal
import socket
import stat
import subprocess
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from tests.api.application import REQUEST_ID, Program, assert_error, scope_body

PREPARE = {"scope_id": "s", "query": "q"}
HEAD = b"POST /v1/context/prepare HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"


@contextlib.contextmanager
def connected(path: Path) -> Iterator[socket.socket]:
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(20)
        connection.connect(str(path))
        yield connection


def read_until_closed(connection: socket.socket) -> bytes:
    """Everything until the server closes."""
    received = b""
    with contextlib.suppress(ConnectionResetError):
        while chunk := connection.recv(65536):
            received += chunk
    return received


def assert_answer(raw: bytes, status: int, code: str) -> None:
    head, _, body = raw.partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 %d " % status), raw
    assert re.search(rb"(?im)^x-powercontext-request-id: [0-9a-f]{16}\r?$", head), head
    error = json.loads(body)["error"]
    assert set(error) == {"code", "message", "details"}
    assert error["code"] == code


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "s"


def test_what_is_not_http_is_400_in_the_common_form(program: Program, path: Path) -> None:
    program()
    for garbage in (
        b"hello\r\n\r\n",
        b"GET / HTTP/9.9\r\n\r\n",
        b"GET /\x00 HTTP/1.1\r\n\r\n",
        b"GET / HTTP/1.1\r\nA\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
    ):
        with connected(path) as connection:
            connection.sendall(garbage)
            assert_answer(read_until_closed(connection), 400, "malformed_request")


@pytest.mark.parametrize("size", [70_000, 1_000_000])
def test_an_over_long_header_is_refused_and_others_are_served(program: Program, path: Path, size: int) -> None:
    program()
    with connected(path) as connection:
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            connection.sendall(b"GET /health/live HTTP/1.1\r\nHost: x\r\nX-Long: " + b"a" * size + b"\r\n\r\n")
        assert_answer(read_until_closed(connection), 400, "malformed_request")
    with connected(path) as connection:
        connection.sendall(
            b"GET /health/live HTTP/1.1\r\nHost: x\r\nConnection: close\r\nX: " + b"a" * 60_000 + b"\r\n\r\n"
        )
        assert read_until_closed(connection).startswith(b"HTTP/1.1 200 ")


def test_slow_heads_and_slow_bodies_are_ended_in_time_while_others_are_served(
    program: Program, path: Path, over_socket: httpx.Client
) -> None:
    program(HTTP_HEADER_TIMEOUT_SECONDS="1", HTTP_BODY_TIMEOUT_SECONDS="1")
    with contextlib.ExitStack() as stack:
        heads = [stack.enter_context(connected(path)) for _ in range(50)]
        bodies = [stack.enter_context(connected(path)) for _ in range(50)]
        started = time.monotonic()
        for connection in heads:
            connection.sendall(b"GET /health/live HT")
        for connection in bodies:
            connection.sendall(HEAD + b"Content-Length: 100\r\n\r\n{")
        assert over_socket.get("/health/live").status_code == 200
        for connection in bodies:
            assert_answer(read_until_closed(connection), 400, "malformed_request")
        for connection in heads:
            assert read_until_closed(connection) == b""
        assert time.monotonic() - started < 10


def test_slow_bodies_hold_no_place_among_the_requests_under_way(
    program: Program, path: Path, over_socket: httpx.Client
) -> None:
    program(HTTP_MAX_CONCURRENT_REQUESTS="2")
    with contextlib.ExitStack() as stack:
        for _ in range(10):
            stack.enter_context(connected(path)).sendall(HEAD + b"Content-Length: 100\r\n\r\n{")
        time.sleep(0.2)
        assert over_socket.get("/v1/scopes").status_code == 200


def test_a_trickled_head_has_one_deadline_not_one_for_each_byte(program: Program, path: Path) -> None:
    program(HTTP_HEADER_TIMEOUT_SECONDS="1")
    with connected(path) as connection:
        started = time.monotonic()
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            for byte in b"GET /health/live HTTP/1.1\r\nX: " + b"a" * 100:
                connection.sendall(bytes([byte]))
                time.sleep(0.1)
        assert time.monotonic() - started < 5


def test_a_large_body_is_413_and_the_client_gets_to_read_it(
    program: Program, path: Path, over_socket: httpx.Client
) -> None:
    program()
    two_mib = b"[" * (2 * 1024 * 1024)
    headers = {"Content-Type": "application/json"}

    def chunked() -> Iterator[bytes]:
        for start in range(0, len(two_mib), 65536):
            yield two_mib[start : start + 65536]

    for _ in range(5):
        assert_error(
            over_socket.post("/v1/context/prepare", content=two_mib, headers=headers), 413, "payload_too_large"
        )
        assert_error(
            over_socket.post("/v1/context/prepare", content=chunked(), headers=headers), 413, "payload_too_large"
        )
    assert over_socket.get("/health/live").status_code == 200


def test_a_content_length_that_is_too_small_ends_the_body_there(program: Program, path: Path) -> None:
    """What follows is another request, and no HTTP."""
    program()
    with connected(path) as connection:
        connection.sendall(HEAD + b"Content-Length: 5\r\n\r\n" + b"[" * 100_000)
        received = read_until_closed(connection)
    statuses = re.findall(rb"HTTP/1\.1 (\d+) ", received)
    assert statuses
    assert set(statuses) == {b"400"}


def test_a_gzip_body_is_415(program: Program, over_socket: httpx.Client) -> None:
    program()
    headers = {"Content-Type": "application/json", "Content-Encoding": "gzip"}
    answer = over_socket.post("/v1/context/prepare", content=b"\x1f\x8b" + b"\0" * 10_000, headers=headers)
    assert_error(answer, 415, "unsupported_media_type")


def test_connections_are_kept_alive_and_ids_are_new_each_time(program: Program, over_socket: httpx.Client) -> None:
    program()
    ids = {over_socket.get("/health/live").headers[REQUEST_ID] for _ in range(50)}
    assert len(ids) == 50


def test_curl_may_wait_for_100_continue_on_an_import(
    program: Program, path: Path, tmp_path: Path, over_socket: httpx.Client
) -> None:
    """Curl sends `Expect: 100-continue` before a body over a megabyte."""
    program()
    assert over_socket.post("/v1/scopes", json=scope_body("s")).status_code == 201
    line = json.dumps({"type": "memory-entry", "kind": "k", "text": "x" * 1000})
    lines = tmp_path / "lines.ndjson"
    lines.write_text("".join(line.replace("xxx", f"{number:03}", 1) + "\n" for number in range(900)) + "\n" * 300_000)
    command = [
        "curl",
        "-sS",
        "--unix-socket",
        str(path),
        "--data-binary",
        f"@{lines}",
        "-H",
        "Expect: 100-continue",
        "-H",
        "Content-Type: application/x-ndjson",
        "http://x/v1/scopes/s/import",
    ]
    answer = subprocess.run(command, capture_output=True, check=True, timeout=60)
    assert answer.stderr == b""
    assert answer.stdout.splitlines()[-1] == b'{"totals":{"stored":900,"skipped":0,"refused":0}}'


def test_an_import_that_nobody_reads_while_sending_does_not_stall(
    program: Program, path: Path, over_socket: httpx.Client
) -> None:
    program()
    assert over_socket.post("/v1/scopes", json=scope_body("s")).status_code == 201
    body = (b"[" + b" " * 200 + b"]\n") * 9_999
    with connected(path) as connection:
        connection.sendall(
            b"POST /v1/scopes/s/import HTTP/1.1\r\nHost: x\r\nConnection: close\r\n"
            b"Content-Type: application/x-ndjson\r\nContent-Length: %d\r\n\r\n" % len(body) + body
        )
        received = read_until_closed(connection)
    assert received.startswith(b"HTTP/1.1 200 ")
    assert b'{"totals":{"stored":0,"skipped":0,"refused":9999}}' in received


def test_an_import_over_the_limit_ends_with_a_refused_line(program: Program, over_socket: httpx.Client) -> None:
    program(HTTP_MAX_IMPORT_BYTES="100000")
    assert over_socket.post("/v1/scopes", json=scope_body("s")).status_code == 201
    headers = {"Content-Type": "application/x-ndjson"}
    line = b'{"type":"memory-entry","kind":"k","text":"%d"}\n'

    def chunked() -> Iterator[bytes]:
        for number in range(10_000):
            yield line % number

    answer = over_socket.post("/v1/scopes/s/import", content=chunked(), headers=headers)
    assert answer.status_code == 200
    *_, refused, totals = [json.loads(line) for line in answer.content.splitlines()]
    assert (refused["status"], refused["error"]["code"]) == ("refused", "payload_too_large")
    assert totals["totals"]["refused"] == 1
    answer = over_socket.post("/v1/scopes/s/import", content=b"x" * 100_001, headers=headers)
    assert_error(answer, 413, "payload_too_large")


def test_sigterm_lets_requests_under_way_finish_and_removes_the_socket(
    program: Program, path: Path, over_socket: httpx.Client
) -> None:
    process = program(HTTP_SHUTDOWN_TIMEOUT_SECONDS="10")
    assert over_socket.post("/v1/scopes", json=scope_body("s")).status_code == 201
    assert stat.S_IMODE(path.stat().st_mode) & 0o007 == 0
    received: list[bytes] = []
    with connected(path) as connection:
        body = json.dumps(PREPARE).encode()
        connection.sendall(HEAD + b"Content-Length: %d\r\n\r\n" % len(body) + body[:5])
        reader = threading.Thread(target=lambda: received.append(read_until_closed(connection)))
        reader.start()
        time.sleep(0.3)
        process.send_signal(signal.SIGTERM)
        time.sleep(0.5)
        assert process.poll() is None
        connection.sendall(body[5:])
        reader.join(10)
    assert process.wait(10) in (0, -signal.SIGTERM)
    assert received[0].startswith(b"HTTP/1.1 200 ")
    assert not path.exists()


def test_sigterm_does_not_wait_longer_than_the_shutdown_timeout(program: Program, path: Path) -> None:
    process = program(HTTP_SHUTDOWN_TIMEOUT_SECONDS="1")
    with connected(path) as connection:
        connection.sendall(HEAD + b"Content-Length: 100\r\n\r\n{")
        time.sleep(0.3)
        process.send_signal(signal.SIGTERM)
        process.wait(6)
    assert not path.exists()


def test_a_second_server_on_the_same_socket_is_refused_and_a_left_over_socket_is_replaced(
    program: Program, path: Path, over_socket: httpx.Client
) -> None:
    first = program()
    second = program()
    assert second.wait(20) == 1
    assert second.stderr is not None
    assert "another process serves it" in second.stderr.read().decode()
    assert over_socket.get("/health/live").status_code == 200
    first.kill()
    first.wait(10)
    assert path.exists()
    program()
    assert over_socket.get("/health/live").status_code == 200


def test_several_workers_serve_one_socket_and_end_together(
    program: Program, path: Path, over_socket: httpx.Client
) -> None:
    process = program(workers=2)
    assert over_socket.post("/v1/scopes", json=scope_body("s")).status_code == 201
    for _ in range(20):
        with connected(path) as connection:
            connection.sendall(b"GET /v1/scopes/s HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
            assert read_until_closed(connection).startswith(b"HTTP/1.1 200 ")
    process.send_signal(signal.SIGTERM)
    process.wait(15)
    assert not path.exists()


def test_the_log_is_json_lines_without_secrets(program: Program, over_socket: httpx.Client) -> None:
    process = program(AUTH_TOKEN="t0ken-secret")
    assert_error(over_socket.get("/v1/scopes/id-secret"), 401, "unauthorized")
    over_socket.get("/v1/scopes/id-secret", headers={"Authorization": "Bearer t0ken-secret"})
    process.send_signal(signal.SIGTERM)
    process.wait(10)
    assert process.stderr is not None
    lines = process.stderr.read().decode().splitlines()
    events = [json.loads(line) for line in lines]
    assert [event["status"] for event in events if event.get("operation") == "get_scope"] == [401, 404]
    assert "secret" not in "".join(lines)


def test_what_uvicorn_warns_of_is_a_json_line_too(program: Program, path: Path) -> None:
    process = program()
    with connected(path) as connection:
        connection.sendall(b"no http\r\n\r\n")
        read_until_closed(connection)
    process.send_signal(signal.SIGTERM)
    process.wait(10)
    assert process.stderr is not None
    events = [json.loads(line) for line in process.stderr.read().decode().splitlines()]
    assert [event["level"] for event in events if event["event"] == "Invalid HTTP request received."] == ["warning"]
