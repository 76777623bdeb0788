"""The text index: postings in blocks, written in the transaction of the rows they point at.

A term's newest postings are its tail, whose `n` is the term's document frequency. A full tail is sealed as a block
named by its first slot. Slots only grow, so the block that holds a slot is found by name. A write touches one small row
for each of its terms, whatever the size of the Scope. Tails are a table of their own, so that those of one Scope lie
together: between sealed blocks each would cost a page of its own at every read and write.
"""

from array import array
from collections import defaultdict
from collections.abc import Iterable, Sequence
from enum import IntEnum
from typing import NamedTuple, TypeAlias

from adapters.postings import POSTING_BYTES, append_posting, count_postings, first_slot, posting_code, remove_posting
from adapters.sql.engine import Dialect, Transaction, execute_in, fetch_in
from adapters.sql.vectors import remove_vectors
from adapters.text import index_terms

BLOCK_POSTINGS = 128
"""Postings of a sealed block. A tail is rewritten at every write of its term, so it must stay small."""

Posting: TypeAlias = tuple[int, int]
"""A slot, and the code of the term's frequency and the document's length (`adapters.postings`)."""


class Corpus(IntEnum):
    """What is searched together; each has its own document count, lengths and frequencies."""

    MEMORY = 1
    EXPERIENCE = 2
    TOPIC = 3
    TOPIC_DETAIL = 4


class Document(NamedTuple):
    """A text under its slot. Slots of one corpus of one Scope are positive, never reused, and only grow."""

    slot: int
    text: str


class _Tail(NamedTuple):
    """The document frequency of a term and its newest postings."""

    n: int = 0
    data: bytes = b""


async def index_documents(
    transaction: Transaction,
    dialect: Dialect,
    scope: int,
    corpus: Corpus,
    added: Sequence[Document],
    removed: Sequence[int],
) -> None:
    """Add documents and take out `removed` slots, all in as few statements as the number of terms allows.

    Slots that are not indexed are ignored in `removed`. The caller holds the Scope's lock.
    """
    entering, length_added, rows = _tokenize(scope, corpus, added)
    leaving, length_removed = await _stored_terms(transaction, scope, corpus, removed)
    terms = sorted(entering.keys() | leaving.keys())
    tails = {
        term: _Tail(n, bytes(data))
        for term, n, data in await fetch_in(
            transaction,
            "SELECT term, n, data FROM posting_tail WHERE scope = ? AND corpus = ? AND term IN (…)",
            (scope, corpus),
            terms,
        )
    }
    sealed: dict[tuple[int, int], bytes] = {}
    for term in terms:
        frequency, tail = tails.get(term, _Tail())
        for slot in leaving.get(term, ()):
            kept = remove_posting(tail, slot)
            if kept is tail:
                await _remove_sealed(transaction, scope, corpus, term, slot, sealed)
            tail = kept
            frequency -= 1
        for slot, code in entering.get(term, ()):
            tail = append_posting(tail, slot, code)
            frequency += 1
            if len(tail) == BLOCK_POSTINGS * POSTING_BYTES:
                sealed[term, first_slot(tail)] = tail
                tail = b""
        tails[term] = _Tail(frequency, tail)
    await _write_tails(transaction, dialect, scope, corpus, tails)
    await _write_sealed(transaction, dialect, scope, corpus, sealed)
    await transaction.execute_many(
        "INSERT INTO posting_document (scope, corpus, slot, length, terms) VALUES (?, ?, ?, ?, ?)", rows
    )
    await execute_in(
        transaction,
        "DELETE FROM posting_document WHERE scope = ? AND corpus = ? AND slot IN (…)",
        (scope, corpus),
        removed,
    )
    await remove_vectors(transaction, scope, corpus, removed)
    await _count(
        transaction, dialect, scope, corpus, len(rows) - len(length_removed), length_added - sum(length_removed)
    )


async def clear_corpus(transaction: Transaction, scope: int, corpus: Corpus) -> None:
    """Take everything of one corpus of one Scope out of the index."""
    for table in ("posting_tail", "posting", "posting_document", "corpus"):
        await transaction.execute(f"DELETE FROM {table} WHERE scope = ? AND corpus = ?", scope, corpus)


def _tokenize(
    scope: int, corpus: Corpus, added: Iterable[Document]
) -> tuple[dict[int, list[Posting]], int, list[tuple[int, int, int, int, bytes]]]:
    """Postings by term, the documents' length together, and their rows of `posting_document`."""
    entering: dict[int, list[Posting]] = defaultdict(list)
    rows = []
    length_sum = 0
    for document in added:
        tokens = index_terms(document.text)
        for term, frequency in tokens.frequencies.items():
            entering[term].append((document.slot, posting_code(frequency, tokens.length)))
        length_sum += tokens.length
        terms = array("q", sorted(tokens.frequencies)).tobytes()
        rows.append((scope, int(corpus), document.slot, tokens.length, terms))
    return entering, length_sum, rows


async def _stored_terms(
    transaction: Transaction, scope: int, corpus: Corpus, slots: Sequence[int]
) -> tuple[dict[int, list[int]], list[int]]:
    """Slots by term, and the lengths, of the indexed documents among `slots`."""
    leaving: dict[int, list[int]] = defaultdict(list)
    lengths = []
    for slot, length, terms in await fetch_in(
        transaction,
        "SELECT slot, length, terms FROM posting_document WHERE scope = ? AND corpus = ? AND slot IN (…)",
        (scope, corpus),
        slots,
    ):
        lengths.append(int(length))
        stored = array("q")
        stored.frombytes(terms)
        for term in stored:
            leaving[term].append(slot)
    return leaving, lengths


async def _remove_sealed(
    transaction: Transaction,
    scope: int,
    corpus: Corpus,
    term: int,
    slot: int,
    sealed: dict[tuple[int, int], bytes],
) -> None:
    """Take `slot` out of the sealed block that holds it; an emptied block stays in `sealed` without postings."""
    rows = await transaction.fetch(
        "SELECT block, data FROM posting WHERE scope = ? AND corpus = ? AND term = ? AND block <= ?"
        " ORDER BY block DESC LIMIT 1",
        scope,
        corpus,
        term,
        slot,
    )
    if not rows:
        raise AssertionError("the index does not hold a document that it lists; run reindex")
    name, data = rows[0]
    sealed[term, name] = remove_posting(sealed.get((term, name), bytes(data)), slot)


async def _write_tails(
    transaction: Transaction, dialect: Dialect, scope: int, corpus: Corpus, tails: dict[int, _Tail]
) -> None:
    """Store the tails; the row of a term that no document holds any more goes."""
    # Always in one order, so that engines which lock rows never lock crosswise.
    ordered = sorted(tails.items())
    await transaction.execute_many(
        dialect.upsert("posting_tail", ["scope", "corpus", "term"], ["n", "data"]),
        [(scope, int(corpus), term, tail.n, tail.data) for term, tail in ordered if tail.n],
    )
    await execute_in(
        transaction,
        "DELETE FROM posting_tail WHERE scope = ? AND corpus = ? AND term IN (…)",
        (scope, int(corpus)),
        [term for term, tail in ordered if not tail.n],
    )


async def _write_sealed(
    transaction: Transaction, dialect: Dialect, scope: int, corpus: Corpus, sealed: dict[tuple[int, int], bytes]
) -> None:
    """Store the sealed blocks by (term, first slot); those without postings go."""
    ordered = sorted(sealed.items())
    await transaction.execute_many(
        dialect.upsert("posting", ["scope", "corpus", "term", "block"], ["n", "data"]),
        [(scope, int(corpus), term, name, count_postings(data), data) for (term, name), data in ordered if data],
    )
    emptied: dict[int, list[int]] = defaultdict(list)
    for (term, name), data in ordered:
        if not data:
            emptied[name].append(term)
    for name, terms in emptied.items():
        await execute_in(
            transaction,
            "DELETE FROM posting WHERE scope = ? AND corpus = ? AND block = ? AND term IN (…)",
            (scope, int(corpus), name),
            terms,
        )


async def _count(
    transaction: Transaction, dialect: Dialect, scope: int, corpus: Corpus, documents: int, length: int
) -> None:
    """Add to the corpus' document count and length."""
    rows = await transaction.fetch("SELECT live, length_sum FROM corpus WHERE scope = ? AND corpus = ?", scope, corpus)
    live, length_sum = rows[0] if rows else (0, 0)
    sql = dialect.upsert("corpus", ["scope", "corpus"], ["live", "length_sum"])
    await transaction.execute(sql, scope, corpus, live + documents, length_sum + length)
