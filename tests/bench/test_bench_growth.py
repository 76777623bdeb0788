"""What a write does must not grow with the Scope. Counted in steps of SQLite's virtual machine, so that neither the
machine nor what else runs on it decides.
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

from adapters.sql.storage import SqlStorage
from bench.data import Entry, entries
from bench.fill import fill_in_process, new_storage

FEW, MANY = 100, 1_000


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("growth")


@asynccontextmanager
async def filled(folder: Path, count: int) -> AsyncIterator[SqlStorage]:
    """A database with one Scope `s` of `count` entries."""
    path = folder / f"{count}.db"
    is_new = not path.exists()
    storage = await new_storage(path)
    try:
        if is_new:
            await fill_in_process(storage, "s", entries(seed=1), count)
        yield storage
    finally:
        await storage.close()


async def writing_steps(storage: SqlStorage, write: Callable[[], Awaitable[object]]) -> int:
    """How many hundreds of steps the writer's connection takes for `write`."""
    steps = 0

    def count() -> int:
        nonlocal steps
        steps += 1
        return 0

    engine: Any = storage.engine  # SQLite's, whose writer is reached by no port
    await engine.on_writer(lambda connection: connection.set_progress_handler(count, 100))
    await write()
    await engine.on_writer(lambda connection: connection.set_progress_handler(None, 0))
    return steps


async def steps_of_remembering(storage: SqlStorage, texts: Iterator[Entry]) -> int:
    async def write() -> None:
        for entry in islice(texts, 10):
            await storage.memory.remember("s", kind=entry.kind, text=entry.text, reason=None, expected_revision=None)

    return await writing_steps(storage, write)


async def test_remember_takes_no_more_steps_in_a_large_scope(folder: Path) -> None:
    steps = {}
    for count in (FEW, MANY):
        async with filled(folder, count) as storage:
            steps[count] = await steps_of_remembering(storage, entries(seed=99))
    assert 0 < steps[MANY] <= 1.2 * steps[FEW]


async def test_remembering_what_is_there_takes_no_more_steps_in_a_large_scope(folder: Path) -> None:
    steps = {}
    for count in (FEW, MANY):
        async with filled(folder, count) as storage:
            known = list(islice(entries(seed=1), count - 50, count))

            async def write(storage: SqlStorage = storage, known: list[Entry] = known) -> None:
                for entry in known:
                    answer = await storage.memory.remember(
                        "s", kind=entry.kind, text=entry.text, reason=None, expected_revision=None
                    )
                    assert answer.entry is None

            steps[count] = await writing_steps(storage, write)
    assert 0 < steps[MANY] <= 1.2 * steps[FEW]
