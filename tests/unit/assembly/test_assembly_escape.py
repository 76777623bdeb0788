"""The escape table and the normalisation of stored text."""

import sys
import unicodedata

import pytest

from service.assembly.escape import CONTROL_AND_FORMAT_RUNS, EscapedBody, UnencodableText, escape_body, reveal

TABLE = {code_point for first, last in CONTROL_AND_FORMAT_RUNS for code_point in range(first, last + 1)}
ADDED_IN_UNICODE_15 = set(range(0x13439, 0x13440))


def shown(text: str) -> str:
    return reveal(escape_body(text, 2000).encoded).decode()


def test_the_table_has_the_235_characters_of_unicode_15() -> None:
    """65 of Cc and 170 of Cf."""
    assert len(TABLE) == 235
    assert len([code_point for code_point in TABLE if code_point < 0xA0]) == 65


def test_the_table_is_what_unicodedata_calls_cc_and_cf() -> None:
    every = range(sys.maxunicode + 1)
    known = {code_point for code_point in every if unicodedata.category(chr(code_point)) in ("Cc", "Cf")}
    missing = ADDED_IN_UNICODE_15 if unicodedata.unidata_version == "14.0.0" else set()
    assert known | missing == TABLE


def test_no_character_of_the_table_is_printable() -> None:
    """The fast path takes a printable text as it is."""
    assert not [code_point for code_point in TABLE | {0x2028, 0x2029} if chr(code_point).isprintable()]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a\tb", "a\\u0009b"),
        ("\x00\x1f\x7f\x85", "\\u0000\\u001f\\u007f\\u0085"),
        ("\u00ad\u200d\ufeff", "\\u00ad\\u200d\\ufeff"),
        ("\U000e0001\U00013430\U0001343f", "\\U000e0001\\U00013430\\U0001343f"),
        ("a\r\nb\rc\u2028d\u2029e\nf", "a\nb\nc\nd\ne\nf"),
        ("\n\r\r\n", "\n\n\n"),
        (" a \u00a0\u3000 ", " a \u00a0\u3000 "),
        ('\\u0009 \\ "', '\\u0009 \\ "'),
        ("e\u0301\u2764\ufe0f\ue000\ufffe\U0010ffff", "e\u0301\u2764\ufe0f\ue000\ufffe\U0010ffff"),
    ],
)
def test_only_line_ends_and_control_and_format_characters_change(text: str, expected: str) -> None:
    assert shown(text) == expected


def test_lf_is_the_only_character_of_the_table_that_stays() -> None:
    for code_point in sorted(TABLE - {0x0A, 0x0D}):
        escape = f"\\u{code_point:04x}" if code_point < 0x10000 else f"\\U{code_point:08x}"
        assert shown(f"x{chr(code_point)}y") == f"x{escape}y"


@pytest.mark.parametrize(
    ("text", "whole"),
    [
        ("x" * 2000, True),
        ("x" * 2001, False),
        ("验" * 666, True),
        ("验" * 667, False),
        ("\r\n" * 2000, True),
        ("\r\n" * 2001, False),
        ("\x01" * 333, True),
        ("\x01" * 334, False),
        ("x" * 1995 + "\r\n" * 5, True),
        ("x" * 1995 + "\r\n" * 6, False),
        ("\n" * 2000, True),
        ("x" + "\n" * 2000, False),
    ],
)
def test_whole_means_the_complete_escaped_body_is_within_the_limit(text: str, whole: bool) -> None:
    body = escape_body(text, 2000)
    assert body.whole is whole
    assert len(body.encoded) <= 2000 if whole else len(body.encoded) >= 2000


@pytest.mark.parametrize("text", ["x" * 10**6, "\x01" * 10**6, "验\u200d" * 10**6, "\r\n" * 10**6])
def test_of_a_long_text_only_a_bounded_beginning_is_escaped(text: str) -> None:
    """At most 4002 code points are read; each gives at most 10 bytes."""
    assert len(escape_body(text, 2000).encoded) <= 40_020


@pytest.mark.parametrize(
    ("encoded", "length", "boundary"),
    [
        (b"abc", 9, 3),
        (b"abc", 2, 2),
        ("a验".encode(), 3, 1),
        ("a验".encode(), 4, 4),
        ("𠮷𠮷".encode(), 7, 4),
        (b"a\0u0001b", 6, 1),
        (b"a\0u0001b", 7, 7),
        (b"a\0U000e0001b", 10, 1),
        (b"a\0U000e0001b", 11, 11),
        (b"\0u0001\0u0002", 6, 6),
        (b"\0u0001\0u0002", 11, 6),
        (b"a\\u0001b", 6, 6),  # a stored backslash is no escape of ours
        (b"\0u0001", 0, 0),
    ],
)
def test_a_cut_is_moved_back_to_the_end_of_a_code_point_or_escape(encoded: bytes, length: int, boundary: int) -> None:
    assert EscapedBody(encoded, whole=True).unit_boundary(length) == boundary


@pytest.mark.parametrize("text", ["\ud800", "a\udc00b", "\udbff\t"])
def test_a_lone_surrogate_is_refused_without_quoting_the_text(text: str) -> None:
    with pytest.raises(UnencodableText) as caught:
        escape_body(text, 2000)
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__
    assert "lone surrogate" in str(caught.value)
