"""Look-ups in SQLite are made on the event loop: beside a busy reader, and through it where that fails."""

import asyncio
import threading
from pathlib import Path

import pytest

from adapters import open_storage
from adapters.sql.engine import Transaction
from adapters.sqlite.engine import SqliteEngine
from contracts.errors import RuntimeNotReady, ScopeNotFound
from tests.engines.content import new_scope


async def test_a_look_up_does_not_wait_for_the_reader(tmp_path: Path) -> None:
    storage = await open_storage(f"sqlite:///{tmp_path}/look-up.db")
    await storage.migrate()
    scope_id = await new_scope(storage)
    reading, release = threading.Event(), threading.Event()

    async def job(_: Transaction) -> None:
        reading.set()
        release.wait(30)

    busy = asyncio.create_task(storage.engine.read(job))
    try:
        assert await asyncio.to_thread(reading.wait, 20)
        assert (await asyncio.wait_for(storage.scopes.resolve(scope_id), 5)).scope.scope_id == scope_id
        assert not busy.done()
    finally:
        release.set()
        await busy
        await storage.close()


async def test_a_look_up_sees_what_another_process_has_just_written(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/look-up.db"
    storage, other = await open_storage(url), await open_storage(url)
    await storage.migrate()
    with pytest.raises(ScopeNotFound):
        await storage.scopes.resolve("not yet there")
    scope_id = await new_scope(other)
    assert (await storage.scopes.resolve(scope_id)).scope.scope_id == scope_id
    await other.close()
    await storage.close()


async def test_a_look_up_that_fails_on_the_loop_is_made_by_the_reader(tmp_path: Path) -> None:
    storage = await open_storage(f"sqlite:///{tmp_path}/look-up.db")
    await storage.migrate()
    scope_id = await new_scope(storage)
    assert isinstance(storage.engine, SqliteEngine)
    storage.engine._on_loop.close()
    assert (await storage.scopes.resolve(scope_id)).scope.scope_id == scope_id
    await storage.close()
    with pytest.raises(RuntimeNotReady, match="closed"):
        await storage.scopes.resolve(scope_id)
