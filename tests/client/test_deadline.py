"""`timeout_s` is for the whole call, whatever the peer does with it."""

import asyncio
import contextlib
import gc
import socket
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from powercontext_client import AsyncContextClient, ContextClient, RequestTimeout

from tests.client.raw_service import Behaviour, raw_service, whole_answer

TIMEOUT_S = 0.3
# Every peer here goes on for three seconds at least; a wait that begins anew with each byte would last as long.
ENOUGH_S = 1.5
CHUNKED = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"


def dripping(before: bytes, drop: bytes, after: bytes = b"") -> Behaviour:
    """Send one thing at once, another one now and then for three seconds, and the rest."""

    def behave(connection: socket.socket, request: bytes) -> None:
        connection.sendall(before)
        for _ in range(60):
            connection.sendall(drop)
            time.sleep(0.05)
        connection.sendall(after)

    return behave


DRIPS = {
    "status line": dripping(b"HTTP/1.1 200 ", b"O"),
    "header": dripping(b"HTTP/1.1 200 OK\r\nX-A: ", b"a"),
    "interim answers": dripping(b"", b"HTTP/1.1 103 Early Hints\r\n\r\n", whole_answer()),
    "chunk extension": dripping(CHUNKED + b"5;", b"a"),
    "chunks": dripping(CHUNKED, b"1\r\n \r\n"),
    "trailer": dripping(CHUNKED + b"0\r\nX-A: ", b"a"),
}


def remember(client_type: type[Any], url: str, text: str = "t") -> None:
    """One call with a body and with the timeout of these tests."""
    if client_type is ContextClient:
        with ContextClient(url, timeout_s=TIMEOUT_S) as client:
            client.remember("s", kind="note", text=text)
        return

    async def awaited() -> None:
        async with AsyncContextClient(url, timeout_s=TIMEOUT_S) as client:
            await client.remember("s", kind="note", text=text)

    asyncio.run(awaited())


def assert_it_times_out(call: Callable[[], Any]) -> None:
    begun = time.monotonic()
    with pytest.raises(RequestTimeout):
        call()
    assert time.monotonic() - begun < ENOUGH_S


@pytest.fixture(params=[ContextClient, AsyncContextClient], ids=lambda client: str(client.__name__))
def client_type(request: pytest.FixtureRequest) -> Any:
    return request.param


@contextlib.contextmanager
def listening() -> Iterator[socket.socket]:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        yield listener


def port_of(listener: socket.socket) -> int:
    port: int = listener.getsockname()[1]
    return port


@pytest.mark.parametrize("drip", DRIPS.values(), ids=list(DRIPS))
def test_an_answer_that_drips_is_not_waited_for_longer(client_type: type[Any], drip: Behaviour) -> None:
    with raw_service(drip) as url:
        assert_it_times_out(lambda: remember(client_type, url))


def test_stages_share_the_timeout(client_type: type[Any]) -> None:
    def behave(connection: socket.socket, request: bytes) -> None:
        answer = whole_answer(headers=b"X-A: " + b"a" * 400 + b"\r\n")
        for start in range(0, len(answer), 20):
            time.sleep(0.2)
            connection.sendall(answer[start : start + 20])

    with raw_service(behave) as url:
        assert_it_times_out(lambda: remember(client_type, url))


def test_a_peer_that_never_reads_a_large_request(client_type: type[Any]) -> None:
    with listening() as listener:
        assert_it_times_out(lambda: remember(client_type, f"http://127.0.0.1:{port_of(listener)}", "x" * 20_000_000))


def test_a_peer_that_reads_a_large_request_slowly(client_type: type[Any]) -> None:
    with listening() as listener:

        def read_slowly() -> None:
            connection, _ = listener.accept()
            with connection, contextlib.suppress(OSError):
                while connection.recv(128 * 1024):
                    time.sleep(0.016)

        threading.Thread(target=read_slowly, daemon=True).start()
        assert_it_times_out(lambda: remember(client_type, f"http://127.0.0.1:{port_of(listener)}", "x" * 40_000_000))


# httpcore leaves the socket of a handshake that asyncio cancels to the garbage collector.
@pytest.mark.filterwarnings("ignore::ResourceWarning")
def test_a_tls_handshake_that_drips(client_type: type[Any]) -> None:
    with listening() as listener:

        def hand_shake_slowly() -> None:
            connection, _ = listener.accept()
            with connection, contextlib.suppress(OSError):
                connection.sendall(b"\x16\x03\x03\x40\x00")  # a handshake record of 16 KiB follows
                for _ in range(60):
                    connection.sendall(b"\x02")
                    time.sleep(0.05)

        threading.Thread(target=hand_shake_slowly, daemon=True).start()
        assert_it_times_out(lambda: remember(client_type, f"https://127.0.0.1:{port_of(listener)}"))
    gc.collect()


def test_time_that_a_slow_resolver_took_is_not_given_again(monkeypatch: pytest.MonkeyPatch) -> None:
    real = socket.getaddrinfo

    def slowly(*args: Any, **kwargs: Any) -> Any:
        time.sleep(TIMEOUT_S)
        return real(*args, **kwargs)

    monkeypatch.setattr(socket, "getaddrinfo", slowly)
    with raw_service(lambda connection, request: connection.sendall(whole_answer())) as url:
        assert_it_times_out(lambda: remember(ContextClient, url))


def test_every_address_of_a_host_has_its_share_of_the_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody accepts at the first address, so that connecting to it hangs; the second one answers."""
    with contextlib.ExitStack() as stack:
        deaf = stack.enter_context(listening())
        deaf.listen(0)
        for _ in range(2):  # fill its queue
            waiting = stack.enter_context(socket.socket())
            waiting.setblocking(False)
            waiting.connect_ex(deaf.getsockname())
        scope = (
            b'{"scope_id":"s","title":"t","summary":"s","parent_scope_id":null,"context_references":[],'
            b'"external_references":[],"version":1}'
        )
        url = stack.enter_context(raw_service(lambda connection, request: connection.sendall(whole_answer(scope))))
        addresses = ["127.0.0.2", "127.0.0.1"]
        real = socket.getaddrinfo
        dialled: list[str] = []

        def two_addresses(host: str, port: int, *args: Any, **kwargs: Any) -> Any:
            found = addresses if host == "sidecar.test" else [host]
            return [entry for address in found for entry in real(address, port, *args, **kwargs)]

        def connect(self: socket.socket, place: tuple[str, int]) -> None:
            dialled.append(place[0])
            return real_connect(self, deaf.getsockname() if place[0] == "127.0.0.2" else place)

        real_connect = socket.socket.connect
        monkeypatch.setattr(socket, "getaddrinfo", two_addresses)
        monkeypatch.setattr(socket.socket, "connect", connect)
        named = url.replace("127.0.0.1", "sidecar.test")
        with ContextClient(named, timeout_s=1) as client:
            assert client.get_scope("s").version == 1
        assert dialled == addresses


def test_more_threads_than_a_usual_pool_has_connections_do_not_wait_for_each_other() -> None:
    threads_at_once = 120
    all_here = threading.Barrier(threads_at_once)

    def behave(connection: socket.socket, request: bytes) -> None:
        all_here.wait(20)
        connection.sendall(whole_answer())

    contents: list[str | None] = []
    with raw_service(behave) as url, ContextClient(url, timeout_s=20) as client:

        def ask() -> None:
            contents.append(client.prepare_context("s", "q").content)

        threads = [threading.Thread(target=ask) for _ in range(threads_at_once)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert contents == ["hello"] * threads_at_once
