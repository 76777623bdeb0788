"""Cuts a Topic Memory's detail into the pieces that recall searches and shows as snippets. Pure."""

import re

from contracts.limits import SNIPPET_MAX_CHARS

# A piece ends best after a blank line, else a line, else a sentence, else a blank.
_ENDS = tuple(re.compile(pattern) for pattern in (r"\n\s*\n", r"\n", r"[。！？；]|[.!?;](?=\s)", r"\s"))


def split_pieces(detail: str) -> list[str]:
    """Pieces of at most SNIPPET_MAX_CHARS code points, in order, stripped, none blank.

    A cut falls on the strongest boundary in the second half of what fits, so pieces are neither tiny nor torn.
    """
    pieces = []
    start = 0
    while start < len(detail):
        end = start + SNIPPET_MAX_CHARS
        if end < len(detail):
            end = _boundary(detail, start + SNIPPET_MAX_CHARS // 2, end)
        piece = detail[start:end].strip()
        if piece:
            pieces.append(piece)
        start = end
    return pieces


def _boundary(detail: str, low: int, high: int) -> int:
    """The last boundary in `low`..`high`, the strongest kind first; `high` where there is none."""
    for ends in _ENDS:
        found = [end.end() for end in ends.finditer(detail, low, high)]
        if found:
            return found[-1]
    return high
