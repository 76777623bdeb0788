"""BM25 over posting blocks, against the formula written down a second time."""

import math
from collections.abc import Mapping, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapters.postings import encode_block, posting_code
from adapters.ranking import Term, choose_terms, inverse_document_frequency, postings_budget, rank

Document = Mapping[int, int]
"""Term to frequency."""

DOCUMENTS = st.lists(st.dictionaries(st.integers(1, 6), st.integers(1, 9)), min_size=1, max_size=30)


def blocks(postings: Sequence[tuple[int, int]], size: int = 4) -> list[bytes]:
    return [encode_block(postings[at : at + size]) for at in range(0, len(postings), size)]


def chosen_terms(documents: Sequence[Document], lengths: Sequence[int], asked: Sequence[int]) -> list[Term]:
    terms = []
    for term in asked:
        postings = [
            (slot, posting_code(document[term], lengths[slot]))
            for slot, document in enumerate(documents)
            if term in document
        ]
        if postings:
            terms.append(Term(inverse_document_frequency(len(documents), len(postings)), blocks(postings)))
    return terms


def okapi(documents: Sequence[Document], lengths: Sequence[int], asked: Sequence[int], slot: int) -> float:
    """RECALL.md's formula, term by term, with no shortcut."""
    average = sum(lengths) / len(lengths)
    total = 0.0
    for term in asked:
        tf = documents[slot].get(term, 0)
        df = len([document for document in documents if term in document])
        if tf:
            idf = math.log(1 + (len(documents) - df + 0.5) / (df + 0.5))
            total += idf * tf * (0.9 + 1) / (tf + 0.9 * (1 - 0.4 + 0.4 * lengths[slot] / average))
    return total


@given(DOCUMENTS, st.sets(st.integers(1, 6), min_size=1), st.integers(1, 40))
def test_ranks_as_the_formula_does(documents: list[Document], asked: set[int], limit: int) -> None:
    """Lengths below 128 are kept exactly, so that the two may be compared."""
    lengths = [min(max(sum(document.values()), 1), 127) for document in documents]
    order = sorted(asked)
    expected = [
        (slot, round(okapi(documents, lengths, order, slot), 6))
        for slot, document in enumerate(documents)
        if asked & document.keys()
    ]
    expected.sort(key=lambda each: (-each[1], -each[0]))
    terms = chosen_terms(documents, lengths, order)
    assert rank(terms, sum(lengths) / len(lengths), limit) == expected[:limit]


def test_one_posting_scores_as_calculated_by_hand() -> None:
    """N = 2, df = 1, tf = 1, length = average: idf = ln 2, and the rest is 1.9 / 1.9."""
    term = Term(inverse_document_frequency(2, 1), [encode_block([(7, posting_code(1, 10))])])
    assert rank([term], 10.0, 5) == [(7, 0.693147)]


def test_of_equal_scores_the_newer_document_comes_first() -> None:
    term = Term(0.5, [encode_block([(slot, posting_code(1, 10)) for slot in (3, 5, 11)])])
    assert [slot for slot, _ in rank([term], 10.0, 2)] == [11, 5]


def test_scores_that_differ_below_the_sixth_digit_are_equal() -> None:
    """A frequency of 63 and a length of 1,000,000 against an average of 10^12: the two differ by about 1e-8."""
    one, other = posting_code(63, 1_000_000), posting_code(63, 1_040_000)
    term = Term(0.2, [encode_block([(1, one), (2, other)])])
    assert [slot for slot, _ in rank([term], 1e12, 1)] == [2]


def test_a_rarer_term_outweighs_a_common_one() -> None:
    rare = Term(inverse_document_frequency(5, 1), [encode_block([(1, posting_code(1, 10))])])
    common = Term(inverse_document_frequency(5, 3), [encode_block([(slot, posting_code(1, 10)) for slot in (2, 3, 4)])])
    assert rank([common, rare], 10.0, 5)[0].slot == 1


def test_nothing_asked_finds_nothing() -> None:
    assert rank([], 5.0, 16) == []
    assert choose_terms({}, 10) == ()


def test_a_damaged_block_is_refused() -> None:
    with pytest.raises(ValueError, match="multiple of 6 bytes"):
        rank([Term(1.0, [bytes(7)])], 1.0, 1)


@pytest.mark.parametrize(
    ("n_documents", "budget"), [(0, 1000), (2500, 1000), (5000, 2000), (25_000, 10_000), (10**7, 10_000)]
)
def test_the_budget_grows_with_the_scope_between_two_bounds(n_documents: int, budget: int) -> None:
    assert postings_budget(n_documents) == budget


def test_terms_are_taken_rarest_first_until_the_budget_is_spent() -> None:
    """Of a budget of 2000: 5 + 100 + 1800 = 1905; the next 200 no longer fit."""
    assert choose_terms({11: 1800, 12: 5, 13: 2001, 14: 100}, 5000) == (12, 14, 11)
    assert choose_terms({11: 1800, 12: 5, 13: 200, 14: 100}, 5000) == (12, 14, 13)


def test_covered_characters_are_taken_last_however_rare() -> None:
    assert choose_terms({1: 1, 2: 1900, 3: 90, 4: 150}, 5000, covered=(1, 3, 4)) == (2, 1, 3)


def test_the_rarest_term_is_taken_whatever_it_costs() -> None:
    assert choose_terms({1: 90_000, 2: 95_000}, 100_000) == (1,)
    assert choose_terms({5: 90_000}, 100_000, covered=(5,)) == (5,)


def test_equally_rare_terms_stand_in_the_order_of_their_ids() -> None:
    assert choose_terms({9: 2, -4: 2, 1: 2}, 10) == (-4, 1, 9)


def test_terms_that_no_document_holds_are_passed_over() -> None:
    assert choose_terms({1: 0, 2: 3}, 10) == (2,)


@given(st.dictionaries(st.integers(), st.integers(0, 5000), max_size=30), st.integers(1, 60_000))
def test_the_budget_is_never_exceeded_by_more_than_the_first_term(frequencies: dict[int, int], n: int) -> None:
    chosen = choose_terms(frequencies, n)
    assert sum(frequencies[term] for term in chosen[1:]) <= postings_budget(n)
    assert bool(chosen) == any(frequencies.values())
