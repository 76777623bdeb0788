"""Reads the text index: the postings of a query's terms, within the budget, ranked."""

from functools import lru_cache

from adapters.postings import POSTING_BYTES
from adapters.ranking import K1, Term, choose_terms, inverse_document_frequency, postings_budget, rank
from adapters.sql.engine import Transaction, fetch_in
from adapters.sql.index import BLOCK_POSTINGS, Corpus
from adapters.text import query_terms

# The legs of one prepare ask with the same query; tokenizing 8192 characters costs milliseconds.
_terms_of = lru_cache(maxsize=8)(query_terms)


def has_terms(query: str) -> bool:
    """Whether the query names anything that could be found."""
    return bool(_terms_of(query).terms)


async def search_corpus(
    transaction: Transaction, scope: int, corpus: Corpus, query: str, limit: int
) -> list[tuple[int, float]]:
    """(slot, score) of at most `limit` live documents, best first; a score is above 0 and at most 1.

    A query without terms (punctuation alone) matches nothing.
    """
    asked = _terms_of(query)
    if not asked.terms:
        return []
    counted = await transaction.fetch(
        "SELECT live, length_sum FROM corpus WHERE scope = ? AND corpus = ?", scope, corpus
    )
    live, length_sum = counted[0] if counted else (0, 0)
    if not live:
        return []
    tails = {
        term: (frequency, data)
        for term, frequency, data in await fetch_in(
            transaction,
            "SELECT term, n, data FROM posting_tail WHERE scope = ? AND corpus = ? AND term IN (…)",
            (scope, corpus),
            asked.terms + asked.covered,
        )
    }
    frequencies = {term: frequency for term, (frequency, _) in tails.items()}
    chosen = choose_terms(frequencies, live, asked.covered)
    budget = postings_budget(live)
    with_sealed = [term for term in chosen if len(tails[term][1]) < tails[term][0] * POSTING_BYTES]
    if with_sealed and frequencies[with_sealed[0]] > budget:
        # The rarest term alone is above the budget, and so the only one chosen: its newest postings are read.
        sealed = await _newest_blocks(transaction, scope, corpus, with_sealed[0], budget // BLOCK_POSTINGS)
    else:
        sealed = await _sealed_blocks(transaction, scope, corpus, with_sealed)
    terms = [
        Term(inverse_document_frequency(live, frequencies[term]), (*sealed.get(term, ()), bytes(tails[term][1])))
        for term in chosen
    ]
    # Every term in every one of its occurrences saturated: no document can score as much.
    most = sum([term.idf for term in terms]) * (K1 + 1)
    return [(slot, min(score / most, 1.0)) for slot, score in rank(terms, max(length_sum / live, 1.0), limit)]


async def _newest_blocks(
    transaction: Transaction, scope: int, corpus: Corpus, term: int, count: int
) -> dict[int, list[bytes]]:
    """The last `count` sealed blocks of one term, oldest first."""
    rows = await transaction.fetch(
        "SELECT data FROM posting WHERE scope = ? AND corpus = ? AND term = ? ORDER BY block DESC LIMIT ?",
        scope,
        corpus,
        term,
        count,
    )
    return {term: [bytes(data) for (data,) in reversed(rows)]}


async def _sealed_blocks(
    transaction: Transaction, scope: int, corpus: Corpus, terms: list[int]
) -> dict[int, list[bytes]]:
    """The sealed blocks of each term, oldest first."""
    blocks: dict[int, list[tuple[int, bytes]]] = {}
    for term, name, data in await fetch_in(
        transaction,
        "SELECT term, block, data FROM posting WHERE scope = ? AND corpus = ? AND term IN (…)",
        (scope, corpus),
        terms,
    ):
        blocks.setdefault(term, []).append((name, bytes(data)))
    return {term: [data for _, data in sorted(named)] for term, named in blocks.items()}
