"""Scope ids, queries and texts that look like operators of a search language, of LIKE, of SQL or of a shell."""

import httpx

from tests.field_cases.calls import create_scope, memory_section, prepare, read_entry, remember, search
from tests.field_cases.prepared_text import read_legacy, read_text

SCOPE_IDS = ["ap-erp", "ap", "x OR y", 'a"b', "a*", "-z", "50%", "a_b", "a?b", "'; --"]


async def test_a_scope_id_that_looks_like_an_operator_selects_its_own_scope_alone(client: httpx.AsyncClient) -> None:
    """R12."""
    for number, scope_id in enumerate(SCOPE_IDS):
        await create_scope(client, scope_id)
        await remember(client, scope_id, f"needle {number}")
    for number, scope_id in enumerate(SCOPE_IDS):
        assert await search(client, scope_id, "needle") == [f"needle {number}"]
        content = await prepare(client, scope_id, "needle", assembly={})
        legacy = await prepare(client, scope_id, "needle")
        assert content is not None
        assert legacy is not None
        for items in (read_text(content), read_legacy(legacy, scope_id)):
            assert [(item.scope_id, item.body) for item in items] == [(scope_id, f"needle {number}")]


QUERIES = [
    "needle OR nothing",
    "NOT needle",
    "-needle",
    "needle*",
    "^needle",
    "text:needle",
    "NEAR(needle other, 2)",
    '"needle',
    'needle" OR ""',
    "(needle",
    "needle AND",
    "%needle%",
    "needle'; DROP TABLE memory_version; --",
    "{needle}",
    "needle\\",
    "+needle ~other <needle >needle @3",
    "needle & !other | needle:*",
    "${needle} $(needle) `needle`",
]


async def test_an_operator_in_a_query_is_a_word_or_nothing(client: httpx.AsyncClient) -> None:
    await remember(client, "s", "the needle")
    await remember(client, "s", "hay")
    for query in QUERIES:
        assert await search(client, "s", query) == ["the needle"], query
        content = await prepare(client, "s", query, assembly={})
        assert content is not None
        assert [item.body for item in read_text(content)] == ["the needle"], query


async def test_backslashes_are_found_stored_and_shown_as_they_are(client: httpx.AsyncClient) -> None:
    """R13."""
    text = "构建目录是 C:\\work\\ci\\out，日志在 \\\\nas01\\logs"
    entry = await remember(client, "s", text)
    assert (await read_entry(client, "s", entry["citation"]))["text"] == text
    for query in ("C:\\work\\ci\\out", "nas01", "构建目录", "ci\\"):
        assert await search(client, "s", query) == [text], query
        content = await prepare(client, "s", query, assembly=memory_section(1))
        assert content is not None
        assert f"\n>     {text}\n" in content
