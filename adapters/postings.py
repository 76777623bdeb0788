"""Blocks of postings: the bytes in which every engine keeps the text index.

A posting is a document slot, a number below 2^32 that grows with every document of its Scope and family, and a code
for how often the term occurs in the document and how long the document is. A block of n postings is n slots, 4 bytes
each, followed by n codes, 2 bytes each, all little-endian on every host.
"""

import struct
from collections.abc import Callable, Sequence
from typing import Final

POSTING_BYTES: Final = 6

_SLOT_BYTES: Final = 4
_CODE_BYTES: Final = 2
_LENGTH_BITS: Final = 10
_LENGTH_MASK: Final = (1 << _LENGTH_BITS) - 1
_MANTISSA_BITS: Final = 6
_MANTISSA_MASK: Final = (1 << _MANTISSA_BITS) - 1
_FREQUENCY_MAX: Final = (1 << (16 - _LENGTH_BITS)) - 1


def posting_code(frequency: int, length: int) -> int:
    """Return 16 bits for a term's frequency in a document and the document's length, both in tokens and at least 1.

    A frequency above 63 counts as 63, where BM25 has long been saturated. The length is exact below 128 and within
    0.8 % up to 2,080,768, which longer texts count as.
    """
    return min(frequency, _FREQUENCY_MAX) << _LENGTH_BITS | _length_code(length)


def code_frequency(code: int) -> int:
    """Return the frequency a posting code stands for."""
    return code >> _LENGTH_BITS


def code_length(code: int) -> int:
    """Return the document length a posting code stands for, in tokens."""
    exponent = code >> _MANTISSA_BITS & (_LENGTH_MASK >> _MANTISSA_BITS)
    mantissa = code & _MANTISSA_MASK
    return mantissa if exponent == 0 else (mantissa | 1 << _MANTISSA_BITS) << (exponent - 1)


def _length_code(length: int) -> int:
    # A small float without sign: as in IEEE 754, exponent 0 has no implied leading bit, so small lengths are exact and
    # the codes of growing lengths grow.
    shift = max(length.bit_length() - _MANTISSA_BITS - 1, 0)
    if shift:
        length = (length + (1 << shift - 1)) >> shift << shift  # to the nearest; may carry into one more bit
        shift = length.bit_length() - _MANTISSA_BITS - 1
    return min((shift << _MANTISSA_BITS) + (length >> shift), _LENGTH_MASK)


def encode_block(postings: Sequence[tuple[int, int]]) -> bytes:
    """Return the block of (slot, code) pairs, in the order given."""
    count = len(postings)
    return struct.pack(f"<{count}I{count}H", *(slot for slot, _ in postings), *(code for _, code in postings))


def decode_block(data: bytes) -> tuple[Sequence[int], Sequence[int]]:
    """Return the slots and the codes of a block, in its order. Raises ValueError as `count_postings` does."""
    count, values = unpack_block(data)
    return values[:count], values[count:]


def unpack_block(data: bytes) -> tuple[int, Sequence[int]]:
    """Return how many postings a block has, and its numbers: all slots, then all codes. Raises ValueError likewise."""
    count, unpack = _unpackers[len(data)]
    return count, unpack(data)


def count_postings(data: bytes) -> int:
    """Return how many postings a block has.

    Raises ValueError when the length is not that of a whole block: the stored bytes are damaged.
    """
    return _unpackers[len(data)][0]


def first_slot(data: bytes) -> int:
    """Return the first slot of a block that is not empty."""
    return int.from_bytes(data[:_SLOT_BYTES], "little")


def append_posting(data: bytes, slot: int, code: int) -> bytes:
    """Return the block with one more posting at its end, without decoding it. Raises ValueError as `count_postings`."""
    split = count_postings(data) * _SLOT_BYTES
    return b"".join(
        (data[:split], slot.to_bytes(_SLOT_BYTES, "little"), data[split:], code.to_bytes(_CODE_BYTES, "little"))
    )


def remove_posting(data: bytes, slot: int) -> bytes:
    """Return the block without the posting of `slot`; the same block when it holds none. Raises ValueError likewise."""
    slots, _ = decode_block(data)
    if slot not in slots:
        return data
    at, count = slots.index(slot), len(slots)
    code_at = count * _SLOT_BYTES + at * _CODE_BYTES
    return b"".join(
        (
            data[: at * _SLOT_BYTES],
            data[(at + 1) * _SLOT_BYTES : code_at],
            data[code_at + _CODE_BYTES :],
        )
    )


class _Unpackers(dict[int, tuple[int, Callable[[bytes], tuple[int, ...]]]]):
    """Bytes of a block to its number of postings and what decodes it; blocks are short, so there are few sizes."""

    def __missing__(self, size: int) -> tuple[int, Callable[[bytes], tuple[int, ...]]]:
        count, rest = divmod(size, POSTING_BYTES)
        if rest:
            raise ValueError(f"a block of postings has a multiple of {POSTING_BYTES} bytes, not {size}")
        self[size] = count, struct.Struct(f"<{count}I{count}H").unpack
        return self[size]


_unpackers: Final = _Unpackers()
