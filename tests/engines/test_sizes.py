"""The largest and oddest texts that the contract allows are kept to the byte, and found."""

from adapters.sql.storage import SqlStorage
from contracts import limits
from contracts.artifacts import ExperienceContent, ProfileContent, TopicMemoryContent
from contracts.bulk import MemoryEntryLine
from contracts.identity import Cite, Ref, SourceRef
from contracts.ports import Proposal
from tests.engines.content import experience, found, key_of, remembered

FOUR_BYTES = "𠮷"
ODD_TEXTS = (
    "→ 部署 📅 𠮷野家 \U0001f9d1\u200d\U0001f4bb",
    "构建目录是 C:\\work\\ci\\out，日志在 \\\\nas01\\logs",
    "quotes ' \" ` and \\' and '' and -- /* */ ; # $1 %s %(x)s ? :name",
    "a\u000bb\u000cc\u0085d\u2028e\u001cf\r\ng\rh\tend",
    "a\u202eb\u2066c\u2069\u200b\u200d\u2060\ufeff\u00add\u061c",
    "\x01\x02\x1f\x7f\x80\x9f control",
    "\ufffe\uffff\U0010ffff noncharacters",
    "é e\u0301 Å A\u030a ﬁ Ⅷ ① ｶﾞ",
)


async def test_odd_texts_come_back_to_the_byte(storage: SqlStorage, scope_id: str) -> None:
    for text in ODD_TEXTS:
        entry = await remembered(storage, scope_id, text, kind=text[: limits.KIND_MAX_CHARS])
        assert entry.text == text
        stored = await storage.memory.get(scope_id, entry.citation)
        assert (stored.text, stored.kind) == (text, text[: limits.KIND_MAX_CHARS])


async def test_an_entry_of_8192_bytes(storage: SqlStorage, scope_id: str) -> None:
    distinct = "".join(chr(0x4E00 + number) for number in range(2730)) + "ab"
    for text in (FOUR_BYTES * 2048, "x" * 8192, distinct):
        assert len(text.encode()) == limits.ENTRY_TEXT_MAX_BYTES
        entry = await remembered(storage, scope_id, text)
        assert (await storage.memory.get(scope_id, entry.citation)).text == text
    assert await found(storage, scope_id, FOUR_BYTES) == [FOUR_BYTES * 2048]
    assert await found(storage, scope_id, distinct[1000:1002]) == [distinct]
    _, entries, _ = await storage.memory.entries(scope_id, include_inactive=False, limit=None, cursor=None)
    for entry in entries:
        await storage.memory.erase(scope_id, entry.citation.entry_id, None)
    assert await found(storage, scope_id, distinct[1000:1002]) == []


async def test_a_topic_memory_of_the_largest_size(storage: SqlStorage, scope_id: str) -> None:
    content = TopicMemoryContent(
        title=FOUR_BYTES * limits.TOPIC_TITLE_MAX_CHARS,
        summary=FOUR_BYTES * limits.TOPIC_SUMMARY_MAX_CHARS,
        detail=FOUR_BYTES * (limits.TOPIC_DETAIL_MAX_CHARS - 7) + " needle",
    )
    created = await storage.artifacts.create(scope_id, content)
    read = await storage.artifacts.read(scope_id, "topic-memory", created.artifact_id, None)
    assert read.content == {"title": content.title, "summary": content.summary, "detail": content.detail}
    hits = await storage.topic_memory_recall.recall(await key_of(storage, scope_id), "needle", 8)
    assert [hit.artifact_id for hit in hits] == [created.artifact_id]
    assert hits[0].snippet is not None
    assert hits[0].snippet.endswith("needle")
    replaced = await storage.artifacts.replace(
        scope_id, created.artifact_id, TopicMemoryContent(title="t", summary="s", detail="d"), 1
    )
    assert replaced.revision == 2
    assert await storage.topic_memory_recall.recall(await key_of(storage, scope_id), "needle", 8) == ()


async def test_a_profile_of_256_kib(storage: SqlStorage, scope_id: str) -> None:
    text = FOUR_BYTES * (limits.PROFILE_MAX_BYTES // 4)
    assert len(text.encode()) == limits.PROFILE_MAX_BYTES
    created = await storage.artifacts.create(scope_id, ProfileContent(content=text))
    head = await storage.profile_recall.head(await key_of(storage, scope_id))
    assert head is not None
    assert (head.content, head.revision) == (text, 1)
    read = await storage.artifacts.read(scope_id, "profile", "profile", 1)
    assert (read.content["content"], read.content_digest) == (text, created.content_digest)


async def test_an_experience_of_the_largest_size(storage: SqlStorage, scope_id: str) -> None:
    field = FOUR_BYTES * limits.EXPERIENCE_FIELD_MAX_CHARS
    content = ExperienceContent(situation=field, action=field, outcome=field, lesson=field)
    await storage.artifacts.create(scope_id, content)
    group = await storage.experience_recall.recall(await key_of(storage, scope_id), FOUR_BYTES, 8)
    assert [hit.lesson for hit in group.hits] == [field]


async def test_a_candidate_with_as_many_references_as_allowed(storage: SqlStorage, scope_id: str) -> None:
    citation = Cite(
        memory_ref=Ref(family="memory", artifact_id="memory", revision=limits.INTEGER_MAX),
        entry_id="e" * limits.ARTIFACT_ID_MAX_CHARS,
        entry_version_id="v" * limits.ARTIFACT_ID_MAX_CHARS,
    )
    proposal = Proposal(
        content=experience(FOUR_BYTES * 7000),
        source_refs=(SourceRef(name="content", source_id="s" * limits.SOURCE_ID_MAX_CHARS),) * limits.SOURCES_MAX,
        artifact_refs=(Ref(family="f" * 128, artifact_id="a" * 128, revision=limits.INTEGER_MAX),) * limits.SOURCES_MAX,
        memory_citations=(citation,) * limits.SOURCES_MAX,
        reason=FOUR_BYTES * limits.REVIEW_REASON_MAX_CHARS,
    )
    proposed = await storage.candidates.propose(scope_id, proposal)
    stored = await storage.candidates.get(scope_id, proposed.candidate_id)
    assert (stored.source_refs, stored.artifact_refs) == (proposal.source_refs, proposal.artifact_refs)
    assert (stored.memory_citations, stored.reason) == (proposal.memory_citations, proposal.reason)
    rejected = await storage.candidates.reject(scope_id, proposed.candidate_id, 1, proposal.reason or "")
    assert rejected.decision_reason == proposal.reason


async def test_a_batch_of_many_large_lines_is_stored_in_one_transaction(storage: SqlStorage, scope_id: str) -> None:
    # A quarter of a MB of text, and with their terms several MB in one transaction.
    texts = [
        f"needle{number:03} " + "".join(chr(0x4E00 + (number * 37 + place * 11) % 20000) for place in range(2726))
        for number in range(30)
    ]
    assert {len(text.encode()) for text in texts} == {8188}
    lines = [MemoryEntryLine(kind="k", text=text) for text in texts]
    reports = await storage.bulk.import_batch(scope_id, list(enumerate(lines, start=1)))
    assert {report.status for report in reports} == {"stored"}
    assert {report.citation.memory_ref.revision for report in reports if report.citation} == {1}
    assert (await found(storage, scope_id, "needle017"))[0] == texts[17]
