"""Words and identifiers: each is found whole and by each of its parts, however it is spelled.

A chunk is words joined without a space. It is cut at path separators, then at dots, colons and @, then at hyphens,
underscores, apostrophes and &, then inside a word at changes of case and at digits; every level adds its own whole:

    bin/deploy-check.py  →  bin/deploy-check.py · bin · deploy-check.py · deploycheck · deploy · check · py
    HTTPServerError      →  httpservererror · http · server · error

The whole of the hyphen level is the words written together, so that `deploy-check`, `deploy_check`, `deployCheck` and
`deploycheck` find each other.
"""

import re
from enum import Enum
from functools import lru_cache
from hashlib import blake2b
from typing import Final

from adapters.text.english import COMMON_WORDS, STOP_WORDS, stem


class Keep(Enum):
    """Which words are kept: those the index holds, those a query asks for, or all."""

    INDEXED = "indexed"
    ASKED = "asked"
    ALL = "all"


_DROPPED: Final[dict[Keep, frozenset[str]]] = {
    Keep.INDEXED: COMMON_WORDS,
    Keep.ASKED: STOP_WORDS,
    Keep.ALL: frozenset(),
}

# Vowel signs and accents that are part of a word although `\w` leaves them out: Latin leftovers, Cyrillic, Hebrew,
# Arabic, the Indic blocks, Tibetan.
_MARKS: Final = (
    "\u0300-\u036f\u0483-\u0487\u0591-\u05bd\u0610-\u061a\u064b-\u065f\u0670\u0900-\u0963\u0966-\u0dff\u0f18-\u0f84"
)
_PICTURES: Final = (
    "|[\U0001f1e6-\U0001f1ff]{2}"  # two regional indicators are one flag
    "|[\u2300-\u23ff\u2600-\u27bf\u2b00-\u2bff\U0001f000-\U0001f1e5\U0001f1e6-\U0001f3fa\U0001f400-\U0001fbff]"
)


def _chunks(word: str, other: str) -> re.Pattern[str]:
    # `#` counts before a number (#1489) and, like ++, at the end of a language's name (C#, C++). No two alternatives
    # can match the same text, so that nothing is tried twice.
    joint = r"(?:::|:\\|[-./\\:@'&])"
    return re.compile(rf"(?:\#(?=[0-9]))?{word}(?:{joint}{word})*(?:\+\+(?!\w)|\#(?!\w))?{other}")


_ASCII_CHUNKS: Final = _chunks(r"[A-Za-z0-9_]+", "")
_CHUNKS: Final = _chunks(rf"[\w{_MARKS}]+", _PICTURES)
_WORD_PIECES: Final = re.compile(r"[A-Z]{2,}s?(?![a-z])|[A-Z]?[a-z]+|[A-Z]|[0-9]+")
_ENDING: Final = re.compile(r"(?:n't|'(?:s|m|re|ve|ll|d))$", re.IGNORECASE)
_PATH_SEPARATORS: Final = re.compile(r"[/\\]+")
_DOTS: Final = re.compile(r"[.:@]+")
_HYPHENS: Final = re.compile(r"[-_'&]+")
_VERSION: Final = re.compile(r"v(\d+(?:\.\d+)+)")
_HEXADECIMAL: Final = re.compile(r"[0-9a-f]{8,}")
_SHORT_HASH_CHARS: Final = 7  # what git prints of a commit
_CACHED_CHUNK_MAX_CHARS: Final = 48
_SHOUTING_MIN_SPACES: Final = 3


def identifier_terms(text: str, keep: Keep) -> list[int]:
    """Return the term ids, repeats included, of a normal text that holds no unspaced script."""
    if text.isascii():
        # Capitals mark an acronym (IT, US) only where the rest of the text is not in capitals as well.
        if text.isupper() and text.count(" ") >= _SHOUTING_MIN_SPACES:
            text = text.lower()
        chunks = _ASCII_CHUNKS.findall(text)
    else:
        chunks = _CHUNKS.findall(text)
    found: list[int] = []
    for chunk in chunks:
        # Only short chunks are cached: the cache is bounded in entries, and this bounds it in bytes.
        found += _cached(chunk, keep) if len(chunk) <= _CACHED_CHUNK_MAX_CHARS else _chunk_ids(chunk, keep)
    return found


def _chunk_ids(chunk: str, keep: Keep) -> tuple[int, ...]:
    terms: list[str] = []
    if "'" in chunk and chunk.lower() not in _DROPPED[keep]:
        chunk = _ENDING.sub("", chunk)
    if chunk.casefold() not in _DROPPED[keep] or (len(chunk) > 1 and chunk.isupper()):
        _add_chunk(chunk, terms)
    return tuple(map(_term_id, terms))


_cached = lru_cache(maxsize=16_384)(_chunk_ids)


def clear_cache() -> None:
    """Forget all chunks: for measurements that change a rule."""
    _cached.cache_clear()


def _term_id(term: str) -> int:
    return int.from_bytes(blake2b(term.encode(), digest_size=8).digest(), "little", signed=True)


def _add_chunk(chunk: str, terms: list[str]) -> None:
    if chunk[0] == "#":
        terms.append(chunk)
        chunk = chunk[1:]
    if chunk[-1] in "+#":
        terms.append(chunk.lower())
        chunk = chunk.rstrip("+#")
    segments = _split(_PATH_SEPARATORS, chunk)
    if len(segments) > 1:
        terms.append("/".join(segments).casefold())
    for segment in segments:
        _add_dotted(segment, terms)


def _add_dotted(text: str, terms: list[str]) -> None:
    parts = _split(_DOTS, text)
    if len(parts) > 1:
        whole = text.casefold()
        terms.append(whole)
        if version := _VERSION.fullmatch(whole):
            terms.append(version[1])
    for part in parts:
        _add_hyphenated(part, terms)


def _add_hyphenated(text: str, terms: list[str]) -> None:
    parts = _split(_HYPHENS, text)
    if len(parts) > 1:
        together = "".join(parts)
        # Numbers stay apart: 1-12 is not 112.
        terms.append(text if together.isdecimal() else stem(together.casefold()))
    for part in parts:
        _add_word(part, terms)


def _add_word(word: str, terms: list[str]) -> None:
    lowered = word.casefold()
    terms.append(stem(lowered))
    if (word.isalpha() and (word[1:].islower() or word.isupper())) or word.isdecimal() or not word.isascii():
        return
    pieces = _WORD_PIECES.findall(word)
    if sum(piece.isdecimal() for piece in pieces) > 1:
        # Digits and letters in turn are an id without parts. A long hexadecimal one is also found by its short form.
        bare = lowered.removeprefix("0x")
        if bare != lowered:
            terms.append(bare)
        elif _HEXADECIMAL.fullmatch(bare):
            terms.append(bare[:_SHORT_HASH_CHARS])
    elif len(pieces) > 1:
        terms.extend(stem(piece.lower()) for piece in pieces if len(piece) > 1)


def _split(separators: re.Pattern[str], text: str) -> list[str]:
    return [part for part in separators.split(text) if part]
