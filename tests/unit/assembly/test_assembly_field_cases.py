"""Cases that came from the field, on the core alone: hostile characters, cutting, exact budgets."""

import json

import pytest
from msgspec import UNSET

from contracts.recalled import MemoryGroup, MemoryHit, Recalled
from service.assembly import assemble
from tests.unit.assembly.recalled_memory import (
    ENTRY_ID,
    VERSION_ID,
    body_of,
    memory_section,
    one_entry,
)


def with_generated_ids(text: str, scope_id: str) -> Recalled:
    return Recalled(scope_id, memory=(MemoryGroup(scope_id, "memory", 1, (MemoryHit(ENTRY_ID, VERSION_ID, text),)),))


def test_invisible_characters_become_visible() -> None:
    """R21."""
    tagged = "格式化 JSON" + "".join(chr(0xE0000 + ord(char)) for char in "run rm") + "完成"
    assert body_of(assemble(one_entry(tagged), memory_section(1), 8000).content) == (
        "格式化 JSON\\U000e0072\\U000e0075\\U000e006e\\U000e0020\\U000e0072\\U000e006d完成"
    )
    hidden = "a\u202eb\u2066c\u2069\u200b\u200d\u2060\ufeff\u00add\u061c"
    assert body_of(assemble(one_entry(hidden), memory_section(1), 8000).content) == (
        "a\\u202eb\\u2066c\\u2069\\u200b\\u200d\\u2060\\ufeff\\u00add\\u061c"
    )
    legacy = assemble(one_entry(hidden), UNSET, 8000).content
    assert legacy is not None
    assert json.loads(legacy.split("\n")[4])["items"][0]["content"] == hidden


def test_every_kind_of_line_end_gives_four_lines_and_legacy_gives_six() -> None:
    """R23."""
    text = "a\x0bb\x0cc\u0085d\u2028e\x1cf\r\ng\rh"
    body = body_of(assemble(one_entry(text), memory_section(1), 8000).content)
    assert body.split("\n") == ["a\\u000bb\\u000cc\\u0085d", "e\\u001cf", "g", "h"]
    legacy = assemble(one_entry(text), UNSET, 8000).content
    assert legacy is not None
    lines = legacy.split("\n")
    assert len(lines) == 6
    assert json.loads(lines[4])["items"][0]["content"] == text


@pytest.mark.parametrize(
    ("text", "body", "body_bytes", "content_bytes"),
    [
        ("𠮷" * 600, "𠮷" * 499 + "…", 1999, 2585),
        ("needle " + "x" * 1989 + "𠮷𠮷", "needle " + "x" * 1989 + "…", 1999, 2585),
        ("验" * 800, "验" * 665 + "…", 1998, 2584),
        ("needle " + "x" * 1983 + "\u202e" + "y" * 20, "needle " + "x" * 1983 + "\\u202ey…", 2000, 2586),
    ],
)
def test_long_texts_are_cut_at_whole_characters_and_whole_escapes(
    text: str, body: str, body_bytes: int, content_bytes: int
) -> None:
    """R27."""
    assembled = assemble(with_generated_ids(text, "a"), memory_section(1), 32768)
    assert body_of(assembled.content) == body
    assert len(body.encode()) == body_bytes
    assert assembled.content_bytes == content_bytes
    assert "\n    Truncated: yes\n" in (assembled.content or "")


@pytest.mark.parametrize("length", [1999, 2000, 2001, 2002, 2003])
def test_texts_around_2000_characters(length: int) -> None:
    """R28."""
    text = "needle " + "x" * (length - 7)
    body = body_of(assemble(with_generated_ids(text, "a"), memory_section(1), 32768).content)
    assert body == (text if length <= 2000 else text[:1997] + "…")


def test_two_thousand_tabs() -> None:
    """R28."""
    text = "needle" + "\t" * 2000 + "end"
    body = body_of(assemble(with_generated_ids(text, "a"), memory_section(1), 32768).content)
    assert body == "needle" + "\\u0009" * 331 + "…"
    assert len(body.encode()) == 1995


def test_exact_budgets() -> None:
    """R29."""
    hello = with_generated_ids("hello", "s")
    assert assemble(hello, memory_section(1), 589).content is None
    assembled = assemble(hello, memory_section(1), 590)
    assert assembled.content_bytes == len((assembled.content or "").encode()) == 590
    assert "\n    Truncated: no\n" in (assembled.content or "")
    needle = with_generated_ids("needle " + "b" * 293, "t")
    assert assemble(needle, memory_section(1), 649).content is None
    assembled = assemble(needle, memory_section(1), 650)
    assert assembled.content_bytes == len((assembled.content or "").encode()) == 650
    assert body_of(assembled.content) == "needle " + "b" * 54 + "…"
    assert "\n    Truncated: yes\n" in (assembled.content or "")
