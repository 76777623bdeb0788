"""The tokenizer shared by all engines: from a text to the term ids that its postings are stored under.

Theory of operation. A text is brought to one form (`normal`), then cut into runs of scripts that write no spaces
(`ngrams`: every character and every pair of neighbours is a term) and everything else (`identifiers`: words, stemmed
if they are English, and identifiers whole and by their parts).

What carries no meaning is dropped late. The index leaves out only the few English words that stand in nearly every
text; a query leaves out a longer list, and Chinese function characters too, so that `的` or `why` still finds
something when it is all that was asked. A text or query that would be left with nothing keeps everything.

A term id is a signed 64-bit number, so that it fits an SQL BIGINT: blake2b of a word, and for one or two characters
of an unspaced script their code points, which are exact and need no hash.
"""

from collections import Counter
from typing import Final

from msgspec import Struct

from adapters.text.identifiers import Keep, identifier_terms
from adapters.text.ngrams import RUNS, NGrams, ngram_terms
from adapters.text.normal import normal_form

__all__ = ["TOKENIZER_VERSION", "QueryTerms", "Tokens", "index_terms", "query_terms"]

# Stored with every index; raise it with any change of rules or tables, `reindex` then rebuilds what differs.
TOKENIZER_VERSION: Final = 1


class Tokens(Struct, frozen=True):
    """What one text adds to the index: term id to how often it occurs, and the sum of all occurrences."""

    frequencies: dict[int, int]
    length: int


class QueryTerms(Struct, frozen=True):
    """The term ids of one query; no id is there twice, and none is in both tuples.

    `covered` are single characters that a pair in `terms` contains: they say little that the pair does not, so a
    bounded recall takes them last. `terms` is empty only when nothing but punctuation was asked, which matches
    nothing; `covered` is empty then too.
    """

    terms: tuple[int, ...]
    covered: tuple[int, ...]


def index_terms(text: str) -> Tokens:
    """Return the terms a text is found by. Never raises; time is linear in the length of `text`."""
    words, grams = _terms(text, Keep.INDEXED)
    found = words + grams.singles + grams.pairs
    if not found:
        found, _ = _terms(text, Keep.ALL)
    return Tokens(dict(Counter(found)), len(found))


def query_terms(text: str) -> QueryTerms:
    """Return the terms a query looks for. Never raises; time is linear in the length of `text`."""
    words, grams = _terms(text, Keep.ASKED)
    if not (words or grams.singles or grams.pairs):
        words, grams = _terms(text, Keep.ALL)
    terms = dict.fromkeys(words + grams.pairs + grams.alone)
    covered = tuple(char for char in dict.fromkeys(grams.singles) if char not in terms)
    return QueryTerms(tuple(terms), covered)


def _terms(text: str, keep: Keep) -> tuple[list[int], NGrams]:
    text = normal_form(text)
    if text.isascii():
        return identifier_terms(text, keep), NGrams()
    # With one group, split() alternates: what is between the runs, a run, what is between, …
    segments = RUNS.split(text)
    words = identifier_terms(" ".join(segments[::2]), keep)
    return words, ngram_terms(segments[1::2], drop_function=keep is Keep.ASKED)
