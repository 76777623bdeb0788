"""What every answer has in common: the request id, the error form, methods, unknown paths, the queue, failures."""

import asyncio
import itertools
import json
import re
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from adapters.sql.health import SqlHealth
from contracts.prepare import ContextPrepareRequest, PreparedContext
from service.app import create_app
from service.operations.context import ContextOperations
from service.settings import Settings
from tests.api.application import REQUEST_ID, Serve, assert_error, create_scope, lifespan

TOKEN = {"Authorization": "Bearer t0ken"}
PREPARE = {"scope_id": "s", "query": "q"}


async def test_every_answer_has_its_own_request_id(serve: Serve) -> None:
    requests = [
        ("GET", "/nope"),
        ("HEAD", "/nope"),
        ("OPTIONS", "/nope"),
        ("GET", "/"),
        ("GET", "//v1/scopes"),
        ("GET", "/v1/scopes/"),
        ("POST", "/health/live"),
        ("DELETE", "/v1/scopes"),
        ("HEAD", "/v1/scopes"),
        ("OPTIONS", "/v1/scopes"),
        ("PATCH", "/v1/context/prepare"),
        ("BREW", "/v1/scopes"),
        ("GET", "/v1/scopes"),
        ("GET", "/health/live"),
        ("GET", "/docs"),
        ("POST", "/v1/context/prepare"),
        ("GET", "/v1/scopes/missing"),
        ("GET", "/v1/scopes/missing/export"),
        ("POST", "/v1/scopes/missing/import"),
    ]
    async with serve(auth_token="t0ken") as client:
        answers = [await client.request(*request, headers=sent) for request in requests for sent in ({}, TOKEN)]
    ids = [answer.headers.get_list(REQUEST_ID) for answer in answers]
    assert all(len(found) == 1 and re.fullmatch("[0-9a-f]{16}", found[0]) for found in ids)
    assert len({found[0] for found in ids}) == len(answers)
    for answer in answers:
        if not answer.is_success and answer.request.method != "HEAD":
            assert list(answer.json()) == ["error"]
            assert set(answer.json()["error"]) == {"code", "message", "details"}


@pytest.mark.parametrize(
    "path", ["/nope", "/v1", "/v1/scopes/a/b", "/v1/scopes/", "//v1/scopes", "/v1//scopes", "/V1/scopes"]
)
async def test_an_unknown_path_is_404_with_and_without_a_token(serve: Serve, path: str) -> None:
    """The paths of the service are public knowledge; the answer is the same whoever asks."""
    async with serve(auth_token="t0ken") as client:
        answers = [await client.get(path, headers=sent) for sent in ({}, TOKEN, {"Authorization": "Bearer wrong"})]
    for answer in answers:
        assert_error(answer, 404, "not_found")
    assert len({answer.content for answer in answers}) == 1


@pytest.mark.parametrize(
    ("method", "path", "allow"),
    [
        ("POST", "/health/live", {"GET"}),
        ("DELETE", "/v1/scopes", {"GET", "POST"}),
        ("POST", "/v1/scopes/s", {"GET", "PUT"}),
        ("DELETE", "/v1/scopes/s", {"GET", "PUT"}),
        ("GET", "/v1/context/prepare", {"POST"}),
        ("PUT", "/v1/scopes/a%2Fb/artifacts/memory", {"GET"}),
        ("PATCH", "/v1/scopes/s/artifacts/memory/memory", {"GET", "PUT"}),
        ("GET", "/v1/scopes/s/artifacts", {"POST"}),
        ("HEAD", "/v1/scopes/s", {"GET", "PUT"}),
        ("OPTIONS", "/v1/scopes/s", {"GET", "PUT"}),
    ],
)
async def test_another_method_is_405_and_says_which_are_allowed(
    client: httpx.AsyncClient, method: str, path: str, allow: set[str]
) -> None:
    answer = await client.request(method, path)
    assert answer.status_code == 405
    assert set(answer.headers["allow"].split(", ")) == allow
    if method != "HEAD":
        assert_error(answer, 405, "method_not_allowed")


@pytest.mark.parametrize("path", ["/health/live", "/health/ready", "/openapi.yaml", "/openapi.json", "/docs"])
async def test_health_and_documents_need_no_credential(serve: Serve, path: str) -> None:
    async with serve(auth_token="t0ken") as client:
        for sent in ({}, {"Authorization": "Bearer wrong"}):
            assert (await client.get(path, headers=sent)).status_code == 200


@pytest.mark.parametrize("path", ["/metrics", "/v1/capabilities", "/v1/access/me", "/v1/scopes", "/v1/scopes/s/export"])
async def test_all_else_needs_a_valid_one(serve: Serve, path: str) -> None:
    async with serve(auth_token="t0ken") as client:
        await create_scope(client, "s", **TOKEN)
        for sent in ("", "Bearer", "Bearer ", "Bearer wrong", "Basic t0ken", "t0ken", "Bearer t0ken t0ken"):
            answer = await client.get(path, headers={"Authorization": sent})
            assert_error(answer, 401, "unauthorized")
            assert answer.headers["www-authenticate"] == "Bearer"
        assert (await client.get(path, headers={"Authorization": "bEaReR t0ken"})).status_code == 200


async def test_content_types_are_exact(client: httpx.AsyncClient) -> None:
    expected = {
        "/health/live": "application/json",
        "/openapi.json": "application/json",
        "/openapi.yaml": "application/yaml",
        "/docs": "text/html; charset=utf-8",
        "/metrics": "text/plain; version=0.0.4; charset=utf-8",
        "/v1/scopes/s/export": "application/x-ndjson",
    }
    for path, content_type in expected.items():
        assert (await client.get(path)).headers["content-type"] == content_type


async def test_the_docs_page_loads_nothing_from_elsewhere(client: httpx.AsyncClient) -> None:
    page = (await client.get("/docs")).text
    assert "/v1/context/prepare" in page
    assert not re.search(r"<script|<link|<img|@import|url\(|https?:", page)


async def test_metrics_name_operations_and_statuses_and_no_scope(client: httpx.AsyncClient) -> None:
    await client.get("/v1/scopes/secret-scope")
    await client.get("/secret-path")
    text = (await client.get("/metrics")).text
    assert re.search(r'^powercontext_requests_total\{operation="get_scope",status="404"\} 1\.0$', text, re.MULTILINE)
    assert re.search(r'operation="create_scope",status="201"\} 1\.0$', text, re.MULTILINE)
    assert "secret" not in text


async def test_logs_hold_neither_ids_nor_texts_nor_tokens(serve: Serve, capsys: pytest.CaptureFixture[str]) -> None:
    async with serve(auth_token="t0ken-secret") as client:
        headers = {"Authorization": "Bearer t0ken-secret"}
        await create_scope(client, "scope-secret", **headers)
        body = {"scope_id": "scope-secret", "query": "query-secret"}
        await client.post("/v1/context/prepare", json=body, headers=headers)
        await client.get("/v1/scopes/path-secret?cursor=cursor-secret", headers=headers)
        await client.get("/secret")
    captured = capsys.readouterr()
    logged = captured.out + captured.err
    assert "prepare_context" in logged
    assert "secret" not in logged


@pytest.fixture
def broken_prepare(monkeypatch: pytest.MonkeyPatch) -> None:
    async def fail(self: ContextOperations, request: ContextPrepareRequest) -> PreparedContext:
        raise ZeroDivisionError("SELECT secret FROM /etc/passwd")

    monkeypatch.setattr(ContextOperations, "prepare", fail)


@pytest.mark.usefixtures("broken_prepare")
async def test_a_bug_is_500_and_tells_nothing_of_itself(client: httpx.AsyncClient) -> None:
    answer = await client.post("/v1/context/prepare", json=PREPARE)
    error = assert_error(answer, 500, "internal_error")
    assert error["details"] is None
    assert not re.search("secret|passwd|ZeroDivision|Traceback|File", answer.text)
    assert (await client.get("/health/live")).status_code == 200


class Gate:
    """Makes prepare wait until it is let go; `entered` is set when two requests are in it."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.entered = asyncio.Event()
        self.open = asyncio.Event()
        gate = self
        count = itertools.count(1)

        async def wait(self: ContextOperations, request: ContextPrepareRequest) -> PreparedContext:
            if next(count) == 2:
                gate.entered.set()
            await gate.open.wait()
            return PreparedContext(status="empty", content=None, content_bytes=0)

        monkeypatch.setattr(ContextOperations, "prepare", wait)


async def test_more_requests_than_places_wait_a_while_and_are_then_told_to_try_again(
    serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate = Gate(monkeypatch)
    async with serve(http_max_concurrent_requests=2, http_queue_timeout_seconds=0.2) as client:
        under_way = [asyncio.create_task(client.post("/v1/context/prepare", json=PREPARE)) for _ in range(2)]
        await gate.entered.wait()
        refused = await client.post("/v1/context/prepare", json=PREPARE)
        assert_error(refused, 503, "runtime_not_ready")
        assert int(refused.headers["retry-after"]) >= 1
        assert (await client.get("/health/live")).status_code == 200
        assert (await client.get("/health/ready")).status_code == 200
        waiting = asyncio.create_task(client.post("/v1/context/prepare", json=PREPARE))
        await asyncio.sleep(0.05)
        gate.open.set()
        answers = await asyncio.gather(*under_way, waiting)
        assert [answer.status_code for answer in answers] == [200, 200, 200]


async def test_a_body_that_stops_arriving_is_refused_in_time(serve: Serve) -> None:
    async def endless() -> AsyncIterator[bytes]:
        yield b'{"scope_id":'
        await asyncio.sleep(30)

    async with serve(http_body_timeout_seconds=0.2) as client:
        answer = await client.post(
            "/v1/context/prepare", content=endless(), headers={"Content-Type": "application/json"}
        )
        assert_error(answer, 400, "malformed_request")
        assert answer.headers["connection"] == "close"


async def test_a_streamed_body_is_refused_as_soon_as_it_passes_the_limit(serve: Serve) -> None:
    sent = 0

    async def stream() -> AsyncIterator[bytes]:
        nonlocal sent
        for _ in range(1000):
            sent += 1024
            yield b"[" * 1024

    async with serve(http_max_body_bytes=4096) as client:
        answer = await client.post(
            "/v1/context/prepare", content=stream(), headers={"Content-Type": "application/json"}
        )
        assert_error(answer, 413, "payload_too_large")
        assert sent <= 8192
        headers = {"Content-Type": "application/json", "Content-Length": str(2**70)}
        answer = await client.post("/v1/context/prepare", content=b"{}", headers=headers)
        assert_error(answer, 413, "payload_too_large")
        body = json.dumps(PREPARE).ljust(4096).encode()
        exact = await client.post("/v1/context/prepare", content=body, headers={"Content-Type": "application/json"})
        assert_error(exact, 404, "scope_not_found")


async def test_capabilities_tell_what_assembly_can_do(serve: Serve) -> None:
    async with serve(runtime_context_assembly_max_entries=12) as client:
        capabilities: dict[str, Any] = (await client.get("/v1/capabilities")).json()
    assert set(capabilities) == {"artifact_families", "search_modes", "context_versions", "context_assembly"}
    assert capabilities["context_versions"] == ["powercontext.prepared-context.v1"]
    assembly = capabilities["context_assembly"]
    assert assembly["formats"] == ["markdown"]
    assert assembly["show"] == ["confidence", "recall_rank"]
    assert assembly["max_entries"] == 12
    assert assembly["families"]["experience"] == {"min": 1, "max": 2}
    assert {name: bounds["max"] for name, bounds in assembly["families"].items()} == {
        "memory": 8,
        "experience": 2,
        "profile": 8,
        "topic-memory": 8,
    }


async def test_a_database_without_migrations_is_not_served(tmp_path: Path) -> None:
    app = create_app(Settings(database_url=f"sqlite:///{tmp_path}/new.db"))
    with pytest.raises(AssertionError, match="powercontext-sidecar migrate"):
        async with lifespan(app):
            pass


async def test_a_database_that_stops_answering_is_not_ready(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    async def check(self: SqlHealth) -> dict[str, str]:
        return {"database": "The database file cannot be read or written."}

    async with serve() as client:
        monkeypatch.setattr(SqlHealth, "check", check)
        answer = await client.get("/health/ready")
    assert answer.status_code == 503
    assert set(answer.json()) == {"status", "checks"}
    assert answer.json()["status"] == "not_ready"
    assert answer.json()["checks"]["database"] == "The database file cannot be read or written."
