"""The asking of the plugins in Python inside a host that goes on: after the total timeout nothing of it is left."""

import contextlib
import json
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.client.fake_service import FakeService, running
from tests.hosts.python_plugins import prepare_module
from tests.hosts.recording_proxy import HANGS, recording_proxy

plugin = prepare_module()

CONTENT = "验 content"
READY = {
    "schema": "powercontext.prepared-context.v1",
    "status": "ready",
    "content": CONTENT,
    "content_bytes": len(CONTENT.encode()),
}
TOTAL_S = 0.4
SLACK_S = 0.4
"""For a thread to notice that its socket is gone, on a busy machine."""
FLOOD = b"HTTP/1.1 100 Continue\r\n\r\n" * 400


def settings(base_url: str, **change: Any) -> Any:
    return plugin.Settings(**{"scope_id": "s", "base_url": base_url, "total_timeout_s": TOTAL_S, **change})


def assert_nothing_is_left(asked: Any, said: str = f"within {TOTAL_S} seconds") -> None:
    """The asking fails in time, for the reason that is expected, and its thread ends at once."""
    begun = time.monotonic()
    with pytest.raises(plugin.NothingToInject, match=said):
        plugin.prepare(asked, "q")
    assert time.monotonic() - begun < TOTAL_S + SLACK_S
    ends = time.monotonic() + SLACK_S
    while asking() and time.monotonic() < ends:
        time.sleep(0.01)
    assert asking() == []


def asking() -> list[str]:
    return [thread.name for thread in threading.enumerate() if thread.name.startswith("powercontext")]


@contextlib.contextmanager
def listening(answer: Callable[[socket.socket], None] | None = None, backlog: int = 8) -> Iterator[str]:
    """A server's address; `answer` has each connection to itself, without it nobody takes any."""
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen(backlog)

        def serve(line: socket.socket) -> None:
            assert answer is not None
            with line, contextlib.suppress(OSError):
                answer(line)

        def accept() -> None:
            with contextlib.suppress(OSError):
                while True:
                    threading.Thread(target=serve, args=(server.accept()[0],), daemon=True).start()

        if answer is not None:
            threading.Thread(target=accept, daemon=True).start()
        yield f"127.0.0.1:{server.getsockname()[1]}"
        with contextlib.suppress(OSError):
            server.shutdown(socket.SHUT_RDWR)  # wakes the accepting thread


@pytest.mark.parametrize("hang", HANGS)
def test_an_answer_that_does_not_end_leaves_no_thread(hang: str) -> None:
    with recording_proxy("") as proxy:
        proxy.fault = hang
        assert_nothing_is_left(settings(proxy.url))
        assert len(proxy.prepares) == 1


@pytest.mark.parametrize("pause_s", [0, 0.001], ids=["at full speed", "with pauses"])
def test_interim_answers_without_end_cost_neither_a_thread_nor_the_processor(pause_s: float) -> None:
    def flood(line: socket.socket) -> None:
        line.recv(65_536)
        while True:
            line.sendall(FLOOD)
            time.sleep(pause_s)

    with listening(flood) as address:
        assert_nothing_is_left(settings(f"http://{address}"), f"far over the budget|within {TOTAL_S} seconds")


def test_a_connection_that_is_never_taken_leaves_no_thread() -> None:
    with listening(backlog=0) as address, contextlib.ExitStack() as waiting:
        host, port = address.split(":")
        for _ in range(3):  # until the queue is full
            line = waiting.enter_context(socket.socket())
            line.setblocking(False)
            line.connect_ex((host, int(port)))
        assert_nothing_is_left(settings(f"http://{address}"))


def test_a_secure_connection_that_is_never_agreed_upon_leaves_no_thread() -> None:
    with listening(lambda line: time.sleep(2)) as address:
        assert_nothing_is_left(settings(f"https://{address}"))


def test_a_request_that_is_never_read_leaves_no_thread() -> None:
    assembly = f'"{"x" * 30_000_000}"'
    with listening(lambda line: time.sleep(2)) as address:
        assert_nothing_is_left(settings(f"http://{address}", assembly=assembly))


def test_a_name_that_is_resolved_too_late_is_not_connected_to(monkeypatch: pytest.MonkeyPatch) -> None:
    resolve, resolving = socket.getaddrinfo, threading.Event()

    def late(*args: Any, **kwargs: Any) -> Any:
        assert resolving.wait(10)
        return resolve(*args, **kwargs)

    with running(FakeService(body=READY)) as service:
        monkeypatch.setattr(socket, "getaddrinfo", late)
        with pytest.raises(plugin.NothingToInject, match="within"):
            plugin.prepare(settings(service.url), "q")
        (thread,) = [thread for thread in threading.enumerate() if thread.name.startswith("powercontext")]
        resolving.set()
        thread.join(SLACK_S)
        assert not thread.is_alive()
        assert service.received == []


def test_the_next_address_of_a_name_is_asked_when_the_first_refuses(
    monkeypatch: pytest.MonkeyPatch, closed_port: str
) -> None:
    with running(FakeService(body=READY)) as service:
        ports = [int(url.rpartition(":")[2]) for url in (closed_port, service.url)]
        found = [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("127.0.0.1", port)) for port in ports]
        monkeypatch.setattr(socket, "getaddrinfo", lambda *args, **kwargs: found)
        assert plugin.prepare(settings("http://sidecar.invalid"), "q") == CONTENT
        assert len(service.received) == 1


def test_what_nobody_expected_is_told_as_one_reason_and_prints_nothing(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    def fail(*args: Any, **kwargs: Any) -> Any:
        raise ZeroDivisionError

    monkeypatch.setattr(socket, "getaddrinfo", fail)
    with pytest.raises(plugin.NothingToInject, match="did not answer: ZeroDivisionError"):
        plugin.prepare(settings("http://127.0.0.1:1"), "q")
    assert capfd.readouterr() == ("", "")


def test_the_path_of_the_address_comes_before_the_service_s_own() -> None:
    with running(FakeService(body=READY)) as service:
        assert plugin.prepare(settings(f"{service.url}/at/ä%20b//"), "q") == CONTENT
        assert service.last.target == "/at/%C3%A4%20b/v1/context/prepare"


def test_a_secure_address_is_asked_when_its_certificate_is_trusted_and_told_nothing_otherwise(
    certificate: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    heard: list[bytes] = []

    def answer(line: socket.socket) -> None:
        with context.wrap_socket(line, server_side=True) as secure:
            request = b""
            while not request.endswith(b"}"):
                request += secure.recv(65_536)
            heard.append(request)
            secure.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n" + json.dumps(READY).encode())

    with listening(answer) as address:
        of_its_name = settings(f"https://localhost:{address.rpartition(':')[2]}", total_timeout_s=5)
        with pytest.raises(plugin.NothingToInject, match="SSLCertVerificationError"):
            plugin.prepare(of_its_name, "q")
        monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
        with pytest.raises(plugin.NothingToInject, match="SSLCertVerificationError"):
            plugin.prepare(settings(f"https://{address}", total_timeout_s=5), "q")
        assert heard == []
        assert plugin.prepare(of_its_name, "q") == CONTENT
    assert [request.startswith(b"POST /v1/context/prepare ") for request in heard] == [True]
