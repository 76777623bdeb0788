"""Servers that die, locks that are held, connections that run out: bounded waits, honest errors, quick recovery."""

import asyncio
import threading
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from adapters import open_storage
from adapters.sql import attempts
from adapters.sql.engine import Transaction, UniqueViolation
from adapters.sql.scopes import lock_scope
from adapters.sql.storage import SqlStorage
from contracts.errors import RuntimeNotReady
from tests.engines.conftest import OpenStorage
from tests.engines.content import found, remember, remembered
from tests.engines.servers import DatabaseServer

RECOVERS_WITHIN_S = 5.0
on_servers = pytest.mark.parametrize(
    "engine",
    [pytest.param("postgres", marks=pytest.mark.postgres), pytest.param("oceanbase", marks=pytest.mark.oceanbase)],
    indirect=True,
    scope="module",
)


@asynccontextmanager
async def scope_locked_elsewhere(url: str, scope_id: str) -> AsyncIterator[threading.Event]:
    """Another process holds the Scope's lock until the event is set or the block ends."""
    locked, release = threading.Event(), threading.Event()

    async def hold() -> None:
        other = await open_storage(url)

        async def job(transaction: Transaction) -> None:
            await lock_scope(transaction, other.engine.dialect.for_update, scope_id)
            locked.set()
            release.wait(30)

        await other.engine.write(job)
        await other.close()

    holder = threading.Thread(target=lambda: asyncio.run(hold()))
    holder.start()
    try:
        assert await asyncio.to_thread(locked.wait, 20)
        yield release
    finally:
        release.set()
        await asyncio.to_thread(holder.join)


def sleeping(engine: str, seconds: float) -> str:
    return f"SELECT pg_sleep({seconds})" if engine == "postgres" else f"SELECT SLEEP({seconds})"


async def sleep_in_database(storage: SqlStorage, seconds: float) -> None:
    """Keep one connection busy."""

    async def job(transaction: Transaction) -> None:
        await transaction.fetch(sleeping(storage.engine.dialect.name, seconds))

    await storage.engine.read(job)


@pytest.mark.slow
@on_servers
async def test_a_server_killed_under_load_loses_nothing_acknowledged(
    engine: str, server: DatabaseServer, storage: SqlStorage, scope_id: str
) -> None:
    acknowledged: list[str] = []
    refusals = 0
    stopped = asyncio.Event()

    async def write(writer: int) -> None:
        nonlocal refusals
        number = 0
        while not stopped.is_set():
            text = f"written by {writer} as {number}"
            number += 1
            try:
                await remember(storage, scope_id, text)
            except RuntimeNotReady:
                refusals += 1
                await asyncio.sleep(0.05)
            else:
                acknowledged.append(text)

    async def read() -> None:
        while not stopped.is_set():
            try:
                await storage.memory.search(scope_id, "written", 5)
            except RuntimeNotReady:
                await asyncio.sleep(0.05)

    load = [asyncio.create_task(work) for work in (*(write(number) for number in range(3)), read(), read(), read())]
    try:
        await asyncio.sleep(1)
        before = len(acknowledged)
        await asyncio.to_thread(server.kill)
        await asyncio.sleep(0.5)
        asked = time.monotonic()
        with pytest.raises(RuntimeNotReady):
            await storage.memory.search(scope_id, "written", 5)
        assert time.monotonic() - asked < RECOVERS_WITHIN_S
        assert (await storage.health.check())["database"] != "ok"
    finally:
        await asyncio.to_thread(server.start)
    returned = time.monotonic()
    at_return = len(acknowledged)
    while len(acknowledged) < at_return + 3:
        assert time.monotonic() - returned < RECOVERS_WITHIN_S
        await asyncio.sleep(0.05)
    stopped.set()
    await asyncio.gather(*load)
    assert before > 0
    assert refusals > 0
    await assert_all_there(storage, scope_id, acknowledged)
    assert set((await storage.health.check()).values()) == {"ok"}


async def assert_all_there(storage: SqlStorage, scope_id: str, acknowledged: list[str]) -> None:
    """Stored, searchable, and in a history without a gap."""
    _, entries, _ = await storage.memory.entries(scope_id, include_inactive=False, limit=None, cursor=None)
    assert set(acknowledged) <= {entry.text for entry in entries}
    history = await storage.memory.changes(scope_id, 0)
    assert [group.memory_ref.revision for group in history.revisions] == list(range(1, len(entries) + 1))
    for text in acknowledged[:: max(len(acknowledged) // 8, 1)]:
        assert text in await found(storage, scope_id, text, 50)


@on_servers
async def test_broken_connections_of_the_pool_are_replaced_without_a_failed_request(
    engine: str, server: DatabaseServer, storage: SqlStorage, scope_id: str
) -> None:
    await remember(storage, scope_id, "needle")
    await asyncio.gather(*(sleep_in_database(storage, 0.2) for _ in range(4)))  # four idle connections
    await asyncio.to_thread(server.break_connections)
    await asyncio.sleep(0.2)
    searches = [found(storage, scope_id, "needle") for _ in range(8)]
    writes = [remember(storage, scope_id, f"after {number}") for number in range(4)]
    results = await asyncio.gather(*searches, *writes)
    assert results[:8] == [["needle"]] * 8
    assert (await storage.memory.changes(scope_id, None)).memory is not None
    assert len((await storage.memory.entries(scope_id, include_inactive=False, limit=None, cursor=None))[1]) == 5


async def test_a_held_lock_ends_in_a_bounded_wait_and_readers_go_on(
    database_url: str, storage: SqlStorage, scope_id: str
) -> None:
    await remember(storage, scope_id, "needle")
    async with scope_locked_elsewhere(database_url, scope_id):
        asked = time.monotonic()
        assert await found(storage, scope_id, "needle") == ["needle"]
        assert time.monotonic() - asked < 2
        with pytest.raises(RuntimeNotReady) as refused:
            await remember(storage, scope_id, "never stored")
        assert time.monotonic() - asked < attempts.RETRY_FOR_S + attempts.LOCK_WAIT_S + 2
        assert refused.value.headers["Retry-After"].isdigit()
    assert (await remember(storage, scope_id, "stored after")).memory.revision == 2
    assert (await storage.health.check())["writes"] == "ok"


async def test_a_lock_that_is_released_soon_only_delays(database_url: str, storage: SqlStorage, scope_id: str) -> None:
    async with scope_locked_elsewhere(database_url, scope_id) as release:
        asyncio.get_running_loop().call_later(0.7, release.set)
        written = await remember(storage, scope_id, "waited")
    assert written.memory.revision == 1


@on_servers
async def test_a_request_for_which_no_connection_becomes_free_is_told_when_to_come_back(
    engine: str, database_url: str, scope_id: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(attempts, "SLOT_WAIT_S", 0.5)
    storage = await open_storage(database_url, connections=2)
    try:
        busy = [asyncio.create_task(sleep_in_database(storage, 2)) for _ in range(2)]
        await asyncio.sleep(0.1)
        asked = time.monotonic()
        results = await asyncio.gather(
            found(storage, scope_id, "x"), remember(storage, scope_id, "x"), return_exceptions=True
        )
        assert 0.4 < time.monotonic() - asked < 1.8
        for refused in results:
            assert isinstance(refused, RuntimeNotReady)
            assert int(refused.headers["Retry-After"]) >= 1
        await asyncio.gather(*busy)
        assert (await remember(storage, scope_id, "x")).memory.revision == 1
    finally:
        await storage.close()


@on_servers
async def test_callers_that_leave_take_no_connection_with_them(engine: str, storage: SqlStorage, scope_id: str) -> None:
    for _ in range(2):
        busy = [asyncio.create_task(sleep_in_database(storage, 1)) for _ in range(6)]
        await asyncio.sleep(0.2)
        for task in busy:
            task.cancel()
        ended = await asyncio.gather(*busy, return_exceptions=True)
        assert all(isinstance(end, asyncio.CancelledError) for end in ended)
    results = await asyncio.gather(*(remember(storage, scope_id, f"text {number}") for number in range(6)))
    assert sorted(result.memory.revision for result in results) == [1, 2, 3, 4, 5, 6]


async def test_a_job_that_fails_leaves_nothing_behind(storage: SqlStorage, scope_id: str) -> None:
    async def job(transaction: Transaction) -> None:
        await lock_scope(transaction, storage.engine.dialect.for_update, scope_id)
        await transaction.execute("UPDATE scope SET title = ? WHERE ident = ?", "half done", scope_id.encode())
        raise ValueError("a bug")

    with pytest.raises(ValueError, match="a bug"):
        await storage.engine.write(job)
    assert (await storage.scopes.get(scope_id)).title == "t"
    assert (await remembered(storage, scope_id, "next")).citation.memory_ref.revision == 1


async def test_a_key_that_is_taken_is_a_unique_violation(storage: SqlStorage) -> None:
    async def job(transaction: Transaction) -> None:
        await transaction.execute("INSERT INTO setting (name, value) VALUES (?, ?)", "cursor_key", b"stolen")

    with pytest.raises(UniqueViolation):
        await storage.engine.write(job)
    await storage.check()


async def test_a_lost_transaction_is_run_again(storage: SqlStorage, scope_id: str, engine: str) -> None:
    """A writer whose first attempt collides sees, in its second, what the other one left."""
    tries: list[int] = []

    async def job(transaction: Transaction) -> int:
        rows = await transaction.fetch("SELECT COUNT(*) FROM setting WHERE name = ?", f"taken {scope_id}")
        tries.append(rows[0][0])
        if len(tries) == 1 and engine != "sqlite":  # SQLite's writers are serial and never collide
            raise attempts.RolledBack
        await transaction.execute("INSERT INTO setting (name, value) VALUES (?, ?)", f"taken {scope_id}", b"1")
        return len(tries)

    assert await storage.engine.write(job) == (1 if engine == "sqlite" else 2)


async def test_a_closed_storage_says_so(open_another: OpenStorage, scope_id: str) -> None:
    storage = await open_another()
    await storage.close()
    with pytest.raises(RuntimeNotReady):
        await found(storage, scope_id, "x")
    with pytest.raises(RuntimeNotReady):
        await remember(storage, scope_id, "x")


@on_servers
async def test_a_database_or_user_that_is_not_there_is_told_as_such(engine: str, server: DatabaseServer) -> None:
    with pytest.raises(RuntimeNotReady, match="does not exist"):
        await open_storage(server.url("no_such_database"))
    with pytest.raises(RuntimeNotReady, match=r"refused the user|does not exist"):
        await open_storage(
            server.url("no_such_database").replace("postgres@", "nobody:pw@").replace("root@", "nobody:pw@")
        )
