"""Cursors: opaque, bound to their listing, checked for damage, and without any stored text in them.

A cursor is base64url of a position (a number that the listing understands) and a keyed hash over the listing's name,
its filters and that position. The key is made once per database, so nobody can make a cursor to probe with.
"""

import base64
import binascii
import hashlib
import hmac
import struct

from contracts.errors import InvalidCursor

_HASH_BYTES = 16


def encode_cursor(key: bytes, listing: str, position: int) -> str:
    """The cursor of `position`, 1 to 128 printable ASCII characters; `listing` names the listing and its filters."""
    packed = struct.pack(">q", position)
    return base64.urlsafe_b64encode(packed + _tag(key, listing, packed)).rstrip(b"=").decode()


def decode_cursor(key: bytes, listing: str, cursor: str) -> int:
    """The position in `cursor`. Raises InvalidCursor when it is damaged or of another listing."""
    try:
        raw = base64.b64decode(cursor.encode("ascii") + b"=" * (-len(cursor) % 4), altchars=b"-_", validate=True)
    except (UnicodeEncodeError, binascii.Error):
        raise InvalidCursor from None
    packed, tag = raw[:8], raw[8:]
    # Re-encoding refuses the spellings that base64 lets pass, such as spare bits in the last character.
    if len(packed) != 8 or not hmac.compare_digest(tag, _tag(key, listing, packed)):
        raise InvalidCursor
    (position,) = struct.unpack(">q", packed)
    if encode_cursor(key, listing, position) != cursor:
        raise InvalidCursor
    return int(position)


def _tag(key: bytes, listing: str, packed: bytes) -> bytes:
    return hashlib.blake2b(listing.encode() + b"\0" + packed, key=key, digest_size=_HASH_BYTES).digest()
