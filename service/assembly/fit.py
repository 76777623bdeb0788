"""How much of a body fits into the bytes that are left. Sizes are sums; nothing is rendered in order to be measured.

A body costs its escaped bytes and one line prefix for each of its lines. Both grow with every unit (a code point or a
whole escape), so the longest prefix that fits is found by bisection over the encoded bytes and then backed off to the
end of a unit. Source: RFC 1489, budget; CONTRACT section 4, budget.
"""

from bisect import bisect_right
from typing import Final

from msgspec import Struct

from contracts.limits import BODY_MAX_BYTES, CUT_BODY_MIN_BYTES
from service.assembly.escape import escape_body, reveal
from service.assembly.render import BLANK_LINE, FRAME_END, FRAME_TOP, LINE_PREFIX, NOT_TRUNCATED, TRUNCATED

ELLIPSIS: Final = "…".encode()
FRAME_BYTES: Final = len(FRAME_TOP) + len(FRAME_END)
# What surrounds the body of an item, besides its head: the answer to `Truncated:` and two blank lines.
AROUND_BODY_BYTES: Final = len(NOT_TRUNCATED) + 2 * len(BLANK_LINE)
_TRUNCATED_EXTRA_BYTES: Final = len(TRUNCATED) - len(NOT_TRUNCATED)


class FittedBody(Struct, frozen=True):
    """A body as it is printed, in UTF-8, without line prefixes; a truncated one ends in an ellipsis."""

    printed: bytes
    truncated: bool


def fit_body(text: str, room_bytes: int) -> FittedBody | None:
    """Return the whole body if it fits, else its longest prefix and an ellipsis, else None.

    text: as stored, not blank.
    room_bytes: what may be spent on the body with its line prefixes if it is not truncated.
    A body never has more than 2000 escaped bytes; a truncated one has at least 64, its ellipsis counted.
    Raises UnencodableText for a lone surrogate in the part that could fit.
    """
    room = room_bytes - len(LINE_PREFIX)
    limit = min(BODY_MAX_BYTES, room)
    if room < CUT_BODY_MIN_BYTES and len(text) > room:
        return None  # too little for a cut body; and a whole one costs a byte for each code point, 7 for a CRLF
    body = escape_body(text, limit)
    encoded = body.encoded

    def cost(length: int) -> int:
        return length + len(LINE_PREFIX) * encoded.count(b"\n", 0, length)

    if body.whole and cost(len(encoded)) <= room:
        return FittedBody(reveal(encoded), truncated=False)
    room -= _TRUNCATED_EXTRA_BYTES + len(ELLIPSIS)
    longest = min(len(encoded), BODY_MAX_BYTES - len(ELLIPSIS), room)
    if longest + len(ELLIPSIS) < CUT_BODY_MIN_BYTES:
        return None
    length = body.unit_boundary(bisect_right(range(longest + 1), room, key=cost) - 1)
    if length + len(ELLIPSIS) < CUT_BODY_MIN_BYTES:
        return None
    return FittedBody(reveal(encoded[:length]) + ELLIPSIS, truncated=True)
