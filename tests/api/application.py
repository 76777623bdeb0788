"""What the tests of the HTTP edge share: the application's lifespan, processes, and the form of its answers."""

import asyncio
import contextlib
import re
import signal
import socket
import subprocess
import time
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any, TypeAlias

import httpx

from adapters import open_storage

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
        await asyncio.gather(task, return_exceptions=True)
        raise AssertionError(started["message"])
    try:
        yield
    finally:
        await to_app.put({"type": "lifespan.shutdown"})
        await task


def scope_body(scope_id: str) -> dict[str, Any]:
    """A request that creates this Scope."""
    return {"scope_id": scope_id, "title": "t", "summary": "s", "idempotency_key": scope_id}


async def create_scope(client: httpx.AsyncClient, scope_id: str, **headers: str) -> None:
    answer = await client.post("/v1/scopes", json=scope_body(scope_id), headers=headers)
    assert answer.status_code == 201, answer.text


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


class Programs:
    """Ends what was started, whatever happened to the test."""

    def __init__(self) -> None:
        self.running: list[subprocess.Popen[bytes]] = []

    def __enter__(self) -> "Programs":
        return self

    def __exit__(self, *_: object) -> None:
        for process in self.running:
            if process.poll() is None:
                process.send_signal(signal.SIGKILL)
            process.wait(10)
            assert process.stderr is not None
            process.stderr.close()


def wait_until_live(path: Path, process: subprocess.Popen[bytes]) -> None:
    """Return when the socket takes connections. Raises AssertionError with what the process said when it ended."""
    until = time.monotonic() + 20
    while time.monotonic() < until:
        assert process.poll() is None, process.stderr.read().decode() if process.stderr else ""
        with socket.socket(socket.AF_UNIX) as connection, contextlib.suppress(OSError):
            connection.connect(str(path))
            connection.sendall(b"GET /health/live HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
            connection.settimeout(20)
            if connection.recv(9) == b"HTTP/1.1 ":
                return
        time.sleep(0.02)
    raise AssertionError("the server did not begin to serve")
