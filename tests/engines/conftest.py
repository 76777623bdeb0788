"""One migrated database per test module and engine, on servers that run once for the whole run.

Tests of one module share a database, so each works in Scopes named after itself (`scope_id`).
"""

import asyncio
import itertools
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import TypeAlias

import pytest

from adapters import open_storage
from adapters.sql.storage import SqlStorage
from tests.engines.content import new_scope
from tests.engines.servers import DatabaseServer, OceanBaseServer, PostgresServer

OpenStorage: TypeAlias = Callable[[], Awaitable[SqlStorage]]
NewDatabase: TypeAlias = Callable[[], str]

EVERY_ENGINE = [pytest.param(name, marks=getattr(pytest.mark, name)) for name in ("sqlite", "postgres", "oceanbase")]
_numbers = itertools.count(1)


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[PostgresServer]:
    server = PostgresServer()
    try:
        server.start()
        yield server
    finally:
        server.remove()


@pytest.fixture(scope="session")
def oceanbase_server() -> Iterator[OceanBaseServer]:
    if sys.platform != "linux":
        pytest.skip("the OceanBase server in a wheel is for Linux only")
    server = OceanBaseServer()
    try:
        server.start()
        yield server
    finally:
        server.remove()


@pytest.fixture(scope="module", params=EVERY_ENGINE)
def engine(request: pytest.FixtureRequest) -> str:
    """The engine under test."""
    name: str = request.param
    return name


@pytest.fixture(scope="module")
def server(engine: str, request: pytest.FixtureRequest) -> DatabaseServer | None:
    """The server of the engine under test, None for SQLite."""
    if engine == "sqlite":
        return None
    found: DatabaseServer = request.getfixturevalue(f"{engine}_server")
    return found


@pytest.fixture(scope="module")
def empty_database(
    engine: str, request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> NewDatabase:
    """Makes a database without tables and gives its URL."""
    return lambda: _new_database(engine, request, tmp_path_factory.mktemp("database"))


@pytest.fixture(scope="module")
def database_url(empty_database: NewDatabase) -> str:
    """A migrated database of the engine under test."""
    url = empty_database()
    asyncio.run(_migrate(url))
    return url


@pytest.fixture
async def open_another(database_url: str) -> AsyncIterator[OpenStorage]:
    """Opens the module's database once more, as another process would."""
    async with AsyncExitStack() as opened:

        async def open_it() -> SqlStorage:
            storage = await open_storage(database_url)
            opened.push_async_callback(storage.close)
            await storage.check()
            return storage

        yield open_it


@pytest.fixture
async def storage(open_another: OpenStorage) -> SqlStorage:
    """The module's database, opened for one test."""
    return await open_another()


@pytest.fixture
async def scope_id(storage: SqlStorage) -> str:
    """A new Scope that only this test uses."""
    return await new_scope(storage)


@pytest.fixture(scope="module")
def urls_of_every_engine(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """A migrated database of each engine, by its name."""
    urls = {
        name: _new_database(name, request, tmp_path_factory.mktemp("database"))
        for name in ("sqlite", "postgres", "oceanbase")
    }
    for url in urls.values():
        asyncio.run(_migrate(url))
    return urls


@pytest.fixture
async def every_storage(urls_of_every_engine: dict[str, str]) -> AsyncIterator[dict[str, SqlStorage]]:
    """All three engines at once."""
    async with AsyncExitStack() as opened:
        storages = {}
        for name, url in urls_of_every_engine.items():
            storages[name] = await open_storage(url)
            opened.push_async_callback(storages[name].close)
            await storages[name].check()
        yield storages


def _new_database(engine: str, request: pytest.FixtureRequest, folder: Path) -> str:
    if engine == "sqlite":
        return f"sqlite:///{folder}/test.db"
    server: DatabaseServer = request.getfixturevalue(f"{engine}_server")
    return server.create_database(f"test_{next(_numbers)}")


async def _migrate(url: str) -> None:
    storage = await open_storage(url)
    try:
        await storage.migrate()
    finally:
        await storage.close()
