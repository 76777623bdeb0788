"""Stored text made visible: line ends become LF, control and format characters become printed escapes.

Only the part of a text that can be shown is touched, so the cost does not grow with what is stored.
Source: RFC 1489, standard text; CONTRACT section 4, text layout.
"""

import re
from typing import Final

from msgspec import Struct

LF_CODE_POINT: Final = 0x0A

# Every Cc and Cf character of Unicode 15.0, first and last of each run. A fixed table, because Python 3.11 carries
# Unicode 14 and does not know U+13439 to U+1343F, and because the same text must come out on every Python.
CONTROL_AND_FORMAT_RUNS: Final = (
    (0x0000, 0x001F),
    (0x007F, 0x009F),
    (0x00AD, 0x00AD),
    (0x0600, 0x0605),
    (0x061C, 0x061C),
    (0x06DD, 0x06DD),
    (0x070F, 0x070F),
    (0x0890, 0x0891),
    (0x08E2, 0x08E2),
    (0x180E, 0x180E),
    (0x200B, 0x200F),
    (0x202A, 0x202E),
    (0x2060, 0x2064),
    (0x2066, 0x206F),
    (0xFEFF, 0xFEFF),
    (0xFFF9, 0xFFFB),
    (0x110BD, 0x110BD),
    (0x110CD, 0x110CD),
    (0x13430, 0x1343F),
    (0x1BCA0, 0x1BCA3),
    (0x1D173, 0x1D17A),
    (0xE0001, 0xE0001),
    (0xE0020, 0xE007F),
)

# Stands for the backslash of a rendered escape until the body is cut. NUL itself is always escaped, so a NUL in an
# escaped body can only begin an escape, while a stored text may hold a backslash, a `u` and four digits of its own.
ESCAPE_MARK: Final = "\0"
_MARK_BYTE: Final = b"\0"
_SHORT_ESCAPE_BYTES: Final = 6
_LONG_ESCAPE_BYTES: Final = 10

_ESCAPES: Final = {
    chr(code_point): f"{ESCAPE_MARK}u{code_point:04x}" if code_point <= 0xFFFF else f"{ESCAPE_MARK}U{code_point:08x}"
    for first, last in CONTROL_AND_FORMAT_RUNS
    for code_point in range(first, last + 1)
    if code_point != LF_CODE_POINT
}
_ASCII_CONTROLS: Final = bytes(ord(char) for char in _ESCAPES if char.isascii())
# The second pattern costs three times as much for each character, for the sake of the runs beyond the BMP.
_ESCAPED_IN_ASCII: Final = re.compile("([\\x00-\\x09\\x0b-\\x1f\\x7f])")
_ESCAPED: Final = re.compile(
    "([\\x00-\\x09\\x0b-\\x1f"
    + "".join(f"\\U{first:08x}-\\U{last:08x}" for first, last in CONTROL_AND_FORMAT_RUNS[1:])
    + "])"
)
# Small enough that a text of nothing but escapes is given up soon after it is too long, large enough to stay in C.
_CHUNK_CHARS: Final = 400


class UnencodableText(ValueError):
    """A text holds a lone surrogate, which UTF-8 cannot express. It names no part of the text."""

    def __init__(self) -> None:
        super().__init__("a text to be written holds a lone surrogate and cannot be encoded as UTF-8")


class EscapedBody(Struct, frozen=True):
    """The beginning of a body, escaped and encoded; see `escape_body`.

    encoded: UTF-8, with ESCAPE_MARK in place of the backslash of every rendered escape.
    whole: whether this is the complete body, within the limit that was asked for.
    """

    encoded: bytes
    whole: bool

    def unit_boundary(self, length: int) -> int:
        """Return the largest length, at most `length` bytes, that splits no code point and no rendered escape."""
        encoded = self.encoded
        if length >= len(encoded):
            return len(encoded)
        while length > 0 and encoded[length] & 0xC0 == 0x80:
            length -= 1
        mark = encoded.rfind(_MARK_BYTE, max(0, length - _LONG_ESCAPE_BYTES + 1), length)
        if mark >= 0:
            size = _LONG_ESCAPE_BYTES if encoded[mark + 1 : mark + 2] == b"U" else _SHORT_ESCAPE_BYTES
            if mark + size > length:
                return mark
        return length


def escape_body(text: str, limit_bytes: int) -> EscapedBody:
    """Return `text` normalised and escaped, complete when it then has at most `limit_bytes` bytes.

    CRLF, CR, U+2028 and U+2029 become LF; every other control or format character becomes a visible escape in
    lowercase hex, TAB included. Longer texts give at least their first `limit_bytes` bytes, `whole` being false.
    Raises UnencodableText for a lone surrogate in the part that was read.
    """
    # Every code point comes out as at least one byte, but for CRLF, where two make one.
    head = text[: limit_bytes + 1]
    if "\r" in head:
        head = text[: 2 * limit_bytes + 2]
    whole = len(head) == len(text)
    if not _is_plain(head):
        head = _escape(_normalise_line_ends(head), limit_bytes)
    encoded = encode_text(head)
    return EscapedBody(encoded, whole and len(encoded) <= limit_bytes)


def reveal(encoded: bytes) -> bytes:
    """Return an escaped body, or a prefix that ends at a unit boundary, with its escapes as they are printed."""
    return encoded.replace(_MARK_BYTE, b"\\")


def encode_text(text: str) -> bytes:
    """Return `text` in UTF-8. Raises UnencodableText for a lone surrogate."""
    try:
        return text.encode()
    except UnicodeEncodeError:
        raise UnencodableText from None  # the original error carries the stored text


def _is_plain(text: str) -> bool:
    """Tell, at memory speed, that nothing in `text` changes when it is escaped; False is no more than a suspicion."""
    if text.isascii():
        encoded = text.encode()
        return len(encoded.translate(None, _ASCII_CONTROLS)) == len(encoded)
    # Control and format characters and the line separators are never printable. Of the harmless characters that are
    # not printable either, these three are common.
    return text.isprintable() or text.replace("\n", "").replace("\u3000", "").replace("\u00a0", "").isprintable()


def _normalise_line_ends(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n").replace("\u2028", "\n").replace("\u2029", "\n")


def _escape(text: str, limit_bytes: int) -> str:
    """Return `text` escaped, or of a text that comes out longer than `limit_bytes` a beginning that is too long."""
    pattern = _ESCAPED_IN_ASCII if text.isascii() else _ESCAPED
    pieces: list[str] = []
    written_chars = 0
    for start in range(0, len(text), _CHUNK_CHARS):
        if written_chars > limit_bytes:
            break
        parts = pattern.split(text[start : start + _CHUNK_CHARS])
        parts[1::2] = map(_ESCAPES.__getitem__, parts[1::2])
        pieces.append("".join(parts))
        written_chars += len(pieces[-1])
    return "".join(pieces)
