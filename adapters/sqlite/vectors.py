"""Vectors in SQLite: 4-byte floats in a BLOB, compared in Python.

No loadable extension: many builds of Python cannot load any, and a scan of signs is as fast. Comparing every vector of
a Scope exactly takes 20 µs to 60 µs each at 1,024 dimensions, too long for more than some hundred. So each row begins
with one bit for the sign of each value; the bits of two near vectors differ in few places, which one XOR counts.
Exact similarity then orders those that differ least.
"""

import sys
from array import array
from collections.abc import Sequence
from operator import mul
from typing import Final

from adapters.sql.engine import Transaction, fetch_in
from contracts.ports import Vector

EXACT_PRODUCTS: Final = 200_000
"""Multiplications that one search may spend on exact similarities, about 5 ms: 195 vectors of 1,024 dimensions."""

SCANNED_MAX: Final = 20_000
"""Rows whose signs one search compares, the newest of the Scope: some 50 ms. The text index has no such bound."""


class SqliteVectors:
    """`adapters.sql.vectors.Vectors`."""

    async def create(self, transaction: Transaction, dimension: int) -> None:
        # `signs` stands first, so that reading it leaves the rest of a long row on its overflow pages.
        await transaction.execute(
            "CREATE TABLE IF NOT EXISTS embedding (scope INTEGER NOT NULL, corpus INTEGER NOT NULL,"
            " slot INTEGER NOT NULL, signs BLOB NOT NULL, data BLOB NOT NULL, PRIMARY KEY (scope, corpus, slot))"
        )

    async def insert(
        self, transaction: Transaction, scope: int, corpus: int, rows: Sequence[tuple[int, Vector]]
    ) -> None:
        await transaction.execute_many(
            "INSERT INTO embedding (scope, corpus, slot, signs, data) VALUES (?, ?, ?, ?, ?)",
            [(scope, corpus, slot, _signs(vector), _packed(vector)) for slot, vector in rows],
        )

    async def nearest(
        self, transaction: Transaction, scope: int, corpus: int, vector: Vector, limit: int
    ) -> list[tuple[int, float]]:
        rows = await transaction.fetch(
            "SELECT slot, signs FROM embedding WHERE scope = ? AND corpus = ? ORDER BY slot DESC LIMIT ?",
            scope,
            corpus,
            SCANNED_MAX,
        )
        slots = _likely(rows, vector, max(EXACT_PRODUCTS // len(vector), 2 * limit))
        compared = await fetch_in(
            transaction,
            "SELECT slot, data FROM embedding WHERE scope = ? AND corpus = ? AND slot IN (…)",
            (scope, corpus),
            slots,
        )
        values = list(vector)
        similar = {int(slot): sum(map(mul, _unpacked(data), values)) for slot, data in compared}
        return sorted(similar.items(), key=lambda pair: (-pair[1], -pair[0]))[:limit]


def _likely(rows: Sequence[Sequence[object]], vector: Vector, count: int) -> list[int]:
    """The `count` slots whose signs differ least from those of `vector`; rows come newest first, which breaks ties."""
    if len(rows) <= count:
        return [int(slot) for slot, _ in rows]  # type: ignore[call-overload]  # a row of SQLite
    from_bytes = int.from_bytes
    wanted = from_bytes(_signs(vector), "little")
    differing = [
        ((from_bytes(signs, "little") ^ wanted).bit_count(), -slot)  # type: ignore[arg-type,operator]  # as above
        for slot, signs in rows
    ]
    differing.sort()
    return [-slot for _, slot in differing[:count]]


def _signs(vector: Vector) -> bytes:
    """One bit for each value: whether it is above 0."""
    bits = "".join("1" if value > 0 else "0" for value in vector)
    return int(bits, 2).to_bytes((len(vector) + 7) // 8, "little")


def _packed(vector: Vector) -> bytes:
    """Little-endian on every host, so that a file may move."""
    values = array("f", vector)
    if sys.byteorder == "big":
        values.byteswap()
    return values.tobytes()


def _unpacked(data: bytes) -> "array[float]":
    values = array("f")
    values.frombytes(data)
    if sys.byteorder == "big":
        values.byteswap()
    return values
