"""Vectors of live documents in one table, `embedding`, of the engine's own type.

The table exists once a provider was configured. The setting EMBEDDING_SPACE says of which model and dimension its
vectors are; whoever reads or writes them looks at it in the same transaction, so that processes with different
configurations and a `reindex` beside a running server never mix spaces. Where the setting is missing there is no table.

Vectors are compared exactly, all of one Scope and corpus: an approximate index is searched before the Scope is
filtered, and so loses hits of small Scopes.
"""

from collections.abc import Sequence
from typing import Final, Protocol

import msgspec

from adapters.sql.engine import Transaction, execute_in, fetch_in
from adapters.sql.settings_table import read_setting
from contracts.ports import Vector, VectorSpace

EMBEDDING_SPACE: Final = "embedding_space"


class Vectors(Protocol):
    """The fragments in which engines differ. Vectors are of unit length, so similarity is their inner product."""

    async def create(self, transaction: Transaction, dimension: int) -> None:
        """Create the table unless it is there. Raises RuntimeNotReady where the database has no vectors."""
        ...

    async def insert(
        self, transaction: Transaction, scope: int, corpus: int, rows: Sequence[tuple[int, Vector]]
    ) -> None:
        """Store vectors of slots that have none."""
        ...

    async def nearest(
        self, transaction: Transaction, scope: int, corpus: int, vector: Vector, limit: int
    ) -> list[tuple[int, float]]:
        """(slot, similarity) of the `limit` nearest, the nearest first; of equal ones the larger slot comes first."""
        ...


class NativeVectors:
    """An engine with a vector type: texts as `[1,2,3]` go in, a function of SQL compares.

    mark: the placeholder of a vector. similarity: an expression over `data` and one such placeholder.
    """

    def __init__(self, *, create: str, mark: str, similarity: str) -> None:
        self._create = create
        self._insert = f"INSERT INTO embedding (scope, corpus, slot, data) VALUES (?, ?, ?, {mark})"
        self._nearest = (
            f"SELECT slot, {similarity} AS similarity FROM embedding WHERE scope = ? AND corpus = ?"
            " ORDER BY similarity DESC, slot DESC LIMIT ?"
        )

    async def create(self, transaction: Transaction, dimension: int) -> None:
        await transaction.fetch(self._create.replace("…", str(dimension)))  # DDL touches no countable rows

    async def insert(
        self, transaction: Transaction, scope: int, corpus: int, rows: Sequence[tuple[int, Vector]]
    ) -> None:
        await transaction.execute_many(
            self._insert, [(scope, corpus, slot, vector_text(vector)) for slot, vector in rows]
        )

    async def nearest(
        self, transaction: Transaction, scope: int, corpus: int, vector: Vector, limit: int
    ) -> list[tuple[int, float]]:
        rows = await transaction.fetch(self._nearest, vector_text(vector), scope, corpus, limit)
        return [(slot, float(similarity)) for slot, similarity in rows]


def vector_text(vector: Vector) -> str:
    """`[0.6,-0.8]`, with more digits than a 4-byte float has."""
    return f"[{','.join(format(value, '.9g') for value in vector)}]"


def space_mark(space: VectorSpace) -> bytes:
    """What the setting holds."""
    return msgspec.json.encode(space, order="deterministic")


async def holds_space(transaction: Transaction, space: VectorSpace) -> bool:
    """Whether the table is there and its vectors are of `space`."""
    return await read_setting(transaction, EMBEDDING_SPACE) == space_mark(space)


async def stored_slots(transaction: Transaction, scope: int, corpus: int, slots: Sequence[int]) -> set[int]:
    """Those of `slots` that have a vector."""
    rows = await fetch_in(
        transaction, "SELECT slot FROM embedding WHERE scope = ? AND corpus = ? AND slot IN (…)", (scope, corpus), slots
    )
    return {slot for (slot,) in rows}


async def remove_vectors(transaction: Transaction, scope: int, corpus: int, slots: Sequence[int]) -> None:
    """Take the vectors of documents that leave the index out, whether or not this process makes any itself."""
    if slots and await read_setting(transaction, EMBEDDING_SPACE) is not None:
        sql = "DELETE FROM embedding WHERE scope = ? AND corpus = ? AND slot IN (…)"
        await execute_in(transaction, sql, (scope, corpus), slots)


async def remove_vectors_of_scope(transaction: Transaction, scope: int) -> None:
    """Take all vectors of a Scope out."""
    if await read_setting(transaction, EMBEDDING_SPACE) is not None:
        await transaction.execute("DELETE FROM embedding WHERE scope = ?", scope)
