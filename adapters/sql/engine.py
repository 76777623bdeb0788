"""What the queries need from an engine: snapshots, transactions and the few fragments in which dialects differ.

A *job* is an `async def` function that takes a transaction and awaits nothing but that transaction. Engines whose
driver blocks (SQLite, pymysql) therefore run a whole job in one thread hop, by driving the coroutine there; engines
with an asynchronous driver await it on the loop. Either way one text of the job serves all.
"""

from bisect import bisect_left
from collections.abc import Callable, Coroutine, Iterable, Iterator, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, TypeVar

if TYPE_CHECKING:
    from adapters.sql.vectors import Vectors

Value: TypeAlias = None | int | float | str | bytes
Row: TypeAlias = tuple[Any, ...]
T = TypeVar("T")

IN_LIST_SIZES = (1, 2, 4, 8, 16, 24, 32, 40, 48, 64, 128, 256, 512, 1024)
"""Lengths to which IN lists are padded, so that engines see few distinct statements and keep their plans."""


class Transaction(Protocol):
    """One open transaction. Queries use `?` for parameters and list their columns."""

    async def fetch(self, sql: str, *args: Value) -> list[Row]:
        """All rows of a SELECT."""
        ...

    async def execute(self, sql: str, *args: Value) -> int:
        """The number of rows that an INSERT, UPDATE or DELETE touched."""
        ...

    async def execute_many(self, sql: str, rows: Iterable[Sequence[Value]]) -> None:
        """The same statement for each row, in order."""
        ...


class Dialect(Protocol):
    """The fragments of SQL that differ."""

    name: str
    for_update: str
    """Appended to a SELECT so that its rows stay locked until the transaction ends; empty where writers are serial."""

    @property
    def vectors(self) -> "Vectors": ...

    def upsert(self, table: str, key: Sequence[str], values: Sequence[str]) -> str:
        """INSERT of `key` + `values` that overwrites `values` where the key exists."""
        ...


class Engine(Protocol):
    """One database. Raises `RuntimeNotReady` where it cannot answer and `UniqueViolation` where a key is taken."""

    @property
    def dialect(self) -> Dialect: ...

    @property
    def last_write_failed(self) -> bool:
        """Whether the last write met a storage that could not take it; `/health/ready` tries again then."""
        ...

    async def read(self, job: Callable[[Transaction], Coroutine[Any, Any, T]]) -> T:
        """Run `job` on one snapshot."""
        ...

    async def look_up(self, job: Callable[[Transaction], Coroutine[Any, Any, T]]) -> T:
        """Run `job`, which makes a single SELECT of few rows by their key; cheaper than a snapshot for several."""
        ...

    async def write(self, job: Callable[[Transaction], Coroutine[Any, Any, T]]) -> T:
        """Run `job` in one transaction, durable when this returns.

        A job that lost against another writer is run again a bounded number of times, so it must not keep state.
        """
        ...

    async def scrub(self) -> None:
        """Remove from the engine's own files what committed writes have erased; asked for after every erasure.

        A database server keeps its files, backups and replicas itself, so engines on a server do nothing.
        """
        ...

    async def close(self) -> None: ...


class UniqueViolation(Exception):
    """An INSERT met a key that is taken. Never leaves `adapters`."""


def run_to_end(job: Coroutine[Any, Any, T]) -> T:
    """Drive a job whose transaction never suspends. Raises RuntimeError when it awaited something else."""
    try:
        job.send(None)
    except StopIteration as stop:
        result: T = stop.value
        return result
    job.close()
    raise RuntimeError("a storage job awaited something other than its transaction")


async def fetch_in(transaction: Transaction, sql: str, args: Sequence[Value], values: Sequence[Value]) -> list[Row]:
    """Rows of `sql`, which ends in `IN (…)` and takes `args` before the list, for all `values`.

    `…` stands for the list. Values go in chunks padded by repetition; the order of rows is that of the chunks.
    """
    rows: list[Row] = []
    for chunk in _padded_chunks(values):
        rows += await transaction.fetch(_with_marks(sql, len(chunk)), *args, *chunk)
    return rows


async def execute_in(transaction: Transaction, sql: str, args: Sequence[Value], values: Sequence[Value]) -> None:
    """As `fetch_in`, for a DELETE: one statement for many rows, where `execute_many` may take a round trip for each."""
    for chunk in _padded_chunks(values):
        await transaction.execute(_with_marks(sql, len(chunk)), *args, *chunk)


def _padded_chunks(values: Sequence[Value]) -> Iterator[list[Value]]:
    largest = IN_LIST_SIZES[-1]
    for start in range(0, len(values), largest):
        chunk = list(values[start : start + largest])
        size = IN_LIST_SIZES[bisect_left(IN_LIST_SIZES, len(chunk))]
        yield chunk + [chunk[-1]] * (size - len(chunk))


# Kept, because drivers find a statement by its text: the hash of the same object is known.
@lru_cache(maxsize=512)
def _with_marks(sql: str, count: int) -> str:
    return sql.replace("…", ",".join("?" * count))
