"""Pieces of a detail: bounded, in order, nothing lost but white space."""

from hypothesis import given
from hypothesis import strategies as st

from adapters.pieces import split_pieces
from contracts.limits import SNIPPET_MAX_CHARS


@given(st.text(alphabet=st.sampled_from("ab 。.\n！x界"), max_size=3000))
def test_pieces_hold_the_whole_detail_in_order_and_none_is_blank_or_too_long(detail: str) -> None:
    pieces = split_pieces(detail)
    assert "".join("".join(pieces).split()) == "".join(detail.split())
    assert all(piece == piece.strip() and 0 < len(piece) <= SNIPPET_MAX_CHARS for piece in pieces)


def test_a_cut_falls_on_the_strongest_boundary_in_the_second_half() -> None:
    paragraph = "word " * 60  # 300 characters, no sentence ends
    assert split_pieces(paragraph.strip() + "\n\n" + "next. " * 60)[0] == paragraph.strip()
    assert split_pieces("甲" * 300 + "。" + "乙" * 300)[0] == "甲" * 300 + "。"


def test_text_without_any_boundary_is_cut_at_the_bound() -> None:
    assert [len(piece) for piece in split_pieces("字" * 1000)] == [480, 480, 40]
