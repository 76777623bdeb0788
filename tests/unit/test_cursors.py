"""Cursors belong to one listing, notice damage, and fit the contract's 1 to 128 printable ASCII characters."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapters.sql.cursors import decode_cursor, encode_cursor
from contracts.errors import InvalidCursor

KEY = bytes(range(32))


@given(st.text(max_size=300), st.integers(0, 2**63 - 1))
def test_a_cursor_gives_back_its_position_in_its_own_listing(listing: str, position: int) -> None:
    cursor = encode_cursor(KEY, listing, position)
    assert 1 <= len(cursor) <= 128
    assert all("!" <= character <= "~" for character in cursor)
    assert decode_cursor(KEY, listing, cursor) == position


@given(st.integers(0, 2**63 - 1), st.data())
def test_every_damaged_cursor_is_refused(position: int, data: st.DataObject) -> None:
    cursor = encode_cursor(KEY, "scopes:", position)
    index = data.draw(st.integers(0, len(cursor) - 1))
    other = data.draw(st.characters(min_codepoint=33, max_codepoint=126).filter(lambda c: c != cursor[index]))
    for damaged in (cursor[:-1], cursor[1:], cursor + "A", cursor[:index] + other + cursor[index + 1 :]):
        with pytest.raises(InvalidCursor):
            decode_cursor(KEY, "scopes:", damaged)


@pytest.mark.parametrize("cursor", ["", "é", "====", "AAAA", " "])
def test_what_was_never_a_cursor_is_refused(cursor: str) -> None:
    with pytest.raises(InvalidCursor):
        decode_cursor(KEY, "scopes:", cursor)


def test_a_cursor_of_another_listing_or_another_database_is_refused() -> None:
    cursor = encode_cursor(KEY, "scopes:a", 7)
    for key, listing in ((KEY, "scopes:b"), (bytes(32), "scopes:a")):
        with pytest.raises(InvalidCursor):
            decode_cursor(key, listing, cursor)
