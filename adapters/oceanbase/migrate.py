"""Migrations on OceanBase: one idempotent statement at a time, because DDL commits by itself, while a row is locked.

A process that dies half-way leaves tables without the row that says so; the next one runs the file again. The lock is a
row and not GET_LOCK, which seekdb keeps when the connection that took it is gone.
"""

from contextlib import closing
from datetime import UTC, datetime
from typing import Final

import pymysql.err

from adapters.oceanbase.connections import Driver, connect
from adapters.oceanbase.engine import OceanBaseEngine
from adapters.oceanbase.errors import NO_SUCH_TABLE, code_of, translate
from adapters.sql.attempts import with_attempts
from adapters.sql.engine import Transaction
from adapters.sql.migrations import Applied, Migration, missing, packaged

_CREATE: Final = """CREATE TABLE IF NOT EXISTS schema_migration (
    version BIGINT NOT NULL, name VARCHAR(128) NOT NULL, sha256 VARCHAR(64) NOT NULL, applied_at VARCHAR(64) NOT NULL,
    PRIMARY KEY (version)) DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_bin"""

_LOCK_TABLE: Final = "CREATE TABLE IF NOT EXISTS schema_migration_lock (id BIGINT NOT NULL, PRIMARY KEY (id))"

_PATIENCE_S: Final = 600
"""A migration of a large table may take minutes, and so may the wait for another process that runs it."""


class OceanBaseMigrator:
    """`adapters.sql.migrations.Migrator` for one database."""

    def __init__(self, engine: OceanBaseEngine) -> None:
        self._engine = engine
        self.known = packaged("adapters.oceanbase")

    async def applied(self) -> tuple[Applied, ...]:
        async def job(transaction: Transaction) -> tuple[Applied, ...]:
            try:
                rows = await transaction.fetch("SELECT version, sha256 FROM schema_migration ORDER BY version")
            except pymysql.err.ProgrammingError as error:
                if code_of(error) == NO_SUCH_TABLE:
                    return ()
                raise
            return tuple(Applied(version, sha256) for version, sha256 in rows)

        return await self._engine.read(job)

    async def is_empty(self) -> bool:
        async def job(transaction: Transaction) -> bool:
            tables = "SELECT 1 FROM information_schema.tables WHERE table_schema = DATABASE() LIMIT 1"
            return not await transaction.fetch(tables)

        return await self._engine.read(job)

    async def apply(self, migrations: tuple[Migration, ...]) -> tuple[Migration, ...]:
        return await with_attempts(lambda: self._engine.in_thread(lambda: self._apply(migrations)))

    def _apply(self, migrations: tuple[Migration, ...]) -> tuple[Migration, ...]:
        # Two connections of their own, with more patience: DDL would commit the transaction that holds the lock.
        with (
            closing(connect(self._engine.address, patience_s=_PATIENCE_S)) as holder,
            closing(connect(self._engine.address, patience_s=_PATIENCE_S)) as worker,
        ):
            try:
                _take_lock(holder)
                return _run_missing(worker, migrations)
            except (pymysql.err.MySQLError, OSError) as error:
                translated = translate(error, committing=False)
                if translated is error:
                    raise
                raise translated from error


def _take_lock(driver: Driver) -> None:
    """Hold the lock until the connection ends."""
    with driver.cursor() as cursor:
        cursor.execute(_LOCK_TABLE)
        cursor.execute("INSERT IGNORE INTO schema_migration_lock (id) VALUES (1)")
        driver.commit()
        cursor.execute("SELECT id FROM schema_migration_lock WHERE id = 1 FOR UPDATE")


def _run_missing(driver: Driver, migrations: tuple[Migration, ...]) -> tuple[Migration, ...]:
    with driver.cursor() as cursor:
        cursor.execute(_CREATE)
        cursor.execute("SELECT version, sha256 FROM schema_migration ORDER BY version")
        todo = missing(migrations, tuple(Applied(version, sha256) for version, sha256 in cursor.fetchall()))
        for migration in todo:
            for statement in statements(migration.sql):
                cursor.execute(statement)
            cursor.execute(
                "INSERT INTO schema_migration (version, name, sha256, applied_at) VALUES (%s, %s, %s, %s)",
                (migration.version, migration.name, migration.sha256, datetime.now(UTC).isoformat()),
            )
            driver.commit()
        return todo


def statements(script: str) -> list[str]:
    """The statements of a script whose comments stand on lines of their own and whose literals hold no `;`."""
    code = "\n".join(line for line in script.splitlines() if not line.lstrip().startswith("--"))
    return [statement.strip() for statement in code.split(";") if statement.strip()]
