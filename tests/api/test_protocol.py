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
    """Answers without reading the body."""
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
