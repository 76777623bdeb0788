"""The application over a real SQLite file: in process through ASGI, or as the program on a real socket."""

import os
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, cast

import httpx
import pytest

from service.app import create_app
from service.settings import Settings
from tests.api.application import Program, Programs, Serve, create_scope, lifespan, migrated, wait_until_live


@pytest.fixture
async def serve(tmp_path: Path) -> Serve:
    """A context manager from settings to a client of the application, in process and without network."""
    url = await migrated(tmp_path / "context.db")

    @asynccontextmanager
    async def serving(**settings: Any) -> AsyncIterator[httpx.AsyncClient]:
        app = create_app(Settings(database_url=url, **settings))
        transport = httpx.ASGITransport(cast("Any", app), raise_app_exceptions=False)
        async with lifespan(app), httpx.AsyncClient(transport=transport, base_url="http://sidecar") as client:
            yield client

    return serving


@pytest.fixture
async def client(serve: Serve) -> AsyncIterator[httpx.AsyncClient]:
    """Access disabled, and one Scope `s`."""
    async with serve() as client:
        await create_scope(client, "s")
        yield client


@pytest.fixture
async def program(tmp_path: Path) -> AsyncIterator[Program]:
    """Starts the server as a process of its own on the Unix socket `tmp_path / "s"` and waits until it serves."""
    url = await migrated(tmp_path / "served.db")
    path = tmp_path / "s"
    with Programs() as programs:

        def start(workers: int = 1, **settings: str) -> subprocess.Popen[bytes]:
            environment = {"DATABASE_URL": url, "HTTP_UDS": str(path), **settings}
            process = subprocess.Popen(
                [sys.executable, "-c", "from service.cli import main; main()", "serve", "--workers", str(workers)],
                env={**os.environ, **{f"POWERCONTEXT_SERVER_{name}": value for name, value in environment.items()}},
                stderr=subprocess.PIPE,
            )
            programs.running.append(process)
            wait_until_live(path, process)
            return process

        yield start


@pytest.fixture
def over_socket(tmp_path: Path) -> Iterator[httpx.Client]:
    """A client of `program`."""
    transport = httpx.HTTPTransport(uds=str(tmp_path / "s"))
    with httpx.Client(transport=transport, base_url="http://sidecar", timeout=20) as client:
        yield client
