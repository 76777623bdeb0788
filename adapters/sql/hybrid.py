"""Text ranking and vector ranking of one corpus of one Scope, alone or fused by reciprocal rank.

Reciprocal rank fusion needs no common scale of BM25 and cosine similarity: a document's score is the sum of
1 / (60 + rank) over the rankings that hold it (Cormack, Clarke and Büttcher 2009, who found 60).
"""

from collections.abc import Sequence
from typing import Final, Literal, NamedTuple, TypeAlias

from adapters.sql.engine import Dialect, Transaction
from adapters.sql.index import Corpus
from adapters.sql.search import has_terms, search_corpus
from adapters.sql.vectors import holds_space
from contracts.errors import RuntimeNotReady
from contracts.ports import QueryVector

RECIPROCAL_RANK_CONSTANT: Final = 60

FUSED_DEPTH: Final = 50
"""How far down each ranking is read at least: a document that both hold, each in its middle, may come first."""

By: TypeAlias = Literal["fts", "vector"]


class Found(NamedTuple):
    """One document with a score above 0 and at most 1, and the rankings that hold it."""

    slot: int
    score: float
    by: tuple[By, ...]


async def find(
    transaction: Transaction,
    dialect: Dialect,
    scope: int,
    corpus: Corpus,
    query: str,
    limit: int,
    vector: QueryVector | None = None,
    *,
    by_text: bool = True,
) -> list[Found]:
    """At most `limit` live documents, best first: by text, with a vector by both, or by the vector alone.

    A query without terms (punctuation alone) matches nothing, whatever its vector. Raises RuntimeNotReady where a
    search by the vector alone finds vectors of another space; a fused one does without them.
    """
    if vector is not None and not await holds_space(transaction, vector.space):
        if not by_text:
            raise RuntimeNotReady("The vectors were made by another model; run: powercontext-sidecar reindex")
        vector = None
    if vector is None:
        texts = await search_corpus(transaction, scope, corpus, query, limit)
        return [Found(slot, score, ("fts",)) for slot, score in texts]
    if not has_terms(query):
        return []
    depth = max(limit, FUSED_DEPTH)
    nearest = await dialect.vectors.nearest(transaction, scope, corpus, vector.values, depth)
    # What points away from the query is no match.
    similar = [(slot, min(similarity, 1.0)) for slot, similarity in nearest if similarity > 0]
    if not by_text:
        return [Found(slot, similarity, ("vector",)) for slot, similarity in similar[:limit]]
    texts = await search_corpus(transaction, scope, corpus, query, depth)
    return fuse([slot for slot, _ in texts], [slot for slot, _ in similar])[:limit]


def fuse(by_text: Sequence[int], by_vector: Sequence[int]) -> list[Found]:
    """All documents of two rankings, best first; of equal scores the larger slot, which is newer, comes first.

    A score of 1 means first in both. Pure.
    """
    ranks: dict[int, dict[By, int]] = {}
    rankings: tuple[tuple[By, Sequence[int]], ...] = (("fts", by_text), ("vector", by_vector))
    for name, ranking in rankings:
        for rank, slot in enumerate(ranking, start=1):
            ranks.setdefault(slot, {})[name] = rank
    most = len(rankings) / (RECIPROCAL_RANK_CONSTANT + 1)
    found = [
        Found(slot, sum(1 / (RECIPROCAL_RANK_CONSTANT + rank) for rank in held.values()) / most, tuple(held))
        for slot, held in ranks.items()
    ]
    return sorted(found, key=lambda document: (-document.score, -document.slot))
