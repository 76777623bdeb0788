"""Which candidates of a family compete for the budget, and in which order.

Source: RFC 1489, selection algorithm, steps 4 to 6; CONTRACT sections 4 and 5.
"""

from collections.abc import Iterable, Sequence
from typing import assert_never

from msgspec import Struct

from contracts.identity import Family
from contracts.limits import EXPERIENCE_POOL, MEMORY_POOL, TOPIC_MEMORY_POOL
from contracts.recalled import ProfileSnapshot, Recalled
from service.assembly.candidates import (
    Candidate,
    experience_candidates,
    is_blank,
    memory_candidates,
    profile_candidate,
    topic_memory_candidates,
)
from service.assembly.merge import pool_shares, round_robin
from service.assembly.origins import Address
from service.assembly.receipt import ReceiptLine


class Selection(Struct, frozen=True):
    """The candidates of one family.

    ranked: neither blank nor repeated; the recall rank of each is its position, from 1.
    left_out: receipt lines of the others.
    """

    ranked: list[Candidate]
    left_out: list[ReceiptLine]


def select(recalled: Recalled, family: Family) -> Selection:
    """Return the candidates of `family` for assembly: merged over Scopes, then without blanks and repetitions."""
    pools, left_out = _pools(recalled, family)
    filled = _without_blanks(round_robin(pools), left_out)
    return Selection(_without_repetitions(filled, left_out), left_out)


def select_legacy(recalled: Recalled, family: Family) -> Selection:
    """Return the candidates of `family` for the legacy output, which drops blanks before Scopes take turns."""
    pools, left_out = _pools(recalled, family)
    merged = round_robin([_without_blanks(pool, left_out) for pool in pools])
    return Selection(_without_repetitions(merged, left_out), left_out)


def _pools(recalled: Recalled, family: Family) -> tuple[list[list[Candidate]], list[ReceiptLine]]:
    """Return the candidates of each Scope that are in the pool, and receipt lines of those beyond it."""
    groups = _groups(recalled, family)
    pool = _pool_size(family)
    left_out: list[ReceiptLine] = []
    if pool is None or sum(map(len, groups)) <= pool:
        return groups, left_out
    kept: list[list[Candidate]] = []
    for group, share in zip(groups, pool_shares([len(group) for group in groups], pool), strict=True):
        kept.append(group[:share])
        left_out += [ReceiptLine(candidate.address, "beyond_pool") for candidate in group[share:]]
    return kept, left_out


def _groups(recalled: Recalled, family: Family) -> list[list[Candidate]]:
    match family:
        case "memory":
            return [memory_candidates(group) for group in recalled.memory]
        case "experience":
            return [experience_candidates(group) for group in recalled.experience]
        case "profile":
            return [[profile_candidate(snapshot)] for snapshot in recalled.profile]
        case "topic-memory":
            return [topic_memory_candidates(recalled.current_scope_id, recalled.topic_memory)]
        case _:
            assert_never(family)


def _pool_size(family: Family) -> int | None:
    """Return how many candidates of `family` one request may have; None for Profile, one for each Scope."""
    match family:
        case "memory":
            return MEMORY_POOL
        case "experience":
            return EXPERIENCE_POOL
        case "profile":
            return None
        case "topic-memory":
            return TOPIC_MEMORY_POOL
        case _:
            assert_never(family)


def _without_blanks(candidates: Iterable[Candidate], left_out: list[ReceiptLine]) -> list[Candidate]:
    kept: list[Candidate] = []
    for candidate in candidates:
        if isinstance(candidate.hit, ProfileSnapshot) and candidate.hit.erased:
            left_out.append(ReceiptLine(candidate.address, "erased"))
        elif is_blank(candidate.hit):
            left_out.append(ReceiptLine(candidate.address, "blank"))
        else:
            kept.append(candidate)
    return kept


def _without_repetitions(candidates: Sequence[Candidate], left_out: list[ReceiptLine]) -> list[Candidate]:
    """Keep the first candidate of each exact address; equal bodies at different addresses all stay."""
    kept: list[Candidate] = []
    seen: set[Address] = set()
    for candidate in candidates:
        if candidate.address in seen:
            left_out.append(ReceiptLine(candidate.address, "duplicate"))
        else:
            seen.add(candidate.address)
            kept.append(candidate)
    return kept
