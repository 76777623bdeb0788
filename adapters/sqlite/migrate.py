"""Migrations on SQLite: one transaction under the write lock, so that a failure or a second process leaves no half."""

import sqlite3
from datetime import UTC, datetime

from adapters.sql.engine import Transaction, run_to_end
from adapters.sql.migrations import Applied, Migration, missing, packaged
from adapters.sqlite.engine import SqliteEngine, SqliteTransaction

_CREATE = """CREATE TABLE IF NOT EXISTS schema_migration (
    version INTEGER PRIMARY KEY, name TEXT NOT NULL, sha256 TEXT NOT NULL, applied_at TEXT NOT NULL)"""


class SqliteMigrator:
    """`adapters.sql.migrations.Migrator` for one SQLite file."""

    def __init__(self, engine: SqliteEngine) -> None:
        self._engine = engine
        self.known = packaged("adapters.sqlite")

    async def applied(self) -> tuple[Applied, ...]:
        # On the reader: `/health/ready` asks this, and must not wait behind a writer that waits for another process.
        return await self._engine.read(_read_applied)

    async def is_empty(self) -> bool:
        return await self._engine.on_writer(
            lambda connection: connection.execute("SELECT 1 FROM sqlite_master").fetchone() is None
        )

    async def apply(self, migrations: tuple[Migration, ...]) -> tuple[Migration, ...]:
        def run(connection: sqlite3.Connection) -> tuple[Migration, ...]:
            connection.execute("BEGIN IMMEDIATE")
            try:
                connection.execute(_CREATE)
                todo = missing(migrations, run_to_end(_read_applied(SqliteTransaction(connection))))
                for migration in todo:
                    for statement in _statements(migration.sql):
                        connection.execute(statement)
                    connection.execute(
                        "INSERT INTO schema_migration (version, name, sha256, applied_at) VALUES (?, ?, ?, ?)",
                        (migration.version, migration.name, migration.sha256, datetime.now(UTC).isoformat()),
                    )
                connection.execute("COMMIT")
            except BaseException:
                connection.execute("ROLLBACK")
                raise
            return todo

        return await self._engine.on_writer(run)


async def _read_applied(transaction: Transaction) -> tuple[Applied, ...]:
    table = "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'schema_migration'"
    if not await transaction.fetch(table):
        return ()
    rows = await transaction.fetch("SELECT version, sha256 FROM schema_migration ORDER BY version")
    return tuple(Applied(version, sha256) for version, sha256 in rows)


def _statements(script: str) -> list[str]:
    """The statements of a script; `executescript` would commit in between."""
    statements, current = [], ""
    for line in script.splitlines(keepends=True):
        current += line
        if sqlite3.complete_statement(current):
            statements.append(current)
            current = ""
    return statements
