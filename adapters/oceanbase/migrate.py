"""Migrations on OceanBase: one idempotent statement at a time, because DDL commits by itself, under a named lock.

A process that dies half-way leaves tables without the row that says so; the next one runs the file again.
"""

from datetime import UTC, datetime
from typing import Final

import pymysql.err

from adapters.oceanbase.connections import Driver, connect
from adapters.oceanbase.engine import OceanBaseEngine
from adapters.oceanbase.errors import NO_SUCH_TABLE, code_of, translate
from adapters.sql.attempts import with_attempts
from adapters.sql.engine import Transaction
from adapters.sql.migrations import Applied, Migration, missing, packaged
from contracts.errors import RuntimeNotReady

_CREATE: Final = """CREATE TABLE IF NOT EXISTS schema_migration (
    version BIGINT NOT NULL, name VARCHAR(128) NOT NULL, sha256 VARCHAR(64) NOT NULL, applied_at VARCHAR(64) NOT NULL,
    PRIMARY KEY (version)) DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_bin"""

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
        # A connection of its own: its patience is longer, and the lock ends with it.
        driver = connect(self._engine.address, statement_timeout_s=_PATIENCE_S)
        try:
            return _locked(driver, migrations)
        except (pymysql.err.MySQLError, OSError) as error:
            translated = translate(error, committing=False)
            if translated is error:
                raise
            raise translated from error
        finally:
            driver.close()


def _locked(driver: Driver, migrations: tuple[Migration, ...]) -> tuple[Migration, ...]:
    with driver.cursor() as cursor:
        # Names of locks are the whole tenant's.
        cursor.execute("SELECT GET_LOCK(CONCAT('powercontext-migrate-', MD5(DATABASE())), %s)", (_PATIENCE_S,))
        if cursor.fetchone() != (1,):
            raise RuntimeNotReady("Another process has been migrating this database for too long.")
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
