"""The OceanBase engine: pymysql connections, each used by one thread of the engine's own executor at a time.

pymysql blocks, so a whole job runs in one hop to a thread. The executor is the engine's own: a slow database must not
hold up the threads that render.

A read is one REPEATABLE READ transaction, which is one snapshot. A write is READ COMMITTED: its first statement locks
the Scope, so what it reads after that is what the writer before it left.
"""

import asyncio
from collections.abc import Callable, Coroutine, Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, TypeVar

import pymysql.err

from adapters.oceanbase.connections import Connection, Connections, Driver, Isolation
from adapters.oceanbase.dialect import OceanBaseDialect, formatted
from adapters.oceanbase.errors import connection_lost, translate
from adapters.sql.address import ServerAddress
from adapters.sql.attempts import Slots, with_attempts
from adapters.sql.engine import Row, Transaction, Value, run_to_end
from contracts.errors import RuntimeNotReady

T = TypeVar("T")
Job = Callable[[Transaction], Coroutine[Any, Any, T]]


class OceanBaseTransaction:
    """A transaction on one connection, used only by the thread that took it. Its methods never suspend."""

    def __init__(self, driver: Driver) -> None:
        self._driver = driver

    async def fetch(self, sql: str, *args: Value) -> list[Row]:
        with self._driver.cursor() as cursor:
            cursor.execute(formatted(sql), args)
            return list(cursor.fetchall())

    async def execute(self, sql: str, *args: Value) -> int:
        with self._driver.cursor() as cursor:
            return cursor.execute(formatted(sql), args)

    async def execute_many(self, sql: str, rows: Iterable[Sequence[Value]]) -> None:
        # pymysql joins the rows of an INSERT into statements of at most 1 MB, far below max_allowed_packet (16 MiB).
        with self._driver.cursor() as cursor:
            cursor.executemany(formatted(sql), rows)


class OceanBaseEngine:
    """One database of a tenant."""

    def __init__(self, address: ServerAddress, connections: int) -> None:
        self.address = address
        self.dialect = OceanBaseDialect()
        self.last_write_failed = False
        self._connections = Connections(address)
        self._executor = ThreadPoolExecutor(connections, thread_name_prefix="oceanbase")
        self._slots = Slots(connections)

    @classmethod
    async def open(cls, address: ServerAddress, connections: int) -> "OceanBaseEngine":
        """Open with one connection and at most `connections` later. Raises RuntimeNotReady with what is wrong."""
        engine = cls(address, connections)
        try:
            await engine.in_thread(engine._connect_once)
        except BaseException:
            await engine.close()
            raise
        return engine

    async def scrub(self) -> None:
        """Nothing: the server reclaims what was erased by itself."""

    async def close(self) -> None:
        self._connections.close()
        await asyncio.get_running_loop().run_in_executor(None, self._executor.shutdown)

    async def read(self, job: Job[T]) -> T:
        return await with_attempts(lambda: self.in_thread(lambda: self._transact("REPEATABLE READ", job)))

    async def look_up(self, job: Job[T]) -> T:
        return await self.read(job)

    async def write(self, job: Job[T]) -> T:
        try:
            result = await with_attempts(lambda: self.in_thread(lambda: self._transact("READ COMMITTED", job)))
        except RuntimeNotReady:
            self.last_write_failed = True
            raise
        self.last_write_failed = False
        return result

    async def in_thread(self, function: Callable[[], T]) -> T:
        """What `function` returns in a thread of this engine. Raises RuntimeNotReady when none becomes free in time."""
        await self._slots.take()
        loop = asyncio.get_running_loop()
        try:
            future = self._executor.submit(function)
        except RuntimeError as error:  # shut down
            self._slots.give_back()
            raise RuntimeNotReady("The storage is closed.") from error

        def finished(_: Future[T]) -> None:
            loop.call_soon_threadsafe(self._slots.give_back)

        # Not when the caller leaves: one that is cancelled goes at once, but its statement runs on.
        future.add_done_callback(finished)
        return await asyncio.wrap_future(future)

    def _connect_once(self) -> None:
        self._connections.give_back(self._connections.take())

    def _transact(self, isolation: Isolation, job: Job[T]) -> T:
        """Run one job in one transaction; whatever it raises rolls back."""
        connection = self._connections.take()
        committing = False
        try:
            connection.begin(isolation)
            result = run_to_end(job(OceanBaseTransaction(connection.driver)))
            committing = isolation == "READ COMMITTED"
            connection.driver.commit()
        except BaseException as error:
            self._undo(connection, error)
            if not isinstance(error, Exception):
                raise
            translated = translate(error, committing=committing)
            if translated is error:
                raise
            raise translated from error
        self._connections.give_back(connection)
        return result

    def _undo(self, connection: Connection, error: BaseException) -> None:
        """Roll back and keep the connection, or drop one on which that is not possible."""
        if not connection_lost(error):
            try:
                connection.driver.rollback()
            except (pymysql.err.MySQLError, OSError):
                pass
            else:
                self._connections.give_back(connection)
                return
        self._connections.drop(connection)
