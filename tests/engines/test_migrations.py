"""Migrations on every engine: once, however many processes try; refused where the database is not ours to touch."""

import asyncio
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import adapters
from adapters import open_storage
from adapters.sql.engine import Transaction
from adapters.sql.index import BLOCK_POSTINGS
from adapters.sql.storage import SqlStorage
from contracts.errors import RuntimeNotReady
from contracts.scopes import CreateScopeRequest
from tests.engines.content import found, remember

ROOT = Path(adapters.__file__).parent.parent
MIGRATE = """
import asyncio, sys
from adapters import open_storage
async def main():
    storage = await open_storage(sys.argv[1])
    try:
        print(len(await storage.migrate()))
        page, cursor = await storage.scopes.list(visible=None, query="", limit=1, cursor=None)
    finally:
        await storage.close()
asyncio.run(main())
"""

DIE_WHILE_MIGRATING = """
import asyncio, importlib, os, signal, sys
from adapters import open_storage
module = importlib.import_module(f"adapters.{sys.argv[2]}.migrate")
module.missing = lambda *arguments: os.kill(os.getpid(), signal.SIGKILL)
async def main():
    await (await open_storage(sys.argv[1])).migrate()
asyncio.run(main())
"""


async def test_four_processes_that_migrate_at_once_run_each_migration_once(empty_database: Callable[[], str]) -> None:
    url = empty_database()
    started = [
        await asyncio.create_subprocess_exec(
            sys.executable, "-c", MIGRATE, url, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        for _ in range(4)
    ]
    said = [await process.communicate() for process in started]
    assert [process.returncode for process in started] == [0] * 4, said
    storage = await open_storage(url)
    try:
        assert await storage.pending_migrations() == ()
        known = len(storage._known)
        assert sorted(int(output) for output, _ in said) == [0, 0, 0, known]
    finally:
        await storage.close()


async def test_a_process_that_dies_while_it_migrates_does_not_stop_the_next(
    engine: str, empty_database: Callable[[], str]
) -> None:
    url = empty_database()
    dying = await asyncio.create_subprocess_exec(sys.executable, "-c", DIE_WHILE_MIGRATING, url, engine, cwd=ROOT)
    assert await dying.wait() == -signal.SIGKILL
    storage = await open_storage(url)
    try:
        async with asyncio.timeout(20):
            assert len(await storage.migrate()) >= 1
    finally:
        await storage.close()


async def test_all_who_migrate_at_once_share_one_cursor_key(empty_database: Callable[[], str]) -> None:
    """A cursor of one process is good in every other; the last to migrate must not replace the key."""
    url = empty_database()
    storages = [await open_storage(url) for _ in range(3)]
    try:
        await asyncio.gather(*(storage.migrate() for storage in storages))
        for number in range(3):
            await storages[0].scopes.create(CreateScopeRequest(title="t", summary="s", idempotency_key=str(number)))
        for storage in storages:
            _, cursor = await storage.scopes.list(visible=None, query="", limit=1, cursor=None)
            for other in storages:
                page, _ = await other.scopes.list(visible=None, query="", limit=1, cursor=cursor)
                assert len(page) == 1
    finally:
        for storage in storages:
            await storage.close()


async def test_a_database_without_tables_says_to_migrate(empty_database: Callable[[], str]) -> None:
    storage = await open_storage(empty_database())
    try:
        assert len(await storage.pending_migrations()) >= 1
        with pytest.raises(RuntimeNotReady, match="migrate"):
            await storage.check()
        assert "migrate" in (await storage.health.check())["migrations"]
        with pytest.raises(RuntimeNotReady):
            await storage.scopes.get("any")
    finally:
        await storage.close()


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ("UPDATE schema_migration SET sha256 = 'changed' WHERE version = 1", "changed"),
        ("INSERT INTO schema_migration (version, name, sha256, applied_at) VALUES (99, 'n', 'd', 't')", "newer"),
    ],
)
async def test_a_changed_or_newer_schema_is_refused(empty_database: Callable[[], str], change: str, said: str) -> None:
    storage = await open_storage(empty_database())
    try:
        await storage.migrate()
        assert await storage.migrate() == ()

        async def job(transaction: Transaction) -> int:
            return await transaction.execute(change)

        assert await storage.engine.write(job) == 1
        for refused in (storage.check, storage.migrate):
            with pytest.raises(RuntimeNotReady, match=said):
                await refused()
    finally:
        await storage.close()


async def test_the_index_of_the_first_schema_is_found_again_after_migrating(storage: SqlStorage, scope_id: str) -> None:
    """Its tails were block 0 of `posting`; one term here has a sealed block too."""
    texts = [f"needle {number}" for number in range(BLOCK_POSTINGS + 2)]
    for text in texts:
        await remember(storage, scope_id, text)

    async def as_in_the_first_schema(transaction: Transaction) -> None:
        await transaction.execute(
            "INSERT INTO posting (scope, corpus, term, block, n, data)"
            " SELECT scope, corpus, term, 0, n, data FROM posting_tail"
        )
        await transaction.execute("DELETE FROM schema_migration WHERE version = 2")

    async def without_tails(transaction: Transaction) -> None:
        await transaction.fetch("DROP TABLE posting_tail")

    await storage.engine.write(as_in_the_first_schema)
    await storage.engine.write(without_tails)
    assert [migration.version for migration in await storage.migrate()] == [2]
    for text in (texts[0], texts[-1]):
        assert (await found(storage, scope_id, text))[0] == text
    await remember(storage, scope_id, "needle and thread")
    assert len(await found(storage, scope_id, "needle")) > 1
