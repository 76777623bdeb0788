"""The PostgreSQL engine: a pool of asyncpg connections, jobs awaited on the event loop.

Scoring runs in the job and so on the loop; the postings budget bounds it to a few milliseconds.

A read is one REPEATABLE READ transaction, which is one snapshot. A write is READ COMMITTED: its first statement locks
the Scope, so what it reads after that is what the writer before it left.
"""

import asyncio
import ssl
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias, TypeVar

import asyncpg

from adapters.postgres.dialect import PostgresDialect, numbered
from adapters.postgres.errors import DRIVER_ERRORS, translate, translate_connecting
from adapters.sql.address import ServerAddress
from adapters.sql.attempts import LOCK_WAIT_S, Slots, with_attempts
from adapters.sql.engine import Row, Transaction, Value
from contracts.errors import RuntimeNotReady

T = TypeVar("T")

CONNECT_TIMEOUT_S: Final = 3.0
STATEMENT_TIMEOUT_S: Final = 12.0
"""After this the server ends a statement by itself; well above the deadline of a recall."""

_SILENCE_S: Final = STATEMENT_TIMEOUT_S + 3
"""A server that does not even say that a statement took too long is gone."""

_ROLLBACK_S: Final = 1.0
_CACHED_STATEMENTS: Final = 512

_SETTINGS: Final = {
    "application_name": "powercontext-sidecar",
    "lock_timeout": str(int(LOCK_WAIT_S * 1000)),
    "statement_timeout": str(int(STATEMENT_TIMEOUT_S * 1000)),
    # A sidecar that froze between two statements must not hold a Scope's lock for ever.
    "idle_in_transaction_session_timeout": "30000",
    # Compiling a query of a few rows costs more than running it.
    "jit": "off",
}

Connection: TypeAlias = "asyncpg.Connection[asyncpg.Record] | asyncpg.pool.PoolConnectionProxy[asyncpg.Record]"
Job = Callable[[Transaction], Coroutine[Any, Any, T]]
_Isolation: TypeAlias = Literal["read_committed", "repeatable_read"]


class PostgresTransaction:
    """A transaction on one connection."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    async def fetch(self, sql: str, *args: Value) -> list[Row]:
        return [tuple(record) for record in await self._connection.fetch(numbered(sql), *args)]

    async def execute(self, sql: str, *args: Value) -> int:
        # The status is a command's name and, last, its number of rows: "INSERT 0 1", "UPDATE 3".
        status = await self._connection.execute(numbered(sql), *args)
        return int(status.rpartition(" ")[2])

    async def execute_many(self, sql: str, rows: Iterable[Sequence[Value]]) -> None:
        listed = list(rows)
        if listed:
            await self._connection.executemany(numbered(sql), listed)


class PostgresEngine:
    """One database of a server."""

    def __init__(self, pool: "asyncpg.Pool[asyncpg.Record]", size: int) -> None:
        self.dialect = PostgresDialect()
        self.last_write_failed = False
        self._pool = pool
        self._slots = Slots(size)

    @classmethod
    async def open(cls, address: ServerAddress, connections: int) -> "PostgresEngine":
        """Open a pool of at most `connections`, one of them at once. Raises RuntimeNotReady with what is wrong."""
        try:
            pool = await asyncpg.create_pool(
                host=address.host,
                port=address.port,
                user=address.user,
                password=address.password or None,
                database=address.database,
                ssl=_ssl(address.options),
                min_size=0,
                max_size=connections,
                timeout=CONNECT_TIMEOUT_S,
                command_timeout=_SILENCE_S,
                statement_cache_size=_CACHED_STATEMENTS,
                server_settings=_SETTINGS,
                # Every transaction here ends itself and none changes its session, so a round trip to reset it is saved.
                reset=_nothing_to_do,
            )
        except DRIVER_ERRORS as error:
            raise translate_connecting(error) from error
        engine = cls(pool, connections)
        try:
            await engine.on_connection(_nothing_to_do)
        except BaseException:
            await engine.close()
            raise
        return engine

    async def scrub(self) -> None:
        """Nothing: the server reclaims what was erased by itself."""

    async def close(self) -> None:
        try:
            async with asyncio.timeout(_SILENCE_S):
                await self._pool.close()
        except TimeoutError:
            self._pool.terminate()

    async def read(self, job: Job[T]) -> T:
        return await self.on_connection(_transaction_of(job, "repeatable_read", readonly=True))

    async def look_up(self, job: Job[T]) -> T:
        # A statement by itself needs no transaction around it, which saves two round trips.
        return await self.on_connection(lambda connection: job(PostgresTransaction(connection)))

    async def write(self, job: Job[T]) -> T:
        try:
            result = await self.on_connection(_transaction_of(job, "read_committed", readonly=False))
        except RuntimeNotReady:
            self.last_write_failed = True
            raise
        self.last_write_failed = False
        return result

    async def on_connection(self, function: Callable[[Connection], Awaitable[T]]) -> T:
        """What `function` returns on one connection; it is a whole transaction by itself (migrations)."""
        return await with_attempts(lambda: self._once(function))

    async def _once(self, function: Callable[[Connection], Awaitable[T]]) -> T:
        await self._slots.take()
        try:
            connection = await self._acquire()
            try:
                return await function(connection)
            except DRIVER_ERRORS as error:
                translated = translate(error, connected=_is_open(connection), committing=False)
                if translated is error:
                    raise
                raise translated from error
            finally:
                await self._release(connection)
        finally:
            self._slots.give_back()

    async def _acquire(self) -> Connection:
        """A live connection; a broken one is replaced. Raises RuntimeNotReady."""
        try:
            return await self._pool.acquire(timeout=CONNECT_TIMEOUT_S)
        except asyncpg.InterfaceError as error:
            raise RuntimeNotReady("The storage is closed.") from error
        except DRIVER_ERRORS as error:
            raise translate_connecting(error) from error

    async def _release(self, connection: Connection) -> None:
        # What fails here closes the connection, and the pool opens another when it is needed.
        with suppress(*DRIVER_ERRORS):
            await self._pool.release(connection, timeout=_ROLLBACK_S)  # type: ignore[arg-type]  # it came from this pool


def _transaction_of(
    job: Job[T], isolation: _Isolation, *, readonly: bool
) -> Callable[[Connection], Coroutine[Any, Any, T]]:
    """What runs the job in one transaction on a connection; whatever it raises rolls back."""

    async def run(connection: Connection) -> T:
        transaction = connection.transaction(isolation=isolation, readonly=readonly)
        await transaction.start()
        try:
            result = await job(PostgresTransaction(connection))
        except BaseException:
            await _roll_back(connection, transaction)
            raise
        try:
            await transaction.commit()
        except DRIVER_ERRORS as error:
            raise translate(error, connected=_is_open(connection), committing=not readonly) from error
        return result

    return run


async def _roll_back(connection: Connection, transaction: asyncpg.transaction.Transaction) -> None:
    """Undo; a connection on which that fails or hangs is dropped, which undoes as well."""
    try:
        async with asyncio.timeout(_ROLLBACK_S):
            await transaction.rollback()
    except DRIVER_ERRORS:
        with suppress(asyncpg.InterfaceError):  # the pool has let go of it already
            connection.terminate()


def _is_open(connection: Connection) -> bool:
    try:
        return not connection.is_closed()
    except asyncpg.InterfaceError:  # the pool has let go of it
        return False


async def _nothing_to_do(connection: Connection) -> None:
    pass


def _ssl(options: Mapping[str, str]) -> Any:
    """What asyncpg takes as `ssl`. Raises RuntimeNotReady where the file of root certificates does not exist."""
    mode = options.get("sslmode", "prefer")
    root = options.get("sslrootcert")
    if root is None or mode not in ("verify-ca", "verify-full"):
        return mode
    if not Path(root).is_file():
        raise RuntimeNotReady("The file of sslrootcert does not exist.")
    context = ssl.create_default_context(cafile=root)
    context.check_hostname = mode == "verify-full"
    return context
