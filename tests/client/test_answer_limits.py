"""An answer is read as far as the contract lets it go, and no further."""

import asyncio
import gzip
import json
import socket
import threading
from typing import Any

import pytest
from powercontext_client import ApiError, AsyncContextClient, ContextClient, InvalidResponse

from tests.client.fake_service import FakeService
from tests.client.raw_service import READY, raw_service, whole_answer

MEBIBYTE = 1024 * 1024


def call(client_type: type[Any], url: str, name: str, *args: Any, **kwargs: Any) -> Any:
    """The result of one method of either client."""
    if client_type is ContextClient:
        with ContextClient(url) as client:
            return getattr(client, name)(*args, **kwargs)

    async def awaited() -> Any:
        async with AsyncContextClient(url) as client:
            return await getattr(client, name)(*args, **kwargs)

    return asyncio.run(awaited())


@pytest.fixture(params=[ContextClient, AsyncContextClient], ids=lambda client: str(client.__name__))
def client_type(request: pytest.FixtureRequest) -> Any:
    return request.param


def test_no_encoding_is_asked_for(client_type: type[Any], service: FakeService) -> None:
    service.answer(READY)
    call(client_type, service.url, "prepare_context", "s", "q")
    assert service.last.headers["Accept-Encoding"] == "identity"


@pytest.mark.parametrize("encoding", ["gzip", "GZIP", "deflate", "br", "identity, gzip", "unheard-of"])
def test_an_encoded_answer_is_refused(client_type: type[Any], service: FakeService, encoding: str) -> None:
    service.answer(gzip.compress(READY), Content_Encoding=encoding, X_PowerContext_Request_ID="r1")
    with pytest.raises(InvalidResponse, match="encoding") as raised:
        call(client_type, service.url, "prepare_context", "s", "q")
    assert (raised.value.status, raised.value.request_id) == (200, "r1")


def test_an_answer_that_says_it_is_not_encoded_is_taken(client_type: type[Any], service: FakeService) -> None:
    service.answer(READY, Content_Encoding="identity")
    assert call(client_type, service.url, "prepare_context", "s", "q").content == "hello"


def test_a_prepared_text_may_be_escaped_throughout(client_type: type[Any], service: FakeService) -> None:
    """The largest body that the contract allows: each byte of the text is written with six."""
    content = "\x01" * 512
    service.answer(READY.replace(b"hello", b"\\u0001" * 512).replace(b":5}", b":512}"))
    assert call(client_type, service.url, "prepare_context", "s", "q", max_bytes=512).content == content


@pytest.mark.parametrize(
    ("name", "args", "status", "limit"),
    [
        ("prepare_context", ("s", "q"), 200, 6 * 8000 + 1024),
        ("prepare_context", ("s", "q"), 422, MEBIBYTE),
        ("get_scope", ("s",), 200, 64 * MEBIBYTE),
        ("get_scope", ("s",), 404, MEBIBYTE),
    ],
)
def test_what_is_larger_than_the_limit_is_refused_and_not_read_further(
    client_type: type[Any], name: str, args: tuple[str, ...], status: int, limit: int
) -> None:
    sent = 0
    gone = threading.Event()

    def behave(connection: socket.socket, request: bytes) -> None:
        nonlocal sent
        head = b"HTTP/1.1 %d X\r\nContent-Type: application/json\r\nContent-Length: 1000000000\r\n\r\n"
        connection.sendall(head % status)
        try:
            while sent < limit + 50 * MEBIBYTE:
                connection.sendall(b" " * MEBIBYTE)
                sent += MEBIBYTE
        except ConnectionError:
            gone.set()
            raise

    with raw_service(behave) as url, pytest.raises(InvalidResponse, match=f"larger than {limit} bytes") as raised:
        call(client_type, url, name, *args)
    assert raised.value.status == status
    assert gone.wait(10)
    assert sent < limit + 20 * MEBIBYTE  # what the kernel's buffers took


def test_a_large_error_answer_keeps_its_facts(client_type: type[Any], service: FakeService) -> None:
    details = {"errors": [{"type": "extra", "loc": ["body", "assembly", str(n)], "msg": "unknown"} for n in range(500)]}
    service.answer(json.loads(json.dumps({"error": {"code": "c", "message": "m", "details": details}})), 422)
    with pytest.raises(ApiError) as raised:
        call(client_type, service.url, "prepare_context", "s", "q", max_bytes=512)
    assert raised.value.details == details


def test_the_connection_of_a_refused_answer_is_not_used_again() -> None:
    requests = 0

    def behave(connection: socket.socket, request: bytes) -> None:
        nonlocal requests
        requests += 1
        connection.sendall(whole_answer(b" " * 100_000) if requests == 1 else whole_answer())

    with raw_service(behave) as url, ContextClient(url) as client:
        with pytest.raises(InvalidResponse):
            client.prepare_context("s", "q")
        assert client.prepare_context("s", "q").content == "hello"
