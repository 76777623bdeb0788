"""The service behind its HTTP surface, over a real database of each engine."""

import asyncio
import os
import shutil
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

Start: TypeAlias = Callable[..., "subprocess.Popen[bytes]"]


@pytest.fixture(params=[pytest.param("sqlite", marks=pytest.mark.sqlite)])
def engine(request: pytest.FixtureRequest) -> str:
    """Where the service stores. No test looks at this: another engine needs one parameter here and its URL below."""
    name: str = request.param
    return name


@pytest.fixture(scope="session")
def migrated_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An empty SQLite database with all migrations, to be copied: each migration waits for the disk."""
    path = tmp_path_factory.mktemp("migrated") / "context.db"
    asyncio.run(migrated(path))
    return path


@pytest.fixture
def database_url(engine: str, tmp_path: Path, migrated_file: Path) -> str:
    """A fresh database with all migrations."""
    assert engine == "sqlite"
    return f"sqlite:///{shutil.copyfile(migrated_file, tmp_path / 'context.db')}"


@pytest.fixture
def instance(database_url: str) -> Instance:
    """Starts a server on the test's database, in this process; its settings are the arguments.

    Several at once share the database as several processes do.
    """

    @asynccontextmanager
    async def running(**settings: Any) -> AsyncIterator[httpx.AsyncClient]:
        app: Any = create_app(Settings(database_url=database_url, **settings))
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
    """`program()`: the server as a process of its own, already serving. `first` is a statement that it runs before."""
    with Programs() as programs:

        def start(first: str = "") -> subprocess.Popen[bytes]:
            settings = {
                "POWERCONTEXT_SERVER_DATABASE_URL": database_url,
                "POWERCONTEXT_SERVER_HTTP_UDS": str(socket_path),
                # Nobody reads stderr while the test runs: a line for each request would fill its pipe.
                "POWERCONTEXT_SERVER_LOG_LEVEL": "error",
            }
            process = subprocess.Popen(
                [sys.executable, "-c", f"{first}\nfrom service.cli import main; main()", "serve"],
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
