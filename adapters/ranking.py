"""BM25 over blocks of postings: the same bytes and the same arithmetic, so the same order, on every engine.

k1 = 0.9 and b = 0.4 are the usual values for short passages. On the recall tasks of `bench/eval_recall.py`, k1 from 0.6
to 1.2 and b from 0.2 to 0.6 change MRR by 0.02 at most, and no pair is best on all of them.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import lru_cache
from math import log
from typing import Final, NamedTuple

from adapters.postings import code_frequency, code_length, unpack_block

K1: Final = 0.9
B: Final = 0.4

# Terms are taken while their postings fit. On the recall tasks, whose Scopes have 240 to 1,300 documents, 1000 postings
# lose nothing; in one Scope of 5,253 Chinese sentences 2000 give recall@16 and MRR of 0.932 and 0.743, no limit 0.930
# and 0.746. The upper end bounds one recall to a few milliseconds however large the Scope is.
BUDGET_MIN_POSTINGS: Final = 1000
BUDGET_MAX_POSTINGS: Final = 10_000
BUDGET_SHARE: Final = 0.4

# Scores are compared after rounding, so that the last bits of a sum decide nothing and equal texts tie.
SCORE_DIGITS: Final = 6
_LAST_DIGIT: Final = 10**-SCORE_DIGITS

# Above this many places for each posting, most of a list indexed by slot would stay empty.
_PLACES_PER_POSTING: Final = 8


class Term(NamedTuple):
    """One chosen term of a query: its `inverse_document_frequency`, and its blocks, oldest first."""

    idf: float
    blocks: Sequence[bytes]


class Ranked(NamedTuple):
    """One document that the query found; `score` is above 0 and rounded to `SCORE_DIGITS`."""

    slot: int
    score: float


def inverse_document_frequency(n_documents: int, document_frequency: int) -> float:
    """Return how much one occurrence of a term says: ln(1 + (N - df + 0.5) / (df + 0.5)), above 0 for df <= N."""
    return log(1 + (n_documents - document_frequency + 0.5) / (document_frequency + 0.5))


def postings_budget(n_documents: int) -> int:
    """Return how many postings one recall in a Scope of `n_documents` may read."""
    return min(max(BUDGET_MIN_POSTINGS, int(n_documents * BUDGET_SHARE)), BUDGET_MAX_POSTINGS)


def choose_terms(
    document_frequencies: Mapping[int, int], n_documents: int, covered: Collection[int] = ()
) -> tuple[int, ...]:
    """Return the terms to read, in the order in which to rank them: rarest first, `covered` ones after all others.

    document_frequencies: term id to the number of documents that hold it; terms that none holds are passed over.
    Terms are taken while the sum of their frequencies stays within `postings_budget`; the first is always taken.
    Equally rare terms stand in the order of their ids, so that every engine adds the same floats in the same order.
    """
    later = frozenset(covered)
    order = sorted(
        (term in later, frequency, term) for term, frequency in document_frequencies.items() if frequency > 0
    )
    left = postings_budget(n_documents)
    chosen: list[int] = []
    for _, frequency, term in order:
        if frequency <= left or not chosen:
            chosen.append(term)
            left -= frequency
    return tuple(chosen)


def rank(terms: Iterable[Term], average_length: float, limit: int) -> list[Ranked]:
    """Return the `limit` best documents, the best first; of equal scores the larger slot, which is newer, comes first.

    terms: in the order of `choose_terms`. average_length: in tokens, above 0. Raises ValueError as `unpack_block` does.
    """
    decoded: list[tuple[float, int, Sequence[int]]] = []
    for idf, blocks in terms:
        for data in blocks:
            count, values = unpack_block(data)
            if count:
                decoded.append((idf, count, values))
    if limit <= 0 or not decoded:
        return []
    # Slots grow within a block, so its last is its largest.
    places = 1 + max([values[count - 1] for _, count, values in decoded])
    postings = sum([count for _, count, _ in decoded])
    # A list indexed by slot takes half the time of a dict, unless most of its places stay empty.
    sums: list[float] | defaultdict[int, float]
    sums = [0.0] * places if places <= _PLACES_PER_POSTING * postings else defaultdict(float)
    weight_of = _weights(average_length).__getitem__
    for idf, count, values in decoded:
        # The slots come first and the codes end the loop.
        for slot, weight in zip(values, map(weight_of, values[count:]), strict=False):
            sums[slot] += idf * weight
    floor = _floor(sums, (values[:count] for _, count, values in decoded), limit)
    scored = enumerate(sums) if isinstance(sums, list) else sums.items()
    found = [(round(score, SCORE_DIGITS), slot) for slot, score in scored if score >= floor]
    found.sort(reverse=True)
    return [Ranked(slot, score) for score, slot in found[:limit]]


def _floor(sums: Sequence[float] | Mapping[int, float], found: Iterable[Sequence[int]], limit: int) -> float:
    """A score that at least `limit` documents reach, or else one below that of every match.

    found: slots of matches, those of the rarest term first, whose documents are the likely winners. Sorting the scores
    of all matches costs as much as adding them up.
    """
    some: set[int] = set()
    for slots in found:
        some.update(slots)
        if len(some) >= limit:
            # What rounds to the same score is within one unit of the last digit.
            return max(sorted([sums[slot] for slot in some])[-limit] - _LAST_DIGIT, _LAST_DIGIT / 2)
    return _LAST_DIGIT / 2


class _Weights(dict[int, float]):
    """Posting code to its share of BM25 without idf, filled as codes are met."""

    def __init__(self, average_length: float) -> None:
        super().__init__()
        self._average_length = average_length

    def __missing__(self, code: int) -> float:
        frequency = code_frequency(code)
        saturation = K1 * (1 - B + B * code_length(code) / self._average_length)
        weight = self[code] = frequency * (K1 + 1) / (frequency + saturation)
        return weight


# Kept between queries: the average changes only when a Scope does, and filling the table costs as much as the sum.
_weights = lru_cache(maxsize=64)(_Weights)
