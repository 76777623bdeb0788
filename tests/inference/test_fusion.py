"""Reciprocal rank fusion by hand, and the search for near vectors in SQLite against the plain definition."""

import random
import sqlite3
from collections.abc import Iterable, Sequence

import pytest

from adapters.sql.engine import Row, Value
from adapters.sql.hybrid import fuse
from adapters.sqlite.engine import SqliteTransaction
from adapters.sqlite.vectors import EXACT_PRODUCTS, SqliteVectors


def test_a_score_is_the_sum_of_reciprocal_ranks_over_what_is_possible() -> None:
    # Slot 5 is second by text and first by vector, 7 is first by text, 9 second by vector; most is twice 1/61.
    fused = fuse([7, 5], [5, 9])
    assert [(found.slot, found.by) for found in fused] == [(5, ("fts", "vector")), (7, ("fts",)), (9, ("vector",))]
    assert [found.score for found in fused] == pytest.approx([61 / 62 / 2 + 0.5, 0.5, 61 / 62 / 2])


def test_the_first_of_both_has_1_and_of_equal_scores_the_newer_comes_first() -> None:
    assert fuse([4], [4])[0].score == 1.0
    assert [found.slot for found in fuse([4], [9])] == [9, 4]
    assert [found.slot for found in fuse([9], [4])] == [9, 4]


def test_in_both_rankings_beats_first_in_one() -> None:
    assert fuse([1, *range(100, 140), 2], [3, *range(200, 240), 2])[0].slot == 2


def test_nothing_is_fused_of_nothing() -> None:
    assert fuse([], []) == []


def unit(values: Sequence[float]) -> list[float]:
    length = sum(value * value for value in values) ** 0.5
    return [value / length for value in values]


async def scope_of(vectors: Iterable[Sequence[float]], dimension: int) -> SqliteTransaction:
    """A table with these vectors at the slots 1, 2, … of Scope 1, and others beside."""
    transaction = SqliteTransaction(sqlite3.connect(":memory:"))
    await SqliteVectors().create(transaction, dimension)
    rows = list(enumerate(vectors, start=1))
    for scope, corpus in ((1, 1), (2, 1), (1, 2)):
        await SqliteVectors().insert(transaction, scope, corpus, rows if (scope, corpus) == (1, 1) else rows[:1])
    return transaction


async def test_the_nearest_are_those_with_the_largest_inner_product() -> None:
    numbers = random.Random(1)
    vectors = [unit([numbers.gauss(0, 1) for _ in range(16)]) for _ in range(300)]
    query = unit([numbers.gauss(0, 1) for _ in range(16)])
    transaction = await scope_of(vectors, 16)
    expected = sorted(
        ((sum(a * b for a, b in zip(vector, query, strict=True)), slot) for slot, vector in enumerate(vectors, 1)),
        reverse=True,
    )[:20]
    nearest = await SqliteVectors().nearest(transaction, 1, 1, query, 20)
    assert [slot for slot, _ in nearest] == [slot for _, slot in expected]
    assert [similarity for _, similarity in nearest] == pytest.approx([each for each, _ in expected], abs=1e-6)
    transaction._connection.close()


async def test_in_a_large_scope_signs_choose_what_is_compared_and_lose_little() -> None:
    """Texts of one subject lie around its centre, as embeddings do."""
    dimension, count = 256, 1500
    assert count * dimension > EXACT_PRODUCTS
    numbers = random.Random(2)
    centres = [[numbers.gauss(0, 1) for _ in range(dimension)] for _ in range(20)]
    vectors = [unit([value + numbers.gauss(0, 1) for value in centres[slot % 20]]) for slot in range(count)]
    query = unit([value + numbers.gauss(0, 1) for value in centres[3]])
    transaction = await scope_of(vectors, dimension)
    products = [sum(a * b for a, b in zip(vector, query, strict=True)) for vector in vectors]
    expected = set(sorted(range(1, count + 1), key=lambda slot: -products[slot - 1])[:20])
    nearest = await SqliteVectors().nearest(transaction, 1, 1, query, 20)
    assert len(expected & {slot for slot, _ in nearest}) >= 18
    transaction._connection.close()


async def test_equal_vectors_come_newest_first() -> None:
    transaction = await scope_of([[1.0, 0.0]] * 5, 2)
    nearest = await SqliteVectors().nearest(transaction, 1, 1, [1.0, 0.0], 3)
    assert [slot for slot, _ in nearest] == [5, 4, 3]
    transaction._connection.close()


async def test_the_similarity_of_a_search_costs_a_bounded_number_of_products() -> None:
    class Counting(SqliteTransaction):
        compared = 0

        async def fetch(self, sql: str, *args: Value) -> list[Row]:
            rows = await super().fetch(sql, *args)
            if "data" in sql:
                self.compared += len(rows)
            return rows

    dimension = 2000
    vector = unit([1.0] * dimension)
    transaction = await scope_of([vector] * 300, dimension)
    counting = Counting(transaction._connection)
    assert len(await SqliteVectors().nearest(counting, 1, 1, vector, 50)) == 50
    assert counting.compared * dimension <= EXACT_PRODUCTS
    transaction._connection.close()
