"""Ids and texts are compared as bytes on every engine: no collation merges two of them."""

import pytest

from adapters.sql.storage import SqlStorage
from contracts.access import Grant, Principal
from contracts.bulk import MemoryEntryLine
from contracts.errors import ScopeAlreadyExists, ScopeIdempotencyConflict, ScopeNotFound
from contracts.scopes import CreateScopeRequest
from tests.engines.content import create_scope, found, key_of, new_scope, remember, remembered

# Pairs that one collation or another calls equal: case, accent, composition, blanks, width, emoji, zero width, ß.
LOOKALIKES = (
    ("Deploy", "deploy"),
    ("resume", "résumé"),
    ("cafe\u0301", "caf\u00e9"),
    ("trailing", "trailing "),
    ("tab", "tab\t"),
    ("abc", "ａｂｃ"),
    ("📅", "🚀"),
    ("👩", "👩\u200d💻"),
    ("zero", "zero\u200b"),
    ("strasse", "straße"),
    ("I", "ı"),
    ("か", "が"),
    ("は", "ハ"),
    ("𠮷", "𠮸"),
    ("1", "１"),
    ("é", "e"),
)
each_pair = pytest.mark.parametrize(("one", "other"), LOOKALIKES)


@each_pair
async def test_scope_ids_and_idempotency_keys_stay_apart(storage: SqlStorage, one: str, other: str) -> None:
    for spelling in (one, other):
        request = CreateScopeRequest(
            title=f"title of {spelling}", summary="s", idempotency_key=spelling, scope_id=f"pair {one} {spelling}"
        )
        created = await storage.scopes.create(request)
        assert created.title == f"title of {spelling}"
        assert await storage.scopes.create(request) == created
        await remember(storage, created.scope_id, f"needle of {spelling}")
    for spelling in (one, other):
        assert (await storage.scopes.get(f"pair {one} {spelling}")).title == f"title of {spelling}"
        assert await found(storage, f"pair {one} {spelling}", "needle") == [f"needle of {spelling}"]


@each_pair
async def test_texts_and_kinds_stay_apart(storage: SqlStorage, scope_id: str, one: str, other: str) -> None:
    citations = []
    for kind, text in ((one, one), (one, other), (other, one), (other, other)):
        entry = await remembered(storage, scope_id, f"text {text}", kind=f"kind {kind}")
        assert (entry.kind, entry.text) == (f"kind {kind}", f"text {text}")
        citations.append(entry.citation)
    assert len({citation.entry_id for citation in citations}) == 4
    assert [(await storage.memory.get(scope_id, citation)).text for citation in citations] == [
        f"text {one}",
        f"text {other}",
        f"text {one}",
        f"text {other}",
    ]
    assert (await remember(storage, scope_id, f"text {one}", kind=f"kind {other}")).entry is None


@each_pair
async def test_principals_stay_apart(storage: SqlStorage, one: str, other: str) -> None:
    await storage.access.add_grant(f"user {one}", Grant(scope_id=one, role="viewer"))
    assert await storage.access.grants(f"user {other}") == ()
    await storage.access.add_grant(f"user {other}", Grant(scope_id=other, role="admin"))
    assert await storage.access.grants(f"user {one}") == ((f"user {one}", Grant(scope_id=one, role="viewer")),)
    assert await storage.access.remove_grant(f"user {one}", Grant(scope_id=other, role="viewer")) is False
    assert await storage.access.remove_grant(f"user {one}", Grant(scope_id=one, role="viewer")) is True


@pytest.mark.parametrize(("one", "other"), [("mem_A", "mem_a"), ("x~1", "X~1")])
async def test_entry_and_version_ids_stay_apart(storage: SqlStorage, scope_id: str, one: str, other: str) -> None:
    lines = [
        MemoryEntryLine(
            kind="k", text=f"entry of {spelling}", entry_id=spelling, entry_version_id=f"version {spelling}"
        )
        for spelling in (one, other)
    ]
    reports = await storage.bulk.import_batch(scope_id, list(enumerate(lines, start=1)))
    assert [report.status for report in reports] == ["stored", "stored"]
    for report, spelling in zip(reports, (one, other), strict=True):
        assert report.citation is not None
        assert (await storage.memory.get(scope_id, report.citation)).text == f"entry of {spelling}"


async def test_an_idempotency_key_belongs_to_its_parameters(storage: SqlStorage) -> None:
    request = CreateScopeRequest(title="A", summary="s", idempotency_key="Job-1")
    first = await storage.scopes.create(request)
    second = await storage.scopes.create(CreateScopeRequest(title="B", summary="s", idempotency_key="job-1"))
    assert first.scope_id != second.scope_id
    assert await storage.scopes.create(request) == first
    with pytest.raises(ScopeIdempotencyConflict):
        await storage.scopes.create(CreateScopeRequest(title="B", summary="s", idempotency_key="Job-1"))
    with pytest.raises(ScopeAlreadyExists):
        await storage.scopes.create(
            CreateScopeRequest(title="A", summary="s", idempotency_key="Job-2", scope_id=first.scope_id)
        )


async def test_ids_of_1024_bytes_that_differ_in_the_last_character(storage: SqlStorage) -> None:
    long, longer = "\U00020bb7" * 256, "\U00020bb7" * 255 + "\U00020bb8"
    created = await create_scope(storage, long, title="𠮷" * 256, summary="𠮷" * 2000, idempotency_key="𠮸" * 256)
    assert created.title == "𠮷" * 256
    assert created.summary == "𠮷" * 2000
    await create_scope(storage, longer, context_references=(long,), idempotency_key="𠮷" * 256)
    await remember(storage, long, "needle one")
    await remember(storage, longer, "needle two")
    resolved = await storage.scopes.resolve(longer)
    assert [reference.scope_id for reference in resolved.references] == [long]
    assert await found(storage, long, "needle") == ["needle one"]
    assert await found(storage, longer, "needle") == ["needle two"]
    for scope, text in ((resolved.scope, "needle two"), (resolved.references[0], "needle one")):
        group = await storage.memory_recall.recall(scope, "needle", 8)
        assert [hit.text for hit in group.hits] == [text]


async def test_operators_and_wildcards_in_ids_have_no_effect(storage: SqlStorage) -> None:
    ids = ["ap-erp", "ap", "x OR y", 'a"b', "a*", "-z", "50%", "a_b", "a?b", "'; --"]  # and what they would match:
    ids += ["axb", "50x", "$1", "%s", "\\", "a\\"]
    for number, scope_id in enumerate(ids):
        await create_scope(storage, scope_id)
        await remember(storage, scope_id, f"needle {number}")
    for number, scope_id in enumerate(ids):
        assert await found(storage, scope_id, "needle") == [f"needle {number}"]
        group = await storage.memory_recall.recall(await key_of(storage, scope_id), "needle", 8)
        assert [hit.text for hit in group.hits] == [f"needle {number}"]
    for query, expected in (("50%", ["50%"]), ("a_b", ["a_b"]), ("%s", ["%s"]), ("a\\", ["a\\"]), ("'; --", ["'; --"])):
        listed, _ = await storage.scopes.list(visible=frozenset(ids), query=query, limit=50, cursor=None)
        assert [scope.scope_id for scope in listed] == expected


@pytest.mark.parametrize(
    "query",
    [
        *("needle*", "needle AND nothing", '"needle', "needle OR", "NEAR(needle)", "needle:needle"),
        *("%", "_", "'", "\\", "?", "%s", "$1"),
    ],
)
async def test_operators_in_queries_are_text(storage: SqlStorage, query: str) -> None:
    scope_id = await new_scope(storage)
    await remember(storage, scope_id, "a needle")
    await remember(storage, scope_id, "hay only")
    assert await found(storage, scope_id, query) == (["a needle"] if "needle" in query.lower() else [])


async def test_principals_with_equal_names_but_for_case_have_their_own_tokens(storage: SqlStorage) -> None:
    for number, name in enumerate(("Ann", "ann", "ann ", "änn")):
        await storage.access.create_token(bytes([number]) * 32, Principal(type="user", id=name), ())
        await storage.access.add_grant(name, Grant(scope_id=f"of {name}", role="viewer"))
    for number, name in enumerate(("Ann", "ann", "ann ", "änn")):
        known = await storage.access.authenticate(bytes([number]) * 32)
        assert known is not None
        assert known[0].id == name
        assert [grant.scope_id for grant in known[1]] == [f"of {name}"]


async def test_a_scope_id_is_not_found_by_a_lookalike(storage: SqlStorage) -> None:
    await create_scope(storage, "Exactly this")
    for lookalike in ("exactly this", "Exactly this ", "Exactly thís", "Ｅxactly this"):
        with pytest.raises(ScopeNotFound):
            await storage.scopes.get(lookalike)
