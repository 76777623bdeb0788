"""Failures carry their facts, never the token, and come in time (CONTRACT section 1; case R75)."""

import asyncio
import gc
import socket
import time
import traceback
from collections.abc import Iterator
from typing import Any

import pytest
from powercontext_client import (
    ApiError,
    AsyncContextClient,
    Conflict,
    ContextClient,
    ContextClientError,
    Forbidden,
    InvalidPrepared,
    InvalidRequest,
    InvalidResponse,
    NotFound,
    RequestTimeout,
    TransportError,
    Unauthorized,
    Unavailable,
)

from tests.client.fake_service import FakeService

TOKEN = "pct_very-secret-token"
QUERY = "a private question"
REQUEST_ID = "0123456789abcdef"


def prepare(client_type: type[Any], url: str, **kwargs: Any) -> Any:
    """The result of one prepare with the secret token."""
    if client_type is ContextClient:
        with ContextClient(url, token=TOKEN) as client:
            return client.prepare_context("s", QUERY, **kwargs)

    async def awaited() -> Any:
        async with AsyncContextClient(url, token=TOKEN) as client:
            return await client.prepare_context("s", QUERY, **kwargs)

    return asyncio.run(awaited())


@pytest.fixture(params=[ContextClient, AsyncContextClient], ids=lambda client: str(client.__name__))
def client_type(request: pytest.FixtureRequest) -> Any:
    return request.param


@pytest.fixture
def closed_port() -> str:
    with socket.socket() as reserved:
        reserved.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{reserved.getsockname()[1]}"


@pytest.fixture
def silent_port() -> Iterator[str]:
    """A port that accepts and never answers."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"


@pytest.mark.parametrize(
    ("status", "error"),
    [
        (400, ApiError),
        (401, Unauthorized),
        (403, Forbidden),
        (404, NotFound),
        (409, Conflict),
        (410, ApiError),
        (412, Conflict),
        (422, InvalidRequest),
        (500, ApiError),
        (503, Unavailable),
    ],
)
def test_an_error_answer_is_raised_with_all_its_facts(
    client_type: type[Any], service: FakeService, status: int, error: type[ApiError]
) -> None:
    details = {"errors": [{"type": "value_error", "loc": ["body", "query"], "msg": "too long"}]}
    service.answer(
        {"error": {"code": "some_code", "message": "A sentence.", "details": details}},
        status,
        X_PowerContext_Request_ID=REQUEST_ID,
    )
    with pytest.raises(ApiError) as raised:
        prepare(client_type, service.url)
    assert type(raised.value) is error
    facts = (raised.value.status, raised.value.code, raised.value.message, raised.value.details)
    assert facts == (status, "some_code", "A sentence.", details)
    assert raised.value.request_id == REQUEST_ID
    assert REQUEST_ID in str(raised.value)


def test_nothing_is_retried_when_a_selection_is_refused(client_type: type[Any], service: FakeService) -> None:
    service.answer({"error": {"code": "invalid_request", "message": "m", "details": None}}, 422)
    with pytest.raises(InvalidRequest):
        prepare(client_type, service.url, assembly={"sections": []})
    assert len(service.received) == 1


@pytest.mark.parametrize("status", [202, 204, 301, 304, 502])
def test_a_status_that_the_operation_does_not_name_is_an_invalid_response(
    client_type: type[Any], service: FakeService, status: int
) -> None:
    service.answer(b"" if status in {204, 304} else b"{}", status, Location="/elsewhere")
    with pytest.raises(InvalidResponse) as raised:
        prepare(client_type, service.url)
    assert raised.value.status == status
    assert len(service.received) == 1


def test_an_answer_that_is_not_json_is_an_invalid_response(client_type: type[Any], service: FakeService) -> None:
    service.body, service.headers = b"<html>", {"Content-Type": "text/html", "X-PowerContext-Request-ID": REQUEST_ID}
    with pytest.raises(InvalidResponse) as raised:
        prepare(client_type, service.url)
    assert (raised.value.status, raised.value.request_id) == (200, REQUEST_ID)


def test_an_answer_of_another_shape_is_an_invalid_response(service: FakeService) -> None:
    with ContextClient(service.url) as client:
        for body in (b"", b"[]", b'{"scope_id": 3}', b"\xff", b"[" * 100_000):
            service.answer(body)
            with pytest.raises(InvalidResponse):
                client.get_scope("s")


def test_a_field_that_a_later_service_adds_is_ignored(service: FakeService) -> None:
    service.answer({"items": [], "next_cursor": None, "total": 0})
    with ContextClient(service.url) as client:
        assert client.list_scopes().items == ()


def test_a_prepared_text_over_the_budget_of_the_request_is_refused(
    client_type: type[Any], service: FakeService
) -> None:
    content = "x" * 513
    service.answer(
        {"schema": "powercontext.prepared-context.v1", "status": "ready", "content": content, "content_bytes": 513},
        X_PowerContext_Request_ID=REQUEST_ID,
    )
    assert prepare(client_type, service.url, max_bytes=513).content == content
    with pytest.raises(InvalidPrepared) as raised:
        prepare(client_type, service.url, max_bytes=512)
    assert (raised.value.status, raised.value.request_id) == (200, REQUEST_ID)


def test_a_refused_connection_is_a_transport_error(client_type: type[Any], closed_port: str) -> None:
    with pytest.raises(TransportError) as raised:
        prepare(client_type, closed_port)
    assert not isinstance(raised.value, RequestTimeout)


def test_a_service_that_never_answers_times_out_within_the_timeout_of_the_call(
    client_type: type[Any], silent_port: str
) -> None:
    begun = time.monotonic()
    with pytest.raises(RequestTimeout):
        prepare(client_type, silent_port, timeout_s=0.2)
    assert time.monotonic() - begun < 2


def test_the_timeout_is_for_the_whole_call_however_the_answer_trickles(
    client_type: type[Any], service: FakeService
) -> None:
    service.answer(b"{" + b" " * 100)
    service.trickle_s = 0.05  # five seconds in all, never a long wait between two bytes
    begun = time.monotonic()
    with pytest.raises(RequestTimeout):
        prepare(client_type, service.url, timeout_s=0.3)
    assert time.monotonic() - begun < 2


def test_the_token_is_sent_and_shows_nowhere_else(
    client_type: type[Any], service: FakeService, closed_port: str, silent_port: str
) -> None:
    shown = [repr(client_type("http://127.0.0.1:1", token=TOKEN))]
    service.answer({"error": {"code": "unauthorized", "message": "m", "details": None}}, 401)
    for url in (service.url, closed_port, silent_port):
        with pytest.raises(ContextClientError) as raised:
            prepare(client_type, url, timeout_s=0.1)
        shown += [repr(raised.value), *traceback.format_exception(raised.value)]
    assert service.last.headers["Authorization"] == f"Bearer {TOKEN}"
    assert TOKEN not in "".join(shown)
    assert QUERY not in "".join(shown)


@pytest.mark.parametrize("token", ["", "a b", "a\nb", "é", "a\r\nX: y"])
def test_a_token_that_no_header_can_hold_is_refused_without_being_quoted(client_type: type[Any], token: str) -> None:
    with pytest.raises(ValueError, match="token") as raised:
        client_type(token=f"secret{token}secret" if token else token)
    assert "secret" not in str(raised.value)


@pytest.mark.parametrize(
    "base_url",
    [
        "127.0.0.1:8000",
        "ftp://h",
        "http://",
        "http://user:secret@h",
        "http://h?secret=1",
        "http://h#secret",
        "http://user:secret@h:port",
        "http://user:secret@[::1",
        "http://secret:99999",
        "http://secret\x00h",
        "http://user:secret@\ud800",
        "http://" + "secret" * 20_000,
    ],
    ids=lambda url: ascii(url[:30]),
)
def test_an_address_that_is_no_plain_http_address_is_refused(client_type: type[Any], base_url: str) -> None:
    with pytest.raises(ValueError, match="base_url") as raised:
        client_type(base_url)
    assert "secret" not in "".join(traceback.format_exception(raised.value, limit=0))


def test_proxies_of_the_environment_are_not_used(service: FakeService, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")
    service.answer({"items": [], "next_cursor": None})
    with ContextClient(service.url) as client:
        assert client.list_scopes().next_cursor is None


@pytest.mark.parametrize("timeout_s", [0, -1, float("nan"), float("inf"), -float("inf"), 86_401, 1e10, "3", True])
def test_a_timeout_is_a_number_of_seconds_above_0_and_at_most_a_day(
    client_type: type[Any], service: FakeService, timeout_s: Any
) -> None:
    with pytest.raises(ValueError, match="timeout_s must be above 0 and at most 86400 seconds"):
        client_type(service.url, timeout_s=timeout_s)
    with pytest.raises(ValueError, match="timeout_s must be above 0 and at most 86400 seconds"):
        prepare(client_type, service.url, timeout_s=timeout_s)
    assert service.received == []


def test_a_day_is_a_legal_timeout(client_type: type[Any], service: FakeService) -> None:
    service.answer(
        {"schema": "powercontext.prepared-context.v1", "status": "empty", "content": None, "content_bytes": 0}
    )
    assert prepare(client_type, service.url, timeout_s=86_400).status == "empty"


def carry_out(client_type: type[Any], name: str, *args: Any, **connection: Any) -> None:
    """Call one method of a client with this connection."""
    if client_type is ContextClient:
        with ContextClient(**connection) as client:
            getattr(client, name)(*args)
        return

    async def awaited() -> None:
        async with AsyncContextClient(**connection) as client:
            await getattr(client, name)(*args)

    asyncio.run(awaited())


def test_an_id_that_no_address_can_hold_is_one_of_our_errors(client_type: type[Any], service: FakeService) -> None:
    with pytest.raises(TransportError):
        carry_out(client_type, "get_scope", "x" * 70_000, base_url=service.url)
    with pytest.raises(ValueError, match="surrogates"):
        carry_out(client_type, "get_scope", "\ud800", base_url=service.url)
    assert service.received == []


# httpcore leaves a socket that it could not connect to the garbage collector.
@pytest.mark.filterwarnings("ignore::ResourceWarning")
@pytest.mark.parametrize("path", ["", "/no/such/socket", "/tmp/\0", "/tmp/" + "a" * 200], ids=ascii)
def test_a_path_that_is_no_unix_socket_is_a_transport_error(client_type: type[Any], path: str) -> None:
    with pytest.raises(TransportError):
        carry_out(client_type, "get_capabilities", unix_socket=path)
    gc.collect()


def test_a_closed_client_is_a_transport_error(service: FakeService) -> None:
    client = ContextClient(service.url)
    client.close()
    with pytest.raises(TransportError):
        client.list_scopes()
