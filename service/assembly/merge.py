"""Scopes taken in turn: current Scope, Context Reference 1, Context Reference 2, … and again.

Works on any hits, so that recall can cut to the pools before it reads a single text. Cutting twice changes nothing.
Source: RFC 1489, selection algorithm, steps 3 and 4; CONTRACT section 4, pools.
"""

from collections.abc import Sequence
from typing import TypeVar

Hit = TypeVar("Hit")


def pool_shares(sizes: Sequence[int], pool: int) -> list[int]:
    """Return how many of its hits each Scope keeps when Scopes take turns until `pool` hits are kept.

    sizes: hits per Scope. For example (16, 16, 16) with a pool of 16 gives 6, 5, 5.
    """
    shares = [0] * len(sizes)
    left = min(pool, sum(sizes))
    while left:
        for index, size in enumerate(sizes):
            if left and shares[index] < size:
                shares[index] += 1
                left -= 1
    return shares


def round_robin(groups: Sequence[Sequence[Hit]]) -> list[Hit]:
    """Return all hits, the first of each Scope, then the second of each, and so on; order within a Scope is kept."""
    if len(groups) == 1:
        return list(groups[0])
    deepest = max(map(len, groups), default=0)
    return [group[depth] for depth in range(deepest) for group in groups if depth < len(group)]
