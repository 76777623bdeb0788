"""All ports over one engine."""

from adapters.sql.access import SqlAccess
from adapters.sql.artifacts import SqlArtifacts
from adapters.sql.bulk import SqlBulk
from adapters.sql.candidates import SqlCandidates
from adapters.sql.embedding import SqlVectors
from adapters.sql.engine import Engine, Transaction
from adapters.sql.health import SqlHealth
from adapters.sql.memory import SqlMemory
from adapters.sql.migrations import Migration, Migrator, missing
from adapters.sql.recall import SqlExperienceRecall, SqlMemoryRecall, SqlProfileRecall, SqlTopicMemoryRecall
from adapters.sql.reindex import Progress, rebuild_index, tokenizer_mark
from adapters.sql.scopes import SqlScopes
from adapters.sql.settings_table import CURSOR_KEY, TOKENIZER, read_setting, seed_settings
from contracts.errors import RuntimeNotReady


class SqlStorage:
    """`contracts.ports.Storage`. Open it with `adapters.open_storage`, then `migrate` or `check_migrations`."""

    def __init__(self, engine: Engine, migrator: Migrator, known: tuple[Migration, ...]) -> None:
        self.engine = engine
        self._migrator = migrator
        self._known = known
        self._bind(b"")

    def _bind(self, cursor_key: bytes) -> None:
        engine = self.engine
        self.scopes = SqlScopes(engine, cursor_key)
        self.memory = SqlMemory(engine, cursor_key)
        self.artifacts = SqlArtifacts(engine, cursor_key)
        self.candidates = SqlCandidates(engine, cursor_key)
        self.bulk = SqlBulk(engine)
        self.access = SqlAccess(engine, cursor_key)
        self.vectors = SqlVectors(engine)
        self.health = SqlHealth(engine, self.pending_migrations)
        self.memory_recall = SqlMemoryRecall(engine)
        self.experience_recall = SqlExperienceRecall(engine)
        self.profile_recall = SqlProfileRecall(engine)
        self.topic_memory_recall = SqlTopicMemoryRecall(engine)

    async def pending_migrations(self) -> tuple[Migration, ...]:
        """What `migrate` would apply. Raises RuntimeNotReady for a database that this program must not touch."""
        return missing(self._known, await self._migrator.applied())

    async def is_new(self) -> bool:
        """Whether the database holds nothing at all, neither of ours nor of anybody else."""
        return await self._migrator.is_empty()

    async def migrate(self) -> tuple[Migration, ...]:
        """Apply what is missing, once whatever number of processes try; what this call applied."""
        applied = await self._migrator.apply(self._known)

        async def seed(transaction: Transaction) -> None:
            await seed_settings(transaction, tokenizer_mark())

        await self.engine.write(seed)
        await self.check()
        return applied

    async def check(self) -> None:
        """Make the storage ready to serve. Raises RuntimeNotReady when `migrate` or `reindex` has to run first."""
        pending = await self.pending_migrations()
        if pending:
            raise RuntimeNotReady(f"The database lacks {len(pending)} migration(s); run: powercontext-sidecar migrate")

        async def settings(transaction: Transaction) -> tuple[bytes | None, bytes | None]:
            return await read_setting(transaction, CURSOR_KEY), await read_setting(transaction, TOKENIZER)

        cursor_key, tokenizer = await self.engine.read(settings)
        if cursor_key is None:
            raise RuntimeNotReady("The database was not set up completely; run: powercontext-sidecar migrate")
        if tokenizer != tokenizer_mark():
            raise RuntimeNotReady("The text index was made by another tokenizer; run: powercontext-sidecar reindex")
        self._bind(cursor_key)

    async def reindex(self, progress: Progress) -> int:
        """Rebuild the text index of every Scope; the number of documents indexed."""
        return await rebuild_index(self.engine, progress)

    async def close(self) -> None:
        await self.engine.close()
