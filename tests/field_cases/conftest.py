"""The service behind its HTTP surface, over a real database of each engine."""

import os
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, TypeAlias

import httpx
import pytest

from service.app import create_app
from service.settings import Settings
from tests.api.application import Programs, lifespan, migrated, wait_until_live
from tests.field_cases.calls import Instance, create_scope

Start: TypeAlias = Callable[[], "subprocess.Popen[bytes]"]


@pytest.fixture(params=[pytest.param("sqlite", marks=pytest.mark.sqlite)])
def engine(request: pytest.FixtureRequest) -> str:
    """Where the service stores. No test looks at this: another engine needs one parameter here and its URL below."""
    name: str = request.param
    return name


@pytest.fixture
async def database_url(engine: str, tmp_path: Path) -> str:
    """A fresh database with all migrations."""
    assert engine == "sqlite"
    return await migrated(tmp_path / "context.db")


@pytest.fixture
def instance(database_url: str) -> Instance:
    """`async with instance(**settings) as client`: one server on the test's database, in this process.

    Several at once share the database as several processes do.
    """

    @asynccontextmanager
    async def running(**settings: Any) -> AsyncIterator[httpx.AsyncClient]:
        app = create_app(Settings(database_url=database_url, **settings))
        transport = httpx.ASGITransport(app, raise_app_exceptions=False)
        async with lifespan(app), httpx.AsyncClient(transport=transport, base_url="http://sidecar") as client:
            yield client

    return running


@pytest.fixture
async def client(instance: Instance) -> AsyncIterator[httpx.AsyncClient]:
    """One server, and one empty Scope `s`."""
    async with instance() as client:
        await create_scope(client, "s")
        yield client


@pytest.fixture
def socket_path(tmp_path: Path) -> Path:
    """Where `program` listens."""
    return tmp_path / "socket"


@pytest.fixture
def program(database_url: str, socket_path: Path) -> Iterator[Start]:
    """`program()`: the server as a process of its own, already serving."""
    with Programs() as programs:

        def start() -> subprocess.Popen[bytes]:
            settings = {
                "POWERCONTEXT_SERVER_DATABASE_URL": database_url,
                "POWERCONTEXT_SERVER_HTTP_UDS": str(socket_path),
            }
            process = subprocess.Popen(
                [sys.executable, "-c", "from service.cli import main; main()", "serve"],
                env={**os.environ, **settings},
                cwd=Path(__file__).parents[2],
                stderr=subprocess.PIPE,
            )
            programs.running.append(process)
            wait_until_live(socket_path, process)
            return process

        yield start


@pytest.fixture
async def over_socket(socket_path: Path) -> AsyncIterator[httpx.AsyncClient]:
    """A client of `program`."""
    transport = httpx.AsyncHTTPTransport(uds=str(socket_path))
    async with httpx.AsyncClient(transport=transport, base_url="http://sidecar", timeout=60) as client:
        yield client
