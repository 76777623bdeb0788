"""Connections to OceanBase: opened when needed, kept while they work, taken by one thread at a time."""

import threading
from typing import Any, Final, Literal, TypeAlias

import pymysql
from pymysql.constants import CLIENT

from adapters.oceanbase.errors import translate_connecting
from adapters.sql.address import ServerAddress
from adapters.sql.attempts import LOCK_WAIT_S
from contracts.errors import RuntimeNotReady

Driver: TypeAlias = "pymysql.Connection[pymysql.cursors.Cursor]"
Isolation: TypeAlias = Literal["READ COMMITTED", "REPEATABLE READ"]

CONNECT_TIMEOUT_S: Final = 3
STATEMENT_TIMEOUT_S: Final = 12
"""After this the server ends a statement by itself; well above the deadline of a recall."""

_SILENCE_S: Final = 3
"""A server that does not even say that a statement took too long is gone after this much more."""


class Connection:
    """One session and the isolation it was last set to; what differs is set by one more round trip."""

    def __init__(self, driver: Driver) -> None:
        self.driver = driver
        self._isolation: Isolation | None = None

    def begin(self, isolation: Isolation) -> None:
        """Let the next statement begin a transaction; without autocommit that costs no round trip.

        START TRANSACTION WITH CONSISTENT SNAPSHOT gives no snapshot under READ COMMITTED, so the isolation does.
        """
        if isolation != self._isolation:
            with self.driver.cursor() as cursor:
                cursor.execute(f"SET SESSION TRANSACTION ISOLATION LEVEL {isolation}")
            self._isolation = isolation

    def close(self) -> None:
        """Close the socket; says nothing to the server, which may be gone."""
        # pymysql's `close` says farewell first, which may block on a dead connection; it has no other public way.
        self.driver._force_close()  # type: ignore[attr-defined]  # noqa: SLF001


class Connections:
    """The idle connections of one engine. All methods may be called from any thread."""

    def __init__(self, address: ServerAddress) -> None:
        self._address = address
        self._lock = threading.Lock()
        self._idle: list[Connection] = []
        self._closed = False

    def take(self) -> Connection:
        """An idle connection, the last one used first, or a new one. Raises RuntimeNotReady."""
        with self._lock:
            if self._closed:
                raise RuntimeNotReady("The storage is closed.")
            if self._idle:
                return self._idle.pop()
        return Connection(connect(self._address))

    def give_back(self, connection: Connection) -> None:
        """Keep a connection that works for the next job."""
        with self._lock:
            if not self._closed:
                self._idle.append(connection)
                return
        connection.close()

    def drop(self, broken: Connection) -> None:
        """Close a connection that broke, and the idle ones: what ended it most likely ended them."""
        with self._lock:
            dropped, self._idle = [broken, *self._idle], []
        for connection in dropped:
            connection.close()

    def close(self) -> None:
        """Close what is idle now and what is given back later."""
        with self._lock:
            self._closed = True
            idle, self._idle = self._idle, []
        for connection in idle:
            connection.driver.close()


def connect(address: ServerAddress, *, patience_s: int | None = None) -> Driver:
    """A session that is strict, counts found rows, and waits a bounded time for statements and for locks.

    patience_s: for both, instead of what suits a request. Raises RuntimeNotReady.
    """
    settings = {
        "ob_query_timeout": (patience_s or STATEMENT_TIMEOUT_S) * 1_000_000,
        "ob_trx_lock_timeout": int((patience_s or LOCK_WAIT_S) * 1_000_000),
        # Cut texts and numbers out of range must be errors, whatever the tenant's default.
        "sql_mode": "'STRICT_ALL_TABLES'",
    }
    arguments: dict[str, Any] = {
        "host": address.host,
        "port": address.port,
        "user": address.user,
        "password": address.password,
        "database": address.database,
        "charset": "utf8mb4",
        # An UPDATE that changes nothing has still found its row.
        "client_flag": CLIENT.FOUND_ROWS,
        "autocommit": False,
        "connect_timeout": CONNECT_TIMEOUT_S,
        "read_timeout": (patience_s or STATEMENT_TIMEOUT_S) + _SILENCE_S,
        "write_timeout": STATEMENT_TIMEOUT_S,
        "init_command": "SET " + ", ".join(f"{name} = {value}" for name, value in settings.items()),
    }
    try:
        return pymysql.connect(**arguments)
    except (pymysql.err.MySQLError, OSError) as error:
        raise translate_connecting(error) from error
