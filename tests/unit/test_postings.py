"""Blocks of postings."""

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapters.postings import (
    append_posting,
    code_frequency,
    code_length,
    count_postings,
    decode_block,
    encode_block,
    first_slot,
    posting_code,
    remove_posting,
)


@pytest.mark.parametrize("frequency", [1, 2, 62, 63])
@pytest.mark.parametrize("length", [1, 2, 63, 64, 127])
def test_small_numbers_are_kept_exactly(frequency: int, length: int) -> None:
    code = posting_code(frequency, length)
    assert (code_frequency(code), code_length(code)) == (frequency, length)


@given(st.integers(1, 2_080_768))
def test_a_length_is_kept_within_one_percent_in_16_bits(length: int) -> None:
    code = posting_code(1, length)
    assert 0 <= code < 2**16
    assert abs(code_length(code) - length) <= length / 100


@given(st.integers(1, 3_000_000), st.integers(1, 3_000_000))
def test_a_longer_document_never_counts_as_shorter(one: int, other: int) -> None:
    short, long = sorted((one, other))
    assert code_length(posting_code(1, short)) <= code_length(posting_code(1, long))


def test_what_is_beyond_the_largest_code_counts_as_the_largest() -> None:
    assert posting_code(1000, 5) == posting_code(63, 5)
    assert posting_code(1, 10**9) == posting_code(1, 2_080_768)
    assert code_length(posting_code(1, 10**9)) == 2_080_768


POSTINGS = st.lists(st.tuples(st.integers(0, 2**32 - 1), st.integers(0, 2**16 - 1)), max_size=40)


@given(POSTINGS)
def test_a_block_is_six_bytes_a_posting_and_decodes_to_what_was_put_in(postings: list[tuple[int, int]]) -> None:
    data = encode_block(postings)
    assert len(data) == 6 * len(postings)
    assert list(zip(*decode_block(data), strict=True)) == postings


def test_a_block_is_little_endian_slots_before_codes() -> None:
    assert encode_block([(1, 2), (0x01020304, 0x0506)]) == bytes.fromhex("01000000 04030201 0200 0605")


@pytest.mark.parametrize("length", [1, 5, 7, 128])
def test_a_damaged_block_is_refused(length: int) -> None:
    with pytest.raises(ValueError, match="multiple of 6 bytes"):
        decode_block(bytes(length))
    with pytest.raises(ValueError, match="multiple of 6 bytes"):
        append_posting(bytes(length), 1, 1)


@pytest.mark.parametrize("posting", [(-1, 0), (2**32, 0), (0, -1), (0, 2**16)])
def test_a_posting_that_does_not_fit_is_refused(posting: tuple[int, int]) -> None:
    with pytest.raises(struct.error):
        encode_block([posting])


@given(POSTINGS, st.tuples(st.integers(0, 2**32 - 1), st.integers(0, 2**16 - 1)))
def test_a_posting_is_appended(postings: list[tuple[int, int]], one: tuple[int, int]) -> None:
    data = append_posting(encode_block(postings), *one)
    assert data == encode_block([*postings, one])
    assert count_postings(data) == len(postings) + 1
    assert first_slot(data) == [*postings, one][0][0]


@given(st.lists(st.tuples(st.integers(0, 99), st.integers(0, 2**16 - 1)), unique_by=lambda posting: posting[0]))
def test_a_posting_is_removed(postings: list[tuple[int, int]]) -> None:
    data = encode_block(postings)
    for slot in range(100):
        assert remove_posting(data, slot) == encode_block([posting for posting in postings if posting[0] != slot])
    assert remove_posting(data, 100) is data


@pytest.mark.parametrize("posting", [(-1, 0), (2**32, 0), (0, -1), (0, 2**16)])
def test_a_posting_that_does_not_fit_is_not_appended(posting: tuple[int, int]) -> None:
    with pytest.raises(OverflowError):
        append_posting(b"", *posting)
