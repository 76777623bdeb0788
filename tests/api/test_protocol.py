"""Deadlines of a connection that take too long to wait for over a real socket."""

import asyncio
from typing import Any

import pytest
import uvicorn
from uvicorn.server import ServerState

from service.http import protocol
from service.http.protocol import SidecarProtocol


class Transport(asyncio.Transport):
    """A connection that remembers how it ended."""

    def __init__(self) -> None:
        super().__init__()
        self.ended = ""
        self.written = b""

    def write(self, data: bytes | bytearray | memoryview) -> None:
        self.written += bytes(data)

    def is_closing(self) -> bool:
        return self.ended != ""

    def close(self) -> None:
        self.ended = self.ended or "closed"

    def abort(self) -> None:
        self.ended = "aborted"

    def pause_reading(self) -> None:
        pass

    def resume_reading(self) -> None:
        pass


async def application(scope: Any, receive: Any, send: Any) -> None:
    """Answers without reading the body, except that `/echo` reads it and sends it back."""
    if scope["path"] == "/echo":
        body = b""
        more = True
        while more:
            message = await receive()
            body += message["body"]
            more = message["more_body"]
        await send(
            {
                "type": "http.response.start",
                "status": 200,
                "headers": [(b"content-length", str(len(body)).encode())],
            }
        )
        await send({"type": "http.response.body", "body": body, "more_body": False})
        return
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"0")]})
    await send({"type": "http.response.body", "body": b"", "more_body": False})


@pytest.fixture
async def connection() -> tuple[SidecarProtocol, Transport]:
    transport = Transport()
    config = uvicorn.Config(application, lifespan="off", ws="none", log_config=None)
    connected = SidecarProtocol(config, ServerState(), {})
    connected.connection_made(transport)
    return connected, transport


async def test_a_client_that_takes_nothing_of_its_answer_is_dropped(
    connection: tuple[SidecarProtocol, Transport], monkeypatch: pytest.MonkeyPatch
) -> None:
    connected, transport = connection
    monkeypatch.setattr(protocol, "UNREAD_S", 0.01)
    connected.pause_writing()
    connected.resume_writing()
    await asyncio.sleep(0.05)
    assert transport.ended == ""
    connected.pause_writing()
    await asyncio.sleep(0.05)
    assert transport.ended == "aborted"


async def test_a_body_that_goes_on_after_its_answer_is_taken_in_for_a_while_only(
    connection: tuple[SidecarProtocol, Transport], monkeypatch: pytest.MonkeyPatch
) -> None:
    connected, transport = connection
    monkeypatch.setattr(protocol, "LINGER_S", 0.05)
    connected.data_received(b"POST / HTTP/1.1\r\nContent-Length: 1000\r\n\r\n")
    await asyncio.sleep(0.02)
    assert transport.written.startswith(b"HTTP/1.1 200 ")
    connected.data_received(b"x" * 100)
    assert transport.ended == ""
    await asyncio.sleep(0.1)
    assert transport.ended == "closed"


async def test_a_request_that_follows_a_large_body_at_once_is_no_long_head(
    connection: tuple[SidecarProtocol, Transport],
) -> None:
    connected, transport = connection
    body = b"x" * 200_000
    connected.data_received(b"POST / HTTP/1.1\r\nContent-Length: 200000\r\n\r\n")
    connected.data_received(body + b"GET / HT")
    connected.data_received(b"TP/1.1\r\n\r\n")
    await asyncio.sleep(0.02)
    assert transport.written.count(b"HTTP/1.1 200 ") == 2
    assert transport.ended == ""


async def test_a_head_without_end_is_refused(connection: tuple[SidecarProtocol, Transport]) -> None:
    connected, transport = connection
    connected.data_received(b"GET / HTTP/1.1\r\n")
    for _ in range(70):
        connected.data_received(b"X: " + b"a" * 1000 + b"\r\n")
    assert transport.written.startswith(b"HTTP/1.1 400 ")
    assert transport.ended == "closed"


UPGRADES = (
    b"Connection: Upgrade\r\nUpgrade: foo\r\n",
    b"Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAAP__\r\n",
    b"Upgrade: websocket\r\nConnection: keep-alive, upgrade\r\nSec-WebSocket-Version: 13\r\n",
)
SMUGGLED = b"GET /other HTTP/1.1\r\nHost: x\r\n\r\n"


@pytest.mark.parametrize("upgrade", UPGRADES)
@pytest.mark.parametrize("cut", [None, 20, -len(SMUGGLED), -5])
@pytest.mark.parametrize("chunked", [False, True])
async def test_an_upgrade_is_ignored_and_the_body_is_no_second_request(
    connection: tuple[SidecarProtocol, Transport],
    caplog: pytest.LogCaptureFixture,
    upgrade: bytes,
    cut: int | None,
    chunked: bool,
) -> None:
    connected, transport = connection
    length = len(SMUGGLED)
    framing, body = b"Content-Length: %d\r\n" % length, SMUGGLED
    if chunked:
        framing, body = b"Transfer-Encoding: chunked\r\n", b"%x\r\n%b\r\n0\r\n\r\n" % (length, SMUGGLED)
    request = b"POST /echo HTTP/1.1\r\nHost: x\r\n" + upgrade + framing + b"\r\n" + body
    for piece in (request,) if cut is None else (request[:cut], request[cut:]):
        connected.data_received(piece)
        await asyncio.sleep(0)
    await asyncio.sleep(0.01)
    answer = b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n" % length + SMUGGLED
    assert transport.written == answer
    assert transport.ended == ""
    assert caplog.messages == []
    connected.data_received(request + request)
    await asyncio.sleep(0.01)
    assert transport.written == answer * 3


async def test_a_head_that_asks_for_an_upgrade_has_no_longer_head_than_others(
    connection: tuple[SidecarProtocol, Transport],
) -> None:
    connected, transport = connection
    connected.data_received(b"GET / HTTP/1.1\r\n" + UPGRADES[0] + b"X: " + b"a" * 70_000 + b"\r\n\r\n")
    assert transport.written.startswith(b"HTTP/1.1 400 ")
    assert transport.ended == "closed"


async def test_thousands_of_upgrades_in_one_piece_are_parsed_one_after_another(
    connection: tuple[SidecarProtocol, Transport],
) -> None:
    connected, transport = connection
    connected.data_received((b"GET / HTTP/1.1\r\n" + UPGRADES[0] + b"\r\n") * 3000)
    for _ in range(3100):
        await asyncio.sleep(0)
    assert transport.written.count(b"HTTP/1.1 200 ") == 3000


async def test_connect_is_refused_and_nothing_after_it_is_parsed(
    connection: tuple[SidecarProtocol, Transport],
) -> None:
    connected, transport = connection
    connected.data_received(b"CONNECT x:80 HTTP/1.1\r\nHost: x\r\n\r\n" + SMUGGLED)
    await asyncio.sleep(0.01)
    assert transport.written.count(b"HTTP/1.1 ") == 1
    assert transport.written.startswith(b"HTTP/1.1 400 ")
    assert transport.ended == "closed"
