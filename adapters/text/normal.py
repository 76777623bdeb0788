"""The form in which texts are compared: NFKC, no invisible characters, no accents on Latin letters.

Case stays, because it separates the parts of `camelCase`; `identifiers` lowers what it returns.
"""

import re
import unicodedata
from functools import lru_cache
from typing import Final

# Format characters (Cf) and the other default-ignorable code points of Unicode 15, written out because Python 3.11 to
# 3.13 carry different tables and an index must not depend on which of them wrote it.
_INVISIBLE: Final = re.compile(
    "[\u00ad\u034f\u0600-\u0605\u061c\u06dd\u070f\u0890\u0891\u08e2\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f"
    "\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\U000110bd\U000110cd"
    "\U00013430-\U0001343f\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff]+"
)

# Normalising sorts the combining marks of one run by insertion, which is quadratic: 60,000 of them take seconds. Runs
# are cut at 30 marks first, the limit of the Stream-Safe Text Format (UAX #15).
_MARKS_MAX: Final = 30
_LONG_RUN: Final = re.compile(rf"[^\w\s\x00-\x7f]{{{_MARKS_MAX + 1},}}")

# Han characters of the main blocks are their own normal form and combine with nothing, so what stands between them can
# be normalised alone: half the time on Chinese text.
_NOT_HAN: Final = re.compile("[^\u3400-\u4dbf\u4e00-\u9fff]+")

_LATIN: Final = "\u00c0-\u024f\u1e00-\u1eff"
_ACCENTED: Final = re.compile(f"[{_LATIN}\u2019\u02bc]|(?<=[A-Za-z{_LATIN}])[\u0300-\u036f]+")
# Letters that Unicode does not decompose, and the apostrophe that keyboards put into "don't".
_PLAIN: Final = dict(
    zip("øØłŁđĐħĦŧŦı\u2019\u02bc", "oOlLdDhHtTi''", strict=True),
    æ="ae", Æ="AE", œ="oe", Œ="OE", ß="ss", ẞ="SS",
)  # fmt: skip


def normal_form(text: str) -> str:
    """Return `text` as it is compared, case kept. Time is linear in its length."""
    if text.isascii():
        return text
    text = _LONG_RUN.sub(_cut_marks, _INVISIBLE.sub("", text))
    return _ACCENTED.sub(_without_accent, _NOT_HAN.sub(_compatibility_form, text))


def _compatibility_form(found: re.Match[str]) -> str:
    return unicodedata.normalize("NFKC", found[0])


def _cut_marks(run: re.Match[str]) -> str:
    kept: list[str] = []
    marks = 0
    for char in run[0]:
        marks = marks + 1 if unicodedata.category(char).startswith("M") else 0
        if marks <= _MARKS_MAX:
            kept.append(char)
    return "".join(kept)


def _without_accent(found: re.Match[str]) -> str:
    return _plain_letter(found[0]) if len(found[0]) == 1 else ""


@lru_cache(maxsize=1024)
def _plain_letter(char: str) -> str:
    if (plain := _PLAIN.get(char)) is not None:
        return plain
    return "".join(part for part in unicodedata.normalize("NFD", char) if not "\u0300" <= part <= "\u036f")
