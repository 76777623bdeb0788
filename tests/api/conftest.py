"""The application over a real SQLite file: in process through ASGI, or as the program on a real socket."""

import asyncio
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any, TypeAlias

import httpx
import pytest

from adapters import open_storage
from service.app import create_app
from service.settings import Settings

REQUEST_ID = "X-PowerContext-Request-ID"
Serve: TypeAlias = Callable[..., AbstractAsyncContextManager[httpx.AsyncClient]]
Program: TypeAlias = Callable[..., subprocess.Popen[bytes]]


async def migrated(path: Path) -> str:
    """The URL of a database at `path` that is ready to serve."""
    url = f"sqlite:///{path}"
    storage = await open_storage(url)
    await storage.migrate()
    await storage.close()
    return url


@asynccontextmanager
async def lifespan(app: Any) -> AsyncIterator[None]:
    """Startup and shutdown of an ASGI application, as a server does them."""
    to_app: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
    from_app: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
    task = asyncio.create_task(app({"type": "lifespan", "asgi": {"version": "3.0"}}, to_app.get, from_app.put))
    await to_app.put({"type": "lifespan.startup"})
    started = await from_app.get()
    if started["type"] != "lifespan.startup.complete":
        await task  # raises what went wrong
    try:
        yield
    finally:
        await to_app.put({"type": "lifespan.shutdown"})
        await task


@pytest.fixture
async def serve(tmp_path: Path) -> AsyncIterator[Serve]:
    """`async with serve(**settings) as client`: the application with its own database; no network."""
    url = await migrated(tmp_path / "context.db")

    @asynccontextmanager
    async def serving(**settings: Any) -> AsyncIterator[httpx.AsyncClient]:
        app = create_app(Settings(database_url=url, **settings))
        transport = httpx.ASGITransport(app, raise_app_exceptions=False)
        async with lifespan(app), httpx.AsyncClient(transport=transport, base_url="http://sidecar") as client:
            yield client

    yield serving


@pytest.fixture
async def client(serve: Serve) -> AsyncIterator[httpx.AsyncClient]:
    """Access disabled, and one Scope `s`."""
    async with AsyncExitStack() as stack:
        client = await stack.enter_async_context(serve())
        await create_scope(client, "s")
        yield client


async def create_scope(client: httpx.AsyncClient, scope_id: str, **headers: str) -> dict[str, Any]:
    """The descriptor of a new Scope."""
    body = {"scope_id": scope_id, "title": "t", "summary": "s", "idempotency_key": scope_id}
    answer = await client.post("/v1/scopes", json=body, headers=headers)
    assert answer.status_code == 201, answer.text
    descriptor: dict[str, Any] = answer.json()
    return descriptor


def assert_error(answer: httpx.Response, status: int, code: str) -> dict[str, Any]:
    """The answer is this error, in exactly the form that every error has; what it holds."""
    assert (answer.status_code, answer.headers["content-type"]) == (status, "application/json"), answer.text
    assert re.fullmatch("[0-9a-f]{16}", answer.headers[REQUEST_ID])
    body = answer.json()
    assert list(body) == ["error"]
    error: dict[str, Any] = body["error"]
    assert set(error) == {"code", "message", "details"}
    assert error["code"] == code
    assert isinstance(error["message"], str)
    assert error["message"]
    return error


def assert_invalid(answer: httpx.Response, *loc: str | int) -> dict[str, Any]:
    """The answer is 422 with one error, at `loc`; that error."""
    error = assert_error(answer, 422, "invalid_request")
    (found,) = error["details"]["errors"]
    assert set(found) == {"type", "loc", "msg"}
    assert found["loc"] == list(loc)
    listed: dict[str, Any] = found
    return listed


@pytest.fixture
async def program(tmp_path: Path) -> AsyncIterator[Program]:
    """`program(**settings)`: the server as a process of its own on the Unix socket `tmp_path / "s"`, already serving."""
    url = await migrated(tmp_path / "served.db")
    socket = tmp_path / "s"
    with _Programs() as programs:

        def start(workers: int = 1, **settings: str) -> subprocess.Popen[bytes]:
            environment = {"DATABASE_URL": url, "HTTP_UDS": str(socket), **settings}
            process = subprocess.Popen(
                [
                    sys.executable,
                    "-c",
                    "import os; from service.settings import load_settings; from service.http.server import serve;"
                    f" serve(load_settings(os.environ), workers={workers})",
                ],
                env={**os.environ, **{f"POWERCONTEXT_SERVER_{name}": value for name, value in environment.items()}},
                stderr=subprocess.PIPE,
            )
            programs.running.append(process)
            _wait_until_live(socket, process)
            return process

        yield start


class _Programs:
    """Ends what was started, whatever happened to the test."""

    def __init__(self) -> None:
        self.running: list[subprocess.Popen[bytes]] = []

    def __enter__(self) -> "_Programs":
        return self

    def __exit__(self, *_: object) -> None:
        for process in self.running:
            if process.poll() is None:
                process.send_signal(signal.SIGKILL)
            process.wait(10)
            assert process.stderr is not None
            process.stderr.close()


def _wait_until_live(socket: Path, process: subprocess.Popen[bytes]) -> None:
    until = time.monotonic() + 20
    with httpx.Client(transport=httpx.HTTPTransport(uds=str(socket)), base_url="http://sidecar") as client:
        while time.monotonic() < until:
            assert process.poll() is None, process.stderr.read().decode() if process.stderr else ""
            try:
                client.get("/health/live")
            except httpx.TransportError:
                time.sleep(0.05)
            else:
                return
    raise AssertionError("the server did not begin to serve")


@pytest.fixture
def over_socket(tmp_path: Path) -> Iterator[httpx.Client]:
    """A client of `program`."""
    transport = httpx.HTTPTransport(uds=str(tmp_path / "s"))
    with httpx.Client(transport=transport, base_url="http://sidecar", timeout=20) as client:
        yield client
