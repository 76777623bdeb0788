"""Three ways to search the Scopes of `bench.recall_tasks`: through the store, in memory, and SQLite's own full text.

Each answers a Scope with, for every question in turn, the positions of the texts found, the best first.
"""

import re
import sqlite3
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from unittest.mock import patch
from uuid import uuid4

from adapters import ranking
from adapters.postings import encode_block, posting_code
from adapters.sql.index import BLOCK_POSTINGS
from adapters.sql.storage import SqlStorage
from adapters.text import Tokens, english, identifiers, index_terms, ngrams, query_terms
from bench.data import Entry
from bench.fill import fill_in_process
from bench.recall_tasks import Scope
from contracts.errors import ScopeNotFound
from contracts.limits import MEMORY_POOL

FIRST_VERSION = 1
"""Of a Scope that was just created."""


async def through_store(storage: SqlStorage, scope: Scope) -> list[list[int]]:
    """Create the Scope, import its texts, recall each question as prepare does, and delete the Scope again."""
    positions = {text: position for position, text in enumerate(scope.texts)}
    scope_id = f"eval-recall-{uuid4()}"
    try:
        await fill_in_process(storage, scope_id, (Entry("fact", text) for text in scope.texts), len(scope.texts))
        resolved = await storage.scopes.resolve(scope_id)
        groups = [
            await storage.memory_recall.recall(resolved.scope, question.text, MEMORY_POOL)
            for question in scope.questions
        ]
        return [[positions[hit.text] for hit in group.hits] for group in groups]
    finally:
        with suppress(ScopeNotFound):
            await storage.scopes.delete(scope_id, FIRST_VERSION)


def in_memory(scope: Scope) -> list[list[int]]:
    """Found by the project's tokenizer and ranking over blocks in memory, without a database."""
    postings = _Postings(scope.texts)
    return [postings.search(question.text) for question in scope.questions]


class _Postings:
    """The blocks of one Scope. A text's slot is its position."""

    def __init__(self, texts: Sequence[str]) -> None:
        tokens: list[Tokens] = [index_terms(text) for text in texts]
        self._n_documents = len(texts)
        self._average_length = sum(each.length for each in tokens) / len(texts)
        postings: dict[int, list[tuple[int, int]]] = {}
        for slot, each in enumerate(tokens):
            for term, frequency in each.frequencies.items():
                code = posting_code(frequency, each.length)
                postings.setdefault(term, []).append((slot, code))
        self._frequencies = {term: len(found) for term, found in postings.items()}
        self._terms = {
            term: ranking.Term(
                ranking.inverse_document_frequency(len(texts), len(found)),
                [encode_block(found[at : at + BLOCK_POSTINGS]) for at in range(0, len(found), BLOCK_POSTINGS)],
            )
            for term, found in postings.items()
        }

    def search(self, query: str) -> list[int]:
        asked = query_terms(query)
        frequencies = {term: self._frequencies.get(term, 0) for term in (*asked.terms, *asked.covered)}
        chosen = ranking.choose_terms(frequencies, self._n_documents, asked.covered)
        terms = [self._terms[term] for term in chosen]
        return [slot for slot, _ in ranking.rank(terms, self._average_length, MEMORY_POOL)]


def by_unicode61(scope: Scope) -> list[list[int]]:
    """Found by FTS5 with its default tokenizer, any word of the question: what one gets without any of this."""
    with closing(sqlite3.connect(":memory:")) as database:
        database.execute("CREATE VIRTUAL TABLE entry USING fts5(text, tokenize = 'unicode61')")
        database.executemany("INSERT INTO entry (rowid, text) VALUES (?, ?)", enumerate(scope.texts))
        return [_match(database, question.text) for question in scope.questions]


def _match(database: sqlite3.Connection, query: str) -> list[int]:
    words = " OR ".join(f'"{word}"' for word in re.findall(r"\w+", query))
    if not words:
        return []
    rows = database.execute("SELECT rowid FROM entry WHERE entry MATCH ? ORDER BY rank LIMIT ?", (words, MEMORY_POOL))
    return [row[0] for row in rows]


def _without_pairs(runs: list[str], *, drop_function: bool) -> ngrams.NGrams:
    found = ngrams.ngram_terms(runs, drop_function=drop_function)
    return ngrams.NGrams([], found.singles, found.singles)


def _whole_only(chunk: str, terms: list[str]) -> None:
    # What a tokenizer without identifier rules sees: the letters and digits between punctuation, in lower case.
    terms.extend(english.stem(word.lower()) for word in re.findall(r"\w+", chunk))


# What each variant replaces: (module or class, attribute, replacement).
VARIANTS: dict[str, list[tuple[object, str, object]]] = {
    "no English stems": [(identifiers, "stem", lambda word: word)],
    "no irregular forms": [(english, "_BASE_FORM", {})],
    "no stop words": [
        (identifiers, "_DROPPED", dict.fromkeys(identifiers.Keep, frozenset[str]())),
        (ngrams, "_GAP_AND_FUNCTION", frozenset({ord(" ")})),
    ],
    "no identifier parts": [(identifiers, "_add_chunk", _whole_only)],
    "no pairs of characters": [(sys.modules["adapters.text"], "ngram_terms", _without_pairs)],
    "no Traditional table": [(ngrams, "_simplified", dict)],
    "no postings budget": [(ranking, "postings_budget", lambda n_documents: n_documents * 10_000)],
    "postings budget of 500": [(ranking, "postings_budget", lambda n_documents: 500)],
}


@contextmanager
def variant(name: str) -> Iterator[None]:
    """Within it, `in_memory` does without the rule that the variant of this name switches off."""
    with ExitStack() as stack:
        # Words that are cached were cut by the rules in force at the time.
        stack.callback(identifiers.clear_cache)
        for target, attribute, replacement in VARIANTS[name]:
            stack.enter_context(patch.object(target, attribute, replacement))
        identifiers.clear_cache()
        yield
