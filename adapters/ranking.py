"""BM25 over blocks of postings: the same bytes and the same arithmetic, so the same order, on every engine.

A posting is a document slot, a number below 2^32 that grows with every document of its Scope and family, and a code
for how often the term occurs in the document and how long the document is. A block of n postings is n slots, 4 bytes
each, followed by n codes, 2 bytes each, all little-endian on every host.

k1 = 0.9 and b = 0.4 are the usual values for short passages. On the recall tasks of `bench/eval_recall.py`, k1 from 0.6
to 1.2 and b from 0.2 to 0.6 change MRR by 0.02 at most, and no pair is best on all of them.
"""

import struct
import sys
from array import array
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import lru_cache
from math import log
from typing import Final, NamedTuple

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

_LENGTH_BITS: Final = 10
_LENGTH_MASK: Final = (1 << _LENGTH_BITS) - 1
_MANTISSA_BITS: Final = 6
_MANTISSA_MASK: Final = (1 << _MANTISSA_BITS) - 1
_FREQUENCY_MAX: Final = (1 << (16 - _LENGTH_BITS)) - 1
_POSTING_BYTES: Final = 6
_SLOT_BYTES: Final = 4
_UINT32: Final = "I" if array("I").itemsize == _SLOT_BYTES else "L"

# Above this many places for each posting, most of a list indexed by slot would stay empty.
_PLACES_PER_POSTING: Final = 8


class Term(NamedTuple):
    """One chosen term of a query: in how many documents it stands, and the blocks that say which."""

    document_frequency: int
    blocks: Sequence[bytes]


class Ranked(NamedTuple):
    """One document that the query found; `score` is above 0 and rounded to `SCORE_DIGITS`."""

    slot: int
    score: float


def posting_code(frequency: int, length: int) -> int:
    """Return 16 bits for a term's frequency in a document and the document's length, both in tokens and at least 1.

    A frequency above 63 counts as 63, where BM25 has long been saturated. The length is exact below 128 and within
    0.8 % up to 2,080,768, which longer texts count as.
    """
    return min(frequency, _FREQUENCY_MAX) << _LENGTH_BITS | _length_code(length)


def code_frequency(code: int) -> int:
    """Return the frequency a posting code stands for."""
    return code >> _LENGTH_BITS


def code_length(code: int) -> int:
    """Return the document length a posting code stands for, in tokens."""
    exponent = code >> _MANTISSA_BITS & (_LENGTH_MASK >> _MANTISSA_BITS)
    mantissa = code & _MANTISSA_MASK
    return mantissa if exponent == 0 else (mantissa | 1 << _MANTISSA_BITS) << (exponent - 1)


def _length_code(length: int) -> int:
    # A small float without sign: as in IEEE 754, exponent 0 has no implied leading bit, so small lengths are exact and
    # the codes of growing lengths grow.
    shift = max(length.bit_length() - _MANTISSA_BITS - 1, 0)
    if shift:
        length = (length + (1 << shift - 1)) >> shift << shift  # to the nearest; may carry into one more bit
        shift = length.bit_length() - _MANTISSA_BITS - 1
    return min((shift << _MANTISSA_BITS) + (length >> shift), _LENGTH_MASK)


def encode_block(postings: Sequence[tuple[int, int]]) -> bytes:
    """Return the block of (slot, code) pairs, in the order given."""
    count = len(postings)
    return struct.pack(f"<{count}I{count}H", *(slot for slot, _ in postings), *(code for _, code in postings))


def decode_block(data: bytes) -> tuple[Sequence[int], Sequence[int]]:
    """Return the slots and the codes of a block, in its order.

    Raises ValueError when the length is not that of a whole block: the stored bytes are damaged.
    """
    count, rest = divmod(len(data), _POSTING_BYTES)
    if rest:
        raise ValueError(f"a block of postings has a multiple of {_POSTING_BYTES} bytes, not {len(data)}")
    slots, codes = array(_UINT32), array("H")
    slots.frombytes(data[: count * _SLOT_BYTES])
    codes.frombytes(data[count * _SLOT_BYTES :])
    if sys.byteorder == "big":
        slots.byteswap()
        codes.byteswap()
    return slots, codes


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


def rank(terms: Iterable[Term], n_documents: int, average_length: float, limit: int) -> list[Ranked]:
    """Return the `limit` best documents, the best first; of equal scores the larger slot, which is newer, comes first.

    terms: in the order of `choose_terms`, with all blocks of each. n_documents: live documents, at least every term's
    frequency. average_length: in tokens, above 0. Raises ValueError as `decode_block` does.
    """
    decoded = [
        (inverse_document_frequency(n_documents, frequency), [decode_block(data) for data in blocks])
        for frequency, blocks in terms
    ]
    weight_of = _weights(average_length).__getitem__
    # Slots grow within a block, so its last is its largest.
    places = 1 + max((slots[-1] for _, blocks in decoded for slots, _ in blocks if slots), default=0)
    postings = sum(len(slots) for _, blocks in decoded for slots, _ in blocks)
    # A list indexed by slot takes half the time of a dict, unless most of its places stay empty.
    sums: list[float] | defaultdict[int, float]
    sums = [0.0] * places if places <= _PLACES_PER_POSTING * postings else defaultdict(float)
    for idf, blocks in decoded:
        for slots, codes in blocks:
            for slot, weight in zip(slots, map(weight_of, codes), strict=True):
                sums[slot] += idf * weight
    if isinstance(sums, list):
        return _best(sums, enumerate(sums), limit)
    return _best(sums.values(), sums.items(), limit)


def _best(scores: Iterable[float], scored: Iterable[tuple[int, float]], limit: int) -> list[Ranked]:
    """Return the best of `scored`, (slot, score) pairs of the same `scores`; a score of 0 is no match."""
    # Rounding everything costs more than scoring it. What rounds to the limit-th score or above is within one unit of
    # the last digit of it.
    best = sorted(scores)[-limit:] if limit > 0 else []
    floor = max(best[0] - _LAST_DIGIT, _LAST_DIGIT / 2) if best else 1.0
    found = [(round(score, SCORE_DIGITS), slot) for slot, score in scored if score >= floor]
    found.sort(reverse=True)
    return [Ranked(slot, score) for score, slot in found[:limit]]


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
