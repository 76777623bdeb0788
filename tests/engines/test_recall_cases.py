"""Searches of the field, with the same answer on every engine."""

import pytest

from adapters.sql.storage import SqlStorage
from contracts.bulk import MemoryEntryLine
from tests.engines.content import at_revision, found, key_of, new_scope, remember, remembered, revised, topic


@pytest.mark.parametrize(
    ("text", "queries"),
    [
        ("北京机房明天有雨，空调要检修", ("雨", "机房", "空调检修")),
        ("上线前先跑deploy-check再切流量，回滚用rb-tool3执行", ("deploy-check", "check", "rb-tool3", "切流量")),
        ("Café résumé parser is in tools/", ("café", "cafe\u0301", "re\u0301sume\u0301")),
        ("构建目录是 C:\\work\\ci\\out，日志在 \\\\nas01\\logs", ("C:\\work\\ci\\out", "nas01", "构建目录", "ci\\")),
        ("→ 部署 📅 𠮷野家 \U0001f9d1\u200d\U0001f4bb", ("𠮷野家", "部署")),
        ('a%b_c and 100% of it\'s "done"', ("100%", "a%b_c", '"done"')),
    ],
)
async def test_an_entry_is_found_by_each_of_these(storage: SqlStorage, text: str, queries: tuple[str, ...]) -> None:
    scope_id = await new_scope(storage)
    await remember(storage, scope_id, "something else entirely")
    await remember(storage, scope_id, text)
    for query in queries:
        assert await found(storage, scope_id, query, 5) == [text]
        group = await storage.memory_recall.recall(await key_of(storage, scope_id), query, 5)
        assert [hit.text for hit in group.hits] == [text]


async def test_rare_words_beat_common_ones_in_chinese_and_english(storage: SqlStorage, scope_id: str) -> None:
    for number in range(12):
        await remember(
            storage, scope_id, f"我们中午的午餐是怎么安排的，我们的旅行是怎么计划的，这是第{number}次说我们的事情" * 3
        )
        await remember(
            storage, scope_id, f"how do we plan the lunch and how do we book the trip, the note number {number}" * 3
        )
    await remember(storage, scope_id, "灰度发布用 canary.yaml 控制比例")
    await remember(storage, scope_id, "Rotate the signing key with keyctl")
    chinese = await found(storage, scope_id, "我们的灰度发布是怎么做的", 3)
    english = await found(storage, scope_id, "how do we rotate the signing key", 3)
    assert (chinese[0], english[0]) == ("灰度发布用 canary.yaml 控制比例", "Rotate the signing key with keyctl")


async def test_punctuation_alone_finds_nothing(storage: SqlStorage, scope_id: str) -> None:
    await remember(storage, scope_id, "words, and punctuation!")
    assert await found(storage, scope_id, "!!! ...，。") == []


async def test_the_newest_of_equal_texts_comes_first_and_limits_hold(storage: SqlStorage, scope_id: str) -> None:
    for number in range(6):
        await remember(storage, scope_id, "needle", kind=f"kind {number}")
    head, hits = await storage.memory.search(scope_id, "needle", 4)
    assert head is not None
    kinds = [(await storage.memory.get(scope_id, hit.citation)).kind for hit in hits]
    assert kinds == ["kind 5", "kind 4", "kind 3", "kind 2"]


async def test_a_term_of_hundreds_of_entries_stays_searchable_through_revises_and_retires(
    storage: SqlStorage, scope_id: str
) -> None:
    """More than one sealed block of postings, with holes in each."""
    lines = [MemoryEntryLine(kind="k", text=f"needle mark{number:04} common words") for number in range(300)]
    reports = await storage.bulk.import_batch(scope_id, list(enumerate(lines, start=1)))
    citations = [report.citation for report in reports if report.citation is not None]
    for number in (0, 127, 128, 129, 299):
        head, _, _ = await storage.memory.entries(scope_id, include_inactive=False, limit=1, cursor=None)
        assert head is not None
        current = at_revision(citations[number], head.revision)
        if number % 2:
            await revised(storage, scope_id, current, f"thread renamed{number:04}")
        else:
            await storage.memory.retire(scope_id, current, reason=None)
        assert not any(f"mark{number:04}" in text for text in await found(storage, scope_id, f"mark{number:04}", 50))
    assert (await found(storage, scope_id, "mark0130", 1)) == ["needle mark0130 common words"]
    assert await found(storage, scope_id, "renamed0129", 1) == ["thread renamed0129"]
    documents = await storage.reindex(lambda done, scopes: None)
    assert documents >= 298
    assert (await found(storage, scope_id, "mark0130", 1)) == ["needle mark0130 common words"]


async def test_a_topic_memory_is_found_by_title_or_detail_with_a_snippet(storage: SqlStorage, scope_id: str) -> None:
    padding = "filler sentence about nothing. " * 40
    await storage.artifacts.create(
        scope_id, topic("rollout plan", f"{padding}\n\nthe canary weight is five\n\n{padding}")
    )
    await storage.artifacts.create(scope_id, topic("canary weight", "unrelated detail"))
    hits = await storage.artifacts.search_topic_memory(scope_id, "canary weight", 5)
    assert [hit.title for hit in hits] == ["canary weight", "rollout plan"]
    assert hits[0].matched_by == ("topic_fts",)
    assert hits[1].matched_by == ("detail_fts",)
    assert hits[1].snippet is not None
    assert "canary weight is five" in hits[1].snippet


async def test_erased_and_retired_texts_are_never_found_again(storage: SqlStorage, scope_id: str) -> None:
    retired = await remembered(storage, scope_id, "needle retired")
    await storage.memory.retire(scope_id, retired.citation, reason=None)
    erased = await remembered(storage, scope_id, "needle erased")
    await storage.memory.erase(scope_id, erased.citation.entry_id, None)
    await remember(storage, scope_id, "needle live")
    assert await found(storage, scope_id, "needle retired erased live") == ["needle live"]
    await storage.reindex(lambda done, scopes: None)
    assert await found(storage, scope_id, "needle retired erased live") == ["needle live"]
