"""The SQLite engine: one writer and one reader connection, each with its own thread (aiosqlite), and one for the loop.

sqlite3 releases the GIL at every row, so threads fight for it: measured, one reader thread that takes a whole
job per hop serves more requests than several that take a statement each. Reads that are asked for in the same turn
of the event loop (the legs of one recall) share one hop. A look-up of a row takes 10 microseconds where the hop takes
80, so look-ups are made on the event loop, on a connection that never waits for a lock.

aiosqlite has no public way to run a function on its thread; `_execute` is what all its public methods call, and
its version is pinned for that.
"""

import asyncio
import os
import sqlite3
from collections.abc import Callable, Coroutine, Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

import aiosqlite

from adapters.sql.engine import Row, Transaction, UniqueViolation, Value, run_to_end
from adapters.sqlite.vectors import SqliteVectors
from contracts.errors import ContextError, RuntimeNotReady

T = TypeVar("T")

BUSY_TIMEOUT_MS = 5000
"""How long a writer waits for a writer of another process before the request is told to try again."""

# secure_delete: erased text must not survive in free pages. synchronous FULL: acknowledged writes survive a power cut.
_PRAGMAS = (
    f"PRAGMA busy_timeout = {BUSY_TIMEOUT_MS}",
    "PRAGMA journal_mode = WAL",
    "PRAGMA synchronous = FULL",
    "PRAGMA foreign_keys = ON",
    "PRAGMA secure_delete = ON",
    "PRAGMA temp_store = MEMORY",
)


class SqliteDialect:
    """SQLite's fragments. Writers are serial (BEGIN IMMEDIATE), so no row is ever locked by itself."""

    name = "sqlite"
    for_update = ""
    vectors = SqliteVectors()

    def upsert(self, table: str, key: Sequence[str], values: Sequence[str]) -> str:
        columns = ", ".join([*key, *values])
        marks = ", ".join("?" * (len(key) + len(values)))
        updates = ", ".join(f"{column} = excluded.{column}" for column in values)
        return (
            f"INSERT INTO {table} ({columns}) VALUES ({marks}) ON CONFLICT ({', '.join(key)}) DO UPDATE SET {updates}"
        )


class SqliteTransaction:
    """A transaction on one connection, used only on that connection's thread. Its methods never suspend."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    async def fetch(self, sql: str, *args: Value) -> list[Row]:
        return self._connection.execute(sql, args).fetchall()

    async def execute(self, sql: str, *args: Value) -> int:
        return self._connection.execute(sql, args).rowcount

    async def execute_many(self, sql: str, rows: Iterable[Sequence[Value]]) -> None:
        self._connection.executemany(sql, rows)


Job = Callable[[Transaction], Coroutine[Any, Any, T]]


class SqliteEngine:
    """One database file."""

    def __init__(
        self, path: Path, writer: aiosqlite.Connection, reader: aiosqlite.Connection, on_loop: sqlite3.Connection
    ) -> None:
        self.path = path
        self.dialect = SqliteDialect()
        self._writer = writer
        self._reader = reader
        self._on_loop = on_loop
        self._waiting: list[tuple[Job[Any], asyncio.Future[Any]]] = []
        self._batches: set[asyncio.Task[None]] = set()
        self._write_failed = False
        self._file = _identity(path)

    @property
    def last_write_failed(self) -> bool:
        """As the protocol says; a file that was moved or deleted counts before anybody writes to it."""
        return self._write_failed or not self._in_place()

    @classmethod
    async def open(cls, path: Path) -> "SqliteEngine":
        """Open or create the file. Raises RuntimeNotReady with what is wrong: not a database, damaged, read-only."""
        connections: list[aiosqlite.Connection] = []
        _create_private(path)
        try:
            for _ in range(2):
                connection = await _connected(path)
                connections.append(connection)
                for pragma in _PRAGMAS:
                    await connection.execute_fetchall(pragma)
            on_loop = sqlite3.connect(path, timeout=0, isolation_level=None)
        except sqlite3.Error as error:
            for connection in connections:
                await connection.close()
            raise _not_ready(error) from error
        return cls(path, connections[0], connections[1], on_loop)

    async def close(self) -> None:
        if self._batches:
            await asyncio.wait(self._batches)
        self._on_loop.close()
        await self._reader.close()
        await self._writer.close()

    async def read(self, job: Job[T]) -> T:
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[T] = loop.create_future()
        if not self._waiting:
            loop.call_soon(self._send_batch)
        self._waiting.append((job, answer))
        return await answer

    async def look_up(self, job: Job[T]) -> T:
        try:
            return run_to_end(job(SqliteTransaction(self._on_loop)))
        except sqlite3.Error:
            # Locked for a moment, closed or damaged: the reader waits for it or says what is wrong.
            return await self.read(job)

    async def write(self, job: Job[T]) -> T:
        def run(connection: sqlite3.Connection) -> T:
            if not self._in_place():
                # SQLite would go on writing into a file that no name leads to, and every write would be lost.
                raise RuntimeNotReady("The database file was moved, replaced or deleted; restart the service.")
            return _transact(connection, "BEGIN IMMEDIATE", job)

        try:
            result = await self.on_writer(run)
        except RuntimeNotReady:
            self._write_failed = True
            raise
        self._write_failed = False
        return result

    async def scrub(self) -> None:
        """Rewrite the file and empty its log, so that erased bytes are in neither. Raises RuntimeNotReady.

        `secure_delete` overwrites what is deleted, but when rows move between pages their old copies stay behind in
        the unused part of the page they left (measured: copies of a few in a hundred erased rows). Only VACUUM is rid
        of those. It costs one to two seconds for each 100 MB and keeps other writers waiting; erasures are rare.
        """
        try:
            await self.on_writer(_scrub)
        except RuntimeNotReady as error:
            raise RuntimeNotReady(
                "What was erased is out of every answer, but its bytes are still in the database file;"
                f" any further erasure takes them out. {error.message}"
            ) from error

    async def on_writer(self, function: Callable[[sqlite3.Connection], T]) -> T:
        """Run `function` on the writer's thread, outside any transaction (migrations, checkpoints, backup)."""
        result: T = await _translated(_on_thread(self._writer, function))
        return result

    def _in_place(self) -> bool:
        return _identity(self.path) == self._file

    def _send_batch(self) -> None:
        batch, self._waiting = self._waiting, []
        task = asyncio.get_running_loop().create_task(self._run_batch(batch))
        self._batches.add(task)
        task.add_done_callback(self._batches.discard)

    async def _run_batch(self, batch: list[tuple[Job[Any], asyncio.Future[Any]]]) -> None:
        """Run the jobs of one turn in one hop and hand each its result or its own error."""
        try:
            outcomes = await _on_thread(self._reader, _run_jobs, batch)
        except Exception as error:  # noqa: BLE001  # the connection is gone: everyone who waits hears of it
            outcomes = [error] * len(batch)
        for (_, answer), outcome in zip(batch, outcomes, strict=True):
            if answer.done():
                continue
            if isinstance(outcome, Exception):
                answer.set_exception(_translate(outcome))
            else:
                answer.set_result(outcome[0])


def _create_private(path: Path) -> None:
    """Make a new file that only its owner reads: it holds what agents learned. Files beside it inherit that.

    A file that is there is never opened here: closing it would drop the locks that SQLite holds on it in this process.
    """
    with suppress(OSError):  # it is there, or SQLite says better what is wrong with the place
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR | os.O_CLOEXEC, 0o600))


def _identity(path: Path) -> tuple[int, int] | None:
    """Device and inode of the file; None where there is none."""
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_dev, status.st_ino


async def _connected(path: Path) -> aiosqlite.Connection:
    """A connection with its thread. Raises sqlite3.Error."""
    connecting = aiosqlite.connect(path, isolation_level=None, cached_statements=512)
    try:
        return await connecting
    except sqlite3.Error:
        # aiosqlite tells its thread to stop but does not wait: it would answer to an event loop that has ended.
        await asyncio.to_thread(connecting._thread.join, 1)  # noqa: SLF001  # no public way
        raise


async def _on_thread(connection: aiosqlite.Connection, function: Callable[..., T], *args: Any) -> T:
    """Run `function` on the thread that owns `connection`, with sqlite3's connection as its first argument."""
    execute: Callable[..., Coroutine[Any, Any, T]] = connection._execute  # noqa: SLF001  # see the module's head
    return await execute(function, connection._conn, *args)  # noqa: SLF001


def _run_jobs(connection: sqlite3.Connection, batch: list[tuple[Job[Any], asyncio.Future[Any]]]) -> list[Any]:
    """For each job a one-tuple of its result or the exception that it raised; abandoned jobs are not run."""
    outcomes: list[Any] = []
    for job, answer in batch:
        try:
            outcomes.append((None,) if answer.done() else (_transact(connection, "BEGIN", job),))
        except Exception as error:  # noqa: BLE001  # handed to the one who asked
            outcomes.append(error)
    return outcomes


def _transact(connection: sqlite3.Connection, begin: str, job: Job[T]) -> T:
    """Run one job between BEGIN and COMMIT; whatever it raises rolls back."""
    connection.execute(begin)
    try:
        result = run_to_end(job(SqliteTransaction(connection)))
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise
    return result


def _scrub(connection: sqlite3.Connection) -> None:
    connection.execute("PRAGMA temp_store = FILE")  # the copy that VACUUM makes may be larger than memory
    try:
        connection.execute("VACUUM")
    finally:
        connection.execute("PRAGMA temp_store = MEMORY")
    (busy, _, _) = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
    if busy:
        raise RuntimeNotReady("Another process still reads the database.")


async def _translated(awaitable: Coroutine[Any, Any, T]) -> T:
    try:
        return await awaitable
    except Exception as error:
        translated = _translate(error)
        if translated is error:
            raise
        raise translated from error


def _translate(error: Exception) -> Exception:
    """Our error for one of the driver, by its code; any other exception as it is."""
    if isinstance(error, ContextError):
        return error
    if isinstance(error, sqlite3.IntegrityError):
        code = getattr(error, "sqlite_errorcode", None)
        if code in (sqlite3.SQLITE_CONSTRAINT_UNIQUE, sqlite3.SQLITE_CONSTRAINT_PRIMARYKEY):
            return _caused(UniqueViolation(), error)
    elif isinstance(error, sqlite3.ProgrammingError | sqlite3.InterfaceError):
        return error
    elif isinstance(error, sqlite3.Error):
        return _caused(_not_ready(error), error)
    elif isinstance(error, ValueError) and str(error) in ("Connection closed", "no active connection"):
        return _caused(RuntimeNotReady("The storage is closed."), error)
    return error


def _caused(error: Exception, cause: Exception) -> Exception:
    error.__cause__ = cause
    return error


def _not_ready(error: sqlite3.Error) -> RuntimeNotReady:
    """What a person can do about it; the path and the driver's words stay in the log."""
    code = (getattr(error, "sqlite_errorcode", None) or 0) & 0xFF
    message = {
        sqlite3.SQLITE_BUSY: "Another process holds the database's write lock; try again.",
        sqlite3.SQLITE_LOCKED: "The database is locked; try again.",
        sqlite3.SQLITE_READONLY: "The database file or its folder is read-only; make both writable.",
        sqlite3.SQLITE_FULL: "The disk of the database is full.",
        sqlite3.SQLITE_IOERR: "The database file cannot be read or written.",
        sqlite3.SQLITE_CANTOPEN: "The database file cannot be opened; check that its folder exists and is writable.",
        sqlite3.SQLITE_NOTADB: "The database file is not an SQLite database; restore it or name another file.",
        sqlite3.SQLITE_CORRUPT: "The database file is damaged; restore it from a backup.",
    }.get(code)
    return RuntimeNotReady(message)
