"""Whether the storage can serve: it can be read, its schema is current, and its last write did not fail."""

from collections.abc import Awaitable, Callable
from datetime import UTC, datetime

from adapters.sql.engine import Engine, Transaction
from adapters.sql.migrations import Migration
from adapters.sql.settings_table import write_setting
from contracts.errors import ContextError


class SqlHealth:
    """`contracts.ports.StorageHealth`."""

    def __init__(self, engine: Engine, pending_migrations: Callable[[], Awaitable[tuple[Migration, ...]]]) -> None:
        self._engine = engine
        self._pending_migrations = pending_migrations

    async def check(self) -> dict[str, str]:
        checks = {"database": await self._said(self._read())}
        if checks["database"] == "ok":
            checks["migrations"] = await self._said(self._migrated())
            checks["writes"] = await self._said(self._written())
        return checks

    async def probe_write(self) -> None:
        """Write one row that nothing reads. Raises RuntimeNotReady where the database takes no writes."""

        async def job(transaction: Transaction) -> None:
            now = datetime.now(UTC).isoformat().encode()
            await write_setting(transaction, self._engine.dialect, "last_write_probe", now)

        await self._engine.write(job)

    async def _said(self, check: Awaitable[str]) -> str:
        try:
            return await check
        except ContextError as error:
            return error.message

    async def _read(self) -> str:
        async def job(transaction: Transaction) -> None:
            await transaction.fetch("SELECT 1")

        await self._engine.read(job)
        return "ok"

    async def _migrated(self) -> str:
        pending = await self._pending_migrations()
        return f"{len(pending)} migration(s) to run: powercontext-sidecar migrate" if pending else "ok"

    async def _written(self) -> str:
        """After a failed write, try one: a check that never writes could not see that the disk has room again."""
        if self._engine.last_write_failed:
            await self.probe_write()
        return "ok"
