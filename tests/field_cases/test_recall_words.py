"""Recall of Chinese and English words through HTTP."""

import unicodedata

import httpx
import pytest

from tests.field_cases.calls import OUTPUTS, create_scope, list_entries, memory_section, post, prepare, remember, search

CANARY = "灰度发布用 canary.yaml 控制比例"
KEYCTL = "Rotate the signing key with keyctl"
DISHES = ["面条", "米饭", "饺子", "包子", "火锅", "烤鸭", "寿司", "沙拉", "汉堡", "米粉", "馄饨", "咖喱"]
CITIES = ["Lyon", "Oslo", "Porto", "Quito", "Riga", "Seoul", "Turin", "Ulm", "Varna", "Wuhan", "Xian", "York"]


async def test_chinese_is_found_by_one_character_a_word_and_words_that_stand_apart(client: httpx.AsyncClient) -> None:
    """R02."""
    text = "北京机房明天有雨，空调要检修"
    await remember(client, "s", text)
    await remember(client, "s", "上海的晚饭")
    for query in ("雨", "机房", "空调检修"):
        assert await search(client, "s", query) == [text], query


async def test_an_identifier_inside_chinese_is_found_whole_and_by_its_parts(client: httpx.AsyncClient) -> None:
    """R04."""
    text = "上线前先跑deploy-check再切流量，回滚用rb-tool3执行"
    await remember(client, "s", text)
    await remember(client, "s", "午饭后散步")
    for query in ("deploy-check", "check", "rb-tool3", "切流量"):
        assert await search(client, "s", query) == [text], query


async def test_composed_and_decomposed_accents_are_one(client: httpx.AsyncClient) -> None:
    """R05."""
    text = "Cafe\u0301 r\u00e9sum\u00e9 parser is in tools/"
    entry = await remember(client, "s", text)
    composed = unicodedata.normalize("NFC", text)
    assert entry["text"] == composed != text
    for query in ("caf\u00e9", "cafe\u0301", "re\u0301sume\u0301"):
        assert await search(client, "s", query) == [composed], query
    again = await post(client, "/v1/memory/remember", {"scope_id": "s", "kind": "note", "text": composed})
    assert again == {"memory": entry["citation"]["memory_ref"], "entry": None}


@pytest.mark.parametrize(
    ("query", "answer"), [("我们的灰度发布是怎么做的", CANARY), ("how do we rotate the signing key", KEYCTL)]
)
async def test_small_words_do_not_outweigh_what_a_question_is_about(
    client: httpx.AsyncClient, query: str, answer: str
) -> None:
    """R06."""
    for dish, city in zip(DISHES, CITIES, strict=True):
        await remember(
            client, "s", f"我们的午饭是怎么吃的？我们的{dish}是我们的习惯，怎么做都是我们的，旅行的时候我们也是这么吃的"
        )
        await remember(
            client,
            "s",
            f"How do we get to {city}? This is how we do the trip: we take the train, and how we pay we know",
        )
    await remember(client, "s", CANARY)
    await remember(client, "s", KEYCTL)
    found = await search(client, "s", query, limit=3)
    assert found[0] == answer
    assert len(found) <= 3
    content = await prepare(client, "s", query, assembly=memory_section(1))
    assert content is not None
    assert f">     {answer}\n" in content


async def test_a_scope_in_which_nothing_was_written_answers_empty(client: httpx.AsyncClient) -> None:
    """R09."""
    for mode in ("auto", "fts"):
        answer = await post(client, "/v1/memory/search", {"scope_id": "s", "query": "交互", "mode": mode})
        assert answer == {"memory": None, "mode": None, "hits": []}
    topics = await post(client, "/v1/topic-memory/search", {"scope_id": "s", "query": "交互"})
    assert topics == {"mode": "fts", "hits": []}
    assert await post(client, "/v1/experience/search", {"scope_id": "s", "query": "交互"}) == {"hits": []}
    assert await prepare(client, "s", "交互", assembly={}) is None
    assert await prepare(client, "s", "交互") is None
    assert await list_entries(client, "s") == []
    assert (await client.get("/health/live")).status_code == 200


SEARCHES = ("/v1/memory/search", "/v1/experience/search", "/v1/topic-memory/search")


async def test_a_blank_query_is_refused_by_name(client: httpx.AsyncClient) -> None:
    for query in ("", " ", "\t\n", "\u3000", "\u2028\u0085\x1c"):
        for path in (*SEARCHES, "/v1/context/prepare"):
            error = await post(client, path, {"scope_id": "s", "query": query}, 422)
            assert [each["loc"] for each in error["error"]["details"]["errors"]] == [["body", "query"]]


async def test_a_query_of_punctuation_alone_matches_nothing(client: httpx.AsyncClient) -> None:
    await remember(client, "s", 'what, then? 是吗。(yes) -- "no" *')
    for query in ("…", "?!", "。，、", '"', "*", "--", "()", "\u200b", "\u0301", "\U0001f600", "\ufeff", "'", "\\"):
        for path in SEARCHES:
            assert (await post(client, path, {"scope_id": "s", "query": query}))["hits"] == [], ascii(query)
        for options in OUTPUTS:
            assert await prepare(client, "s", query, **options) is None, ascii(query)


@pytest.mark.parametrize("filler", ["a", "查", "🧪", "need ", "查 ", "𠮷", "a-", "e\u0301"])
async def test_a_query_of_8192_characters_is_served_and_one_more_is_refused(
    client: httpx.AsyncClient, filler: str
) -> None:
    """The word at its end counts: a query is not read from the front alone."""
    await remember(client, "s", "the needle is here")
    query = (filler * 8192)[: 8192 - 7] + " needle"
    assert len(query) == 8192
    for path in (*SEARCHES, "/v1/context/prepare"):
        error = await post(client, path, {"scope_id": "s", "query": "x" + query}, 422)
        assert [each["loc"] for each in error["error"]["details"]["errors"]] == [["body", "query"]]
    assert await search(client, "s", query) == ["the needle is here"]
    for path in SEARCHES[1:]:
        assert (await post(client, path, {"scope_id": "s", "query": query}))["hits"] == []
    for options in OUTPUTS:
        content = await prepare(client, "s", query, **options)
        assert content is not None
        assert "the needle is here" in content


async def test_the_same_words_are_found_in_every_scope_apart(client: httpx.AsyncClient) -> None:
    await create_scope(client, "t")
    await remember(client, "s", "部署 here")
    await remember(client, "t", "部署 there")
    assert await search(client, "s", "部署") == ["部署 here"]
    assert await search(client, "t", "部署") == ["部署 there"]
