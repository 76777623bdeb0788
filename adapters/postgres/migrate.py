"""Migrations on PostgreSQL: one transaction under an advisory lock, so a failure or a second process leaves no half."""

from datetime import UTC, datetime
from typing import Final

from adapters.postgres.engine import Connection, PostgresEngine
from adapters.sql.migrations import Applied, Migration, missing, packaged

_CREATE: Final = """CREATE TABLE IF NOT EXISTS schema_migration (
    version BIGINT PRIMARY KEY, name TEXT NOT NULL, sha256 TEXT NOT NULL, applied_at TEXT NOT NULL)"""

_LOCK: Final = int.from_bytes(b"pwrctx", "big")
"""Locks are numbers shared by all who use the database, so this one is made of our name."""

_PATIENCE_S: Final = 600.0
"""A migration of a large table may take minutes, and so may the wait for another process that runs it."""


class PostgresMigrator:
    """`adapters.sql.migrations.Migrator` for one database."""

    def __init__(self, engine: PostgresEngine) -> None:
        self._engine = engine
        self.known = packaged("adapters.postgres")

    async def applied(self) -> tuple[Applied, ...]:
        return await self._engine.on_connection(_applied)

    async def is_empty(self) -> bool:
        async def run(connection: Connection) -> bool:
            tables = "SELECT 1 FROM pg_catalog.pg_tables WHERE schemaname = current_schema() LIMIT 1"
            return await connection.fetchval(tables) is None

        return await self._engine.on_connection(run)

    async def apply(self, migrations: tuple[Migration, ...]) -> tuple[Migration, ...]:
        async def run(connection: Connection) -> tuple[Migration, ...]:
            async with connection.transaction():
                milliseconds = int(_PATIENCE_S * 1000)
                await connection.execute(
                    f"SET LOCAL lock_timeout = {milliseconds}; SET LOCAL statement_timeout = {milliseconds}"
                )
                await connection.execute("SELECT pg_advisory_xact_lock($1)", _LOCK, timeout=_PATIENCE_S)
                await connection.execute(_CREATE)
                todo = missing(migrations, await _applied(connection))
                for migration in todo:
                    await connection.execute(migration.sql, timeout=_PATIENCE_S)
                    await connection.execute(
                        "INSERT INTO schema_migration (version, name, sha256, applied_at) VALUES ($1, $2, $3, $4)",
                        migration.version,
                        migration.name,
                        migration.sha256,
                        datetime.now(UTC).isoformat(),
                    )
            return todo

        return await self._engine.on_connection(run)


async def _applied(connection: Connection) -> tuple[Applied, ...]:
    if await connection.fetchval("SELECT to_regclass('schema_migration')") is None:
        return ()
    rows = await connection.fetch("SELECT version, sha256 FROM schema_migration ORDER BY version")
    return tuple(Applied(row["version"], row["sha256"]) for row in rows)
