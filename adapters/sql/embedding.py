"""Which live texts lack a vector, and where the vectors that a provider made of them are stored."""

from collections.abc import AsyncIterator, Sequence
from functools import partial
from typing import Final, TypeAlias

from adapters.sql.artifact_rows import decode_content, searched_text
from adapters.sql.engine import Engine, Row, Transaction, fetch_in
from adapters.sql.index import Corpus
from adapters.sql.scopes import lock_scope, scope_key
from adapters.sql.settings_table import CURSOR_KEY, read_setting, write_setting
from adapters.sql.vectors import EMBEDDING_SPACE, holds_space, space_mark, stored_slots
from contracts.ports import EmbeddedFamily, Unembedded, Vector, VectorSpace

_BATCH: Final = 500

# The details of Topic Memories are searched by text alone, see `adapters.sql.recall`.
_CORPORA: Final[dict[EmbeddedFamily, Corpus]] = {
    "memory": Corpus.MEMORY,
    "experience": Corpus.EXPERIENCE,
    "topic-memory": Corpus.TOPIC,
}
_Text: TypeAlias = tuple[int, str]

_LIVE_ENTRIES: Final = (
    "SELECT h.slot, h.text FROM memory_version h WHERE h.scope = ? AND h.left_revision IS NULL AND h.erased = 0"
)
_LIVE_ARTIFACTS: Final = (
    "SELECT h.slot, r.content FROM artifact_head h JOIN artifact_revision r"
    " ON r.scope = h.scope AND r.family = h.family AND r.artifact_id = h.artifact_id AND r.revision = h.revision"
    " WHERE h.scope = ? AND h.erased = 0 AND h.family = '…'"
)


class SqlVectors:
    """`contracts.ports.VectorStore`."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    async def prepare(self, space: VectorSpace) -> bool:
        async def job(transaction: Transaction) -> bool:
            await self._lock(transaction)
            stored = await read_setting(transaction, EMBEDDING_SPACE)
            if stored is None:
                await self._create(transaction, space)
            return stored is None or stored == space_mark(space)

        return await self._engine.write(job)

    async def reset(self, space: VectorSpace) -> None:
        async def drop(transaction: Transaction) -> None:
            await self._lock(transaction)
            if await holds_space(transaction, space):
                return
            # The mark goes first: where DDL commits by itself, no process must find it without its table.
            await transaction.execute("DELETE FROM setting WHERE name = ?", EMBEDDING_SPACE)
            await transaction.fetch("DROP TABLE IF EXISTS embedding")  # DDL touches no countable rows

        await self._engine.write(drop)
        await self.prepare(space)

    async def holds(self, space: VectorSpace) -> bool:
        return await self._engine.read(partial(holds_space, space=space))

    async def newest_unembedded(self, scope_id: str, limit: int) -> tuple[Unembedded, ...]:
        async def job(transaction: Transaction) -> tuple[Unembedded, ...]:
            scope = await scope_key(transaction, scope_id)
            found: list[Unembedded] = []
            if await read_setting(transaction, EMBEDDING_SPACE) is None:
                return ()
            for family, corpus in _CORPORA.items():
                newest = await transaction.fetch(
                    "SELECT MAX(slot) FROM embedding WHERE scope = ? AND corpus = ?", scope, corpus
                )
                rows = await transaction.fetch(
                    f"{_live(family)} AND h.slot > ? ORDER BY h.slot DESC LIMIT ?", scope, newest[0][0] or 0, limit
                )
                found += [Unembedded(family, slot, text) for slot, text in _texts(family, rows)]
            return tuple(found)

        return await self._engine.read(job)

    async def unembedded(self, scope_id: str) -> AsyncIterator[tuple[Unembedded, ...]]:
        for family in _CORPORA:
            after: int | None = 0
            while after is not None:
                after, texts = await self._engine.read(partial(_page, scope_id, family, after))
                if texts:
                    yield tuple(Unembedded(family, slot, text) for slot, text in texts)

    async def add(self, scope_id: str, space: VectorSpace, embedded: Sequence[tuple[Unembedded, Vector]]) -> None:
        async def job(transaction: Transaction) -> None:
            scope = await lock_scope(transaction, self._engine.dialect.for_update, scope_id)
            if not await holds_space(transaction, space):
                return
            for family, corpus in _CORPORA.items():
                vectors = {text.slot: (text.text, vector) for text, vector in embedded if text.family == family}
                # What was embedded may have been replaced, retired or erased meanwhile, and a slot given anew.
                rows = await fetch_in(transaction, f"{_live(family)} AND h.slot IN (…)", (scope,), list(vectors))
                live = dict(_texts(family, rows))
                stored = await stored_slots(transaction, scope, corpus, list(vectors))
                entering = [
                    (slot, vector)
                    for slot, (text, vector) in vectors.items()
                    if live.get(slot) == text and slot not in stored
                ]
                await self._engine.dialect.vectors.insert(transaction, scope, corpus, entering)

        await self._engine.write(job)

    async def _lock(self, transaction: Transaction) -> None:
        """One process at a time makes or drops the table."""
        sql = f"SELECT value FROM setting WHERE name = ?{self._engine.dialect.for_update}"
        await transaction.fetch(sql, CURSOR_KEY)

    async def _create(self, transaction: Transaction, space: VectorSpace) -> None:
        await self._engine.dialect.vectors.create(transaction, space.dimension)
        await write_setting(transaction, self._engine.dialect, EMBEDDING_SPACE, space_mark(space))


def _live(family: EmbeddedFamily) -> str:
    """A SELECT of (slot, stored form) of what recall may find, open for more conditions on `h`."""
    return _LIVE_ENTRIES if family == "memory" else _LIVE_ARTIFACTS.replace("…", family)


def _texts(family: EmbeddedFamily, rows: Sequence[Row]) -> list[_Text]:
    """(slot, text) of rows that `_live` selected: the text that the index of words holds, too."""
    if family == "memory":
        return [(slot, text) for slot, text in rows]
    return [(slot, searched_text(decode_content(family, canonical))) for slot, canonical in rows]


async def _page(
    scope_id: str, family: EmbeddedFamily, after: int, transaction: Transaction
) -> tuple[int | None, list[_Text]]:
    """The last slot of the next batch of live texts, None at the end, and those of the batch that have no vector."""
    scope = await scope_key(transaction, scope_id)
    rows = await transaction.fetch(f"{_live(family)} AND h.slot > ? ORDER BY h.slot LIMIT {_BATCH}", scope, after)
    if not rows:
        return None, []
    stored = await stored_slots(transaction, scope, _CORPORA[family], [row[0] for row in rows])
    return rows[-1][0], _texts(family, [row for row in rows if row[0] not in stored])
