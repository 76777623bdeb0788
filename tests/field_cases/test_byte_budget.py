"""The byte budget and cutting, to the byte, with ids as the server makes them."""

import httpx
import pytest

from tests.field_cases.calls import create_scope, memory_section, prepare, remember
from tests.field_cases.prepared_text import Item, read_text


async def one_item(client: httpx.AsyncClient, scope_id: str, query: str, max_bytes: int) -> tuple[Item, int]:
    """The only item of a prepared text, and the text's bytes."""
    content = await prepare(client, scope_id, query, max_bytes=max_bytes, assembly=memory_section(1))
    assert content is not None
    assert "\ufffd" not in content
    (item,) = read_text(content)
    return item, len(content.encode())


@pytest.mark.parametrize(
    ("text", "query", "body", "body_bytes", "content_bytes"),
    [
        ("𠮷" * 600, "𠮷𠮷", "𠮷" * 499 + "…", 1999, 2585),
        ("needle " + "x" * 1989 + "𠮷𠮷", "needle", "needle " + "x" * 1989 + "…", 1999, 2585),
        ("验" * 800, "验验", "验" * 665 + "…", 1998, 2584),
        (
            "needle " + "x" * 1983 + "\u202e" + "y" * 20,
            "needle",
            "needle " + "x" * 1983 + "\\u202ey…",
            2000,
            2586,
        ),
    ],
    ids="abcd",
)
async def test_a_long_text_is_cut_at_a_whole_character_or_a_whole_escape(
    client: httpx.AsyncClient, text: str, query: str, body: str, body_bytes: int, content_bytes: int
) -> None:
    """R27."""
    await remember(client, "s", text)
    item, size = await one_item(client, "s", query, 32768)
    assert (item.body, item.truncated) == (body, True)
    assert (len(item.body.encode()), size) == (body_bytes, content_bytes)


@pytest.mark.parametrize("length", [1999, 2000, 2001, 2002, 2003])
async def test_a_body_of_2000_bytes_is_whole_and_a_longer_one_is_cut_to_2000(
    client: httpx.AsyncClient, length: int
) -> None:
    """R28."""
    text = "needle " + "x" * (length - 7)
    await remember(client, "s", text)
    item, _ = await one_item(client, "s", "needle", 32768)
    assert (item.body, item.truncated) == ((text, False) if length <= 2000 else (text[:1997] + "…", True))


async def test_what_counts_of_a_body_is_its_escaped_form(client: httpx.AsyncClient) -> None:
    """R28."""
    await remember(client, "s", "needle" + "\t" * 2000 + "end")
    item, _ = await one_item(client, "s", "needle", 32768)
    assert (item.body, item.truncated) == ("needle" + "\\u0009" * 331 + "…", True)
    assert len(item.body.encode()) == 1995


async def test_the_whole_text_fits_the_budget_to_the_byte(client: httpx.AsyncClient) -> None:
    """R29."""
    await create_scope(client, "t")
    await remember(client, "s", "hello")
    await remember(client, "t", "needle " + "b" * 293)
    assert await prepare(client, "s", "hello", max_bytes=589, assembly=memory_section(1)) is None
    item, size = await one_item(client, "s", "hello", 590)
    assert (item.body, item.truncated, size) == ("hello", False, 590)
    assert await prepare(client, "t", "needle", max_bytes=649, assembly=memory_section(1)) is None
    item, size = await one_item(client, "t", "needle", 650)
    assert (item.body, item.truncated, size) == ("needle " + "b" * 54 + "…", True, 650)


async def test_every_budget_is_kept(client: httpx.AsyncClient) -> None:
    """`prepare` checks the byte count and the budget of every answer."""
    for number in range(8):
        await remember(client, "s", f"needle {number} " + "验\t𠮷\u202e" * (number * 20))
    shown = 0
    for max_bytes in range(512, 4000, 97):
        content = await prepare(client, "s", "needle", max_bytes=max_bytes, assembly=memory_section(8))
        await prepare(client, "s", "needle", max_bytes=max_bytes)
        items = read_text(content) if content else []
        assert sum(len(item.body.encode()) for item in items) <= max_bytes
        shown = max(shown, len(items))
    assert shown > 1
