"""The normal forms in which texts are stored, and the limits in bytes that no schema can say. Pure."""

import re
import unicodedata
from typing import Final

from contracts import limits
from contracts.artifacts import ArtifactContent, ProfileContent
from contracts.errors import InvalidRequest

# Normalising sorts the combining marks of one run by insertion: 40,000 marks, small enough for any body, take seconds.
# A run that is sorted already takes linear time, and the result is the same, because the order that is sorted by is the
# canonical one. Marks are never word characters, so what is neither ASCII nor a word character holds every long run.
_LONG_RUN: Final = re.compile(r"[^\w\s\x00-\x7f]{31,}")


def composed(text: str) -> str:
    """`text` in NFC. Time is linear in its length but for a factor that sorting adds."""
    if text.isascii():
        return text
    return unicodedata.normalize("NFC", _LONG_RUN.sub(_in_canonical_order, text))


def _in_canonical_order(run: re.Match[str]) -> str:
    """The characters of `run` decomposed, and each stretch of combining marks sorted by class (Unicode 3.11, D109)."""
    sorted_run: list[str] = []
    marks: list[str] = []
    for char in (part for whole in run[0] for part in unicodedata.normalize("NFD", whole)):
        if unicodedata.combining(char):
            marks.append(char)
        else:
            sorted_run += [*sorted(marks, key=unicodedata.combining), char]
            marks.clear()
    return "".join([*sorted_run, *sorted(marks, key=unicodedata.combining)])


def entry_text(text: str, *loc: str) -> str:
    """A Memory entry's text as stored: NFC, without surrounding white space. Raises InvalidRequest over 8192 bytes."""
    stored = composed(text).strip()
    if len(stored.encode()) > limits.ENTRY_TEXT_MAX_BYTES:
        raise InvalidRequest.at(
            *(loc or ("body", "text")),
            type="string_too_long",
            msg=f"must be at most {limits.ENTRY_TEXT_MAX_BYTES} UTF-8 bytes after NFC and strip",
        )
    return stored


def profile_text(text: str, *loc: str) -> str:
    """A Profile's text as stored: no leading BOM, NFC, LF line ends, exactly one LF at the end.

    Raises InvalidRequest over 256 KiB, or when nothing is left.
    """
    unified = composed(text.removeprefix("\ufeff")).replace("\r\n", "\n").replace("\r", "\n")
    body = unified.rstrip("\n")
    if not body.strip():
        raise InvalidRequest.at(*loc, type="string_too_short", msg="must not be empty")
    stored = body + "\n"
    if len(stored.encode()) > limits.PROFILE_MAX_BYTES:
        raise InvalidRequest.at(
            *loc, type="string_too_long", msg=f"must be at most {limits.PROFILE_MAX_BYTES} UTF-8 bytes"
        )
    return stored


def stored_content(content: ArtifactContent, *loc: str) -> ArtifactContent:
    """Content as stored: a Profile in its normal form, the other families as given. `loc` is where it stood."""
    if isinstance(content, ProfileContent):
        return ProfileContent(content=profile_text(content.content, *loc, "content"))
    return content
