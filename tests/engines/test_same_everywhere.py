"""The three engines agree: the same writes give the same hits, and an export imports anywhere with equal digests."""

import random
from itertools import permutations
from pathlib import Path

import msgspec
import pytest

import service
from adapters.sql.storage import SqlStorage
from contracts.bulk import ExperienceLine, ImportLine, MemoryEntryLine, ProfileLine, TopicMemoryLine
from tests.engines.content import at_revision, create_scope, experience, remember, topic

pytestmark = [pytest.mark.sqlite, pytest.mark.postgres, pytest.mark.oceanbase]

SAMPLE = Path(service.__file__).parent / "sample"
ENGINES = ("sqlite", "postgres", "oceanbase")
_line = msgspec.json.Decoder(ImportLine)

WORDS = [
    *("deploy", "rollback", "canary", "database", "migration", "index", "timeout", "retry", "token", "signature"),
    *("webhook", "payment", "order", "client", "server", "cache", "queue", "worker", "schema", "contract", "release"),
    *("incident", "latency", "budget"),
]
CHINESE = [
    *("部署", "回滚", "灰度", "数据库", "迁移", "索引", "超时", "重试", "令牌", "签名", "支付", "订单", "客户端"),
    *("缓存", "队列", "契约", "发布", "故障", "延迟", "预算"),
]
NAMES = ("deploy-check", "canary.yaml", "C:\\work\\ci", "rb_tool3", "OrderId", "v2.14.1", "📅", "𠮷野家")


def sentence(chance: random.Random) -> str:
    parts = chance.choices(WORDS, k=chance.randint(2, 9)) + chance.choices(CHINESE, k=chance.randint(0, 5))
    parts += chance.choices(NAMES, k=chance.randint(0, 1))
    chance.shuffle(parts)
    return " ".join(parts)


async def write_history(storage: SqlStorage, scope_id: str) -> None:
    """The same 300 entries, revises, retires and Artifacts whatever the engine."""
    chance = random.Random(1489)
    await create_scope(storage, scope_id)
    for file in sorted(SAMPLE.glob("*.ndjson")):
        lines = [_line.decode(text) for text in file.read_bytes().splitlines()]
        await import_named(storage, scope_id, file.stem, lines)
    live = []
    for number in range(300):
        written = await remember(storage, scope_id, f"{sentence(chance)} {number}")
        assert written.entry is not None
        head = written.memory.revision
        live.append(written.entry.citation)
        if number % 4 == 3:
            chosen = at_revision(live.pop(chance.randrange(len(live))), head)
            if number % 8 == 3:
                # Without a reason: the contract's import lines have no place for it, so it would not travel.
                await storage.memory.retire(scope_id, chosen, reason=None)
            else:
                text = f"{sentence(chance)} revised {number}"
                again = await storage.memory.revise(scope_id, chosen, kind="fact", text=text, reason=None)
                assert again.entry is not None
                live.append(again.entry.citation)
    details = ["\n\n".join(sentence(chance) for _ in range(60)) for _ in range(20)]
    experiences = [ExperienceLine(content=experience(f"{sentence(chance)} {number}")) for number in range(20)]
    topics = [
        TopicMemoryLine(content=topic(f"{sentence(chance)} {number}", detail)) for number, detail in enumerate(details)
    ]
    await import_named(storage, scope_id, "written", [*experiences, *topics])
    for number in range(20, 40, 3):
        replacement = topic(f"{sentence(chance)} replaced {number}", sentence(chance))
        await storage.artifacts.replace(scope_id, f"written-{number}", replacement, 1)


async def import_named(storage: SqlStorage, scope_id: str, prefix: str, lines: list[ImportLine]) -> None:
    """Import with ids of Artifacts that are the same on every engine: ids decide between equal scores."""
    named: list[ImportLine] = [
        line
        if isinstance(line, MemoryEntryLine | ProfileLine)
        else msgspec.structs.replace(line, artifact_id=f"{prefix}-{number}")
        for number, line in enumerate(lines)
    ]
    reports = await storage.bulk.import_batch(scope_id, list(enumerate(named, start=1)))
    assert {report.status for report in reports} == {"stored"}


def queries() -> list[str]:
    chance = random.Random(64)
    asked = [query["query"] for query in msgspec.json.decode((SAMPLE / "queries.json").read_bytes())]
    asked += [sentence(chance) for _ in range(30)]
    asked += [*WORDS[:8], *CHINESE[:8], *NAMES]
    return [*asked, "部", "the of and", "revised", "%", "' OR 1=1 --", " ".join(WORDS + CHINESE)]


async def answers(storage: SqlStorage, scope_id: str) -> list[object]:
    """What each query finds, in order and with scores; without ids, which are made at random."""
    given: list[object] = []
    for query in queries():
        _, hits = await storage.memory.search(scope_id, query, 16)
        experiences = await storage.artifacts.search_experience(scope_id, query, 8)
        topics = await storage.artifacts.search_topic_memory(scope_id, query, 8)
        given.append(
            (
                query,
                [(hit.text, hit.score) for hit in hits],
                [hit.content.lesson for hit in experiences],
                [(hit.title, hit.snippet, hit.score, hit.matched_by) for hit in topics],
            )
        )
    return given


async def exported(storage: SqlStorage, scope_id: str) -> list[ImportLine]:
    return [line async for batch in storage.bulk.export(scope_id) for line in batch]


async def digests(storage: SqlStorage, scope_id: str) -> dict[tuple[str, str, int], str]:
    """The digest of every revision of the reviewed families, and of every 20th of Memory and its head."""
    found: dict[tuple[str, str, int], str] = {}
    for family in ("experience", "profile", "topic-memory"):
        heads, _ = await storage.artifacts.heads(scope_id, family, limit=100, cursor=None)
        for head in heads:
            page, _ = await storage.artifacts.revisions(scope_id, family, head.artifact_id, limit=100, cursor=None)
            found.update({(family, item.artifact_id, item.revision): item.content_digest for item in page})
    newest = await storage.artifacts.read(scope_id, "memory", "memory", None)
    for revision in (*range(1, newest.revision, 20), newest.revision):
        manifest = await storage.artifacts.read(scope_id, "memory", "memory", revision)
        found["memory", "memory", revision] = manifest.content_digest
    return found


@pytest.mark.slow
async def test_the_same_writes_give_the_same_hits_and_exports_import_anywhere(
    every_storage: dict[str, SqlStorage],
) -> None:
    given = {}
    for name, storage in every_storage.items():
        await write_history(storage, f"written on {name}")
        given[name] = await answers(storage, f"written on {name}")
    assert len(given["sqlite"]) >= 60
    found_something = [answer for answer in given["sqlite"] if answer[1]]  # type: ignore[index]
    assert len(found_something) >= 55
    for name in ENGINES[1:]:
        for expected, actual in zip(given["sqlite"], given[name], strict=True):
            assert actual == expected

    for source, target in permutations(ENGINES, 2):
        from_scope, to_scope = f"written on {source}", f"from {source} to {target}"
        lines = await exported(every_storage[source], from_scope)
        await create_scope(every_storage[target], to_scope)
        for start in range(0, len(lines), 500):
            batch = list(enumerate(lines[start : start + 500], start=start + 1))
            reports = await every_storage[target].bulk.import_batch(to_scope, batch)
            assert {report.status for report in reports} == {"stored"}
        assert await exported(every_storage[target], to_scope) == lines
        again = await every_storage[target].bulk.import_batch(to_scope, list(enumerate(lines[:100], start=1)))
        assert {report.status for report in again} == {"skipped"}
    for source, target in (("sqlite", "postgres"), ("postgres", "oceanbase"), ("oceanbase", "sqlite")):
        copied = await digests(every_storage[target], f"from {source} to {target}")
        assert copied == await digests(every_storage[source], f"written on {source}")
        assert len(copied) > 60
