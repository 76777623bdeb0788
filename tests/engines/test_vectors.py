"""Vectors on every engine: stored once for what is live, near first, and gone with their text."""

from collections.abc import Sequence

import pytest

from adapters.sql.engine import Transaction
from adapters.sql.storage import SqlStorage
from contracts.errors import RuntimeNotReady
from contracts.identity import Cite
from contracts.ports import QueryVector, Unembedded, Vector, VectorSpace
from tests.engines.content import new_scope, remembered

SPACE = VectorSpace("stub", 3)
OTHER = VectorSpace("other", 2)


@pytest.fixture
async def other_scope_id(storage: SqlStorage) -> str:
    return await new_scope(storage)


async def remember(storage: SqlStorage, scope_id: str, text: str) -> Cite:
    return (await remembered(storage, scope_id, text)).citation


async def embed(storage: SqlStorage, scope_id: str, vectors: Sequence[Vector], space: VectorSpace = SPACE) -> None:
    """Give the newest texts without a vector these, newest first."""
    texts = await storage.vectors.newest_unembedded(scope_id, 50)
    await storage.vectors.add(scope_id, space, list(zip(texts, vectors, strict=True)))


async def nearest(storage: SqlStorage, scope_id: str, *vector: float) -> list[tuple[str, float]]:
    _, hits = await storage.memory.search(scope_id, "any", 10, QueryVector(SPACE, vector), by_text=False)
    return [(hit.text, round(hit.score, 4)) for hit in hits]


async def stored(storage: SqlStorage) -> int:
    async def job(transaction: Transaction) -> int:
        return int((await transaction.fetch("SELECT COUNT(*) FROM embedding"))[0][0])

    return await storage.engine.read(job)


async def test_the_nearest_come_first_of_one_scope_alone_and_nothing_that_points_away(
    storage: SqlStorage, scope_id: str, other_scope_id: str
) -> None:
    assert await storage.vectors.prepare(SPACE)
    for text in ("east", "north", "west", "north-east"):
        await remember(storage, scope_id, text)
    await remember(storage, other_scope_id, "elsewhere")
    await embed(storage, scope_id, [(0.6, 0.8, 0.0), (-1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (1.0, 0.0, 0.0)])
    await embed(storage, other_scope_id, [(1.0, 0.0, 0.0)])
    assert await nearest(storage, scope_id, 1.0, 0.0, 0.0) == [("east", 1.0), ("north-east", 0.6)]
    assert await nearest(storage, scope_id, 0.0, 1.0, 0.0) == [("north", 1.0), ("north-east", 0.8)]
    _, hits = await storage.memory.search(scope_id, "north", 10, QueryVector(SPACE, (1.0, 0.0, 0.0)))
    assert {hit.text: hit.matched_by for hit in hits} == {
        "east": ("vector",),
        "north-east": ("fts", "vector"),
        "north": ("fts",),
    }


async def test_equal_vectors_come_newest_first(storage: SqlStorage, scope_id: str) -> None:
    await storage.vectors.prepare(SPACE)
    for text in ("one", "two", "three"):
        await remember(storage, scope_id, text)
    await embed(storage, scope_id, [(0.0, 0.0, 1.0)] * 3)
    assert [text for text, _ in await nearest(storage, scope_id, 0.0, 0.0, 1.0)] == ["three", "two", "one"]


async def test_a_vector_that_comes_late_is_not_stored(storage: SqlStorage, scope_id: str) -> None:
    """The text was retired, or another text has taken its slot, while the provider was asked."""
    await storage.vectors.prepare(SPACE)
    citation = await remember(storage, scope_id, "short-lived")
    late = await storage.vectors.newest_unembedded(scope_id, 10)
    assert [text.text for text in late] == ["short-lived"]
    await storage.memory.retire(scope_id, citation, reason=None)
    await storage.vectors.add(scope_id, SPACE, [(text, (1.0, 0.0, 0.0)) for text in late])
    await remember(storage, scope_id, "another")
    taken = Unembedded("memory", late[0].slot + 1, "not the text of that slot")
    await storage.vectors.add(scope_id, SPACE, [(taken, (1.0, 0.0, 0.0))])
    assert await nearest(storage, scope_id, 1.0, 0.0, 0.0) == []


async def test_vectors_leave_with_their_text_and_with_their_scope(
    storage: SqlStorage, scope_id: str, other_scope_id: str
) -> None:
    await storage.vectors.prepare(SPACE)
    before = await stored(storage)
    for scope in (scope_id, other_scope_id):
        await remember(storage, scope, "kept")
        citation = await remember(storage, scope, "erased")
        await embed(storage, scope, [(1.0, 0.0, 0.0), (0.0, 1.0, 0.0)])
        await storage.memory.erase(scope, citation.entry_id, None)
    assert await stored(storage) == before + 2
    await storage.scopes.delete(other_scope_id, 1)
    assert await stored(storage) == before + 1
    assert await nearest(storage, scope_id, 1.0, 0.0, 0.0) == []
    assert await nearest(storage, scope_id, 0.0, 1.0, 0.0) == [("kept", 1.0)]


async def test_adding_again_changes_nothing(storage: SqlStorage, scope_id: str) -> None:
    await storage.vectors.prepare(SPACE)
    await remember(storage, scope_id, "text")
    texts = await storage.vectors.newest_unembedded(scope_id, 10)
    for vector in ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0)):
        await storage.vectors.add(scope_id, SPACE, [(text, vector) for text in texts])
    assert await nearest(storage, scope_id, 1.0, 0.0, 0.0) == [("text", 1.0)]
    assert [texts async for texts in storage.vectors.unembedded(scope_id)] == []


async def test_the_space_changes_only_by_reset(storage: SqlStorage, scope_id: str) -> None:
    await storage.vectors.prepare(SPACE)
    await remember(storage, scope_id, "text")
    await embed(storage, scope_id, [(1.0, 0.0, 0.0)])
    assert not await storage.vectors.prepare(OTHER)
    assert not await storage.vectors.holds(OTHER)
    # Another space is left out of account, or refused where nothing else was asked for.
    _, hits = await storage.memory.search(scope_id, "text", 5, QueryVector(OTHER, (1.0, 0.0)))
    assert [hit.matched_by for hit in hits] == [("fts",)]
    with pytest.raises(RuntimeNotReady, match="reindex"):
        await storage.memory.search(scope_id, "text", 5, QueryVector(OTHER, (1.0, 0.0)), by_text=False)

    await storage.vectors.reset(SPACE)
    assert await nearest(storage, scope_id, 1.0, 0.0, 0.0) == [("text", 1.0)]
    await storage.vectors.reset(OTHER)
    assert await storage.vectors.holds(OTHER)
    (texts,) = [texts async for texts in storage.vectors.unembedded(scope_id)]
    await storage.vectors.add(scope_id, OTHER, [(texts[0], (0.0, 1.0))])
    _, hits = await storage.memory.search(scope_id, "text", 5, QueryVector(OTHER, (0.0, 1.0)), by_text=False)
    assert [(hit.text, hit.score) for hit in hits] == [("text", 1.0)]
    await storage.vectors.reset(SPACE)
