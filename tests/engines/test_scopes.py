"""Scopes on every engine: listing in byte order, replacing, relations, deletion of all they hold."""

import pytest

from adapters.sql.engine import Transaction
from adapters.sql.storage import SqlStorage
from contracts.artifacts import ProfileContent
from contracts.errors import InvalidCursor, InvalidScopeRelationship, ScopeNotFound, ScopeVersionConflict
from contracts.ports import Proposal
from contracts.scopes import ExternalReference, ReplaceScopeRequest
from tests.engines.content import create_scope, experience, found, new_scope, remember, remembered, topic


async def test_scopes_are_listed_once_each_in_byte_order(storage: SqlStorage) -> None:
    ids = ["order B", "order a", "order Z", "order é", "order 𠮷", "order ｡", "order", "order b ", "order ~"]
    for scope_id in ids:
        await create_scope(storage, scope_id)
    listed: list[str] = []
    cursor: str | None = None
    while True:
        page, cursor = await storage.scopes.list(visible=None, query="order", limit=2, cursor=cursor)
        listed += [scope.scope_id for scope in page]
        if cursor is None:
            break
    assert listed == sorted(ids, key=str.encode)


async def test_only_visible_scopes_are_listed_and_cursors_name_none(storage: SqlStorage) -> None:
    ids = [f"visible {number:03}" for number in range(30)]
    for scope_id in ids:
        await create_scope(storage, scope_id)
    granted = frozenset(ids[::3])
    listed: list[str] = []
    cursor: str | None = None
    while True:
        page, cursor = await storage.scopes.list(visible=granted, query="visible", limit=3, cursor=cursor)
        listed += [scope.scope_id for scope in page]
        if cursor is None:
            break
        assert "visible" not in cursor
        await create_scope(storage, f"visible while listing {len(listed)}")
    assert listed == ids[::3]
    page, cursor = await storage.scopes.list(visible=None, query="visible", limit=1, cursor=None)
    with pytest.raises(InvalidCursor):
        await storage.scopes.list(visible=None, query="other filter", limit=1, cursor=cursor)


async def test_replacing_needs_the_current_version_and_replaces_all(storage: SqlStorage) -> None:
    await create_scope(storage, "replaced reference")
    await create_scope(
        storage,
        "replaced",
        parent_scope_id="replaced reference",
        context_references=("replaced reference",),
        external_references=(ExternalReference(kind="url", value="https://example.com/?a=1&b=%20"),),
    )
    before = await storage.scopes.get("replaced")
    assert before.parent_scope_id == "replaced reference"
    assert before.external_references[0].value == "https://example.com/?a=1&b=%20"
    after = await storage.scopes.replace("replaced", ReplaceScopeRequest(expected_version=1, title="T2", summary="S2"))
    assert (after.version, after.title, after.parent_scope_id, after.context_references) == (2, "T2", None, ())
    assert after.external_references == ()
    with pytest.raises(ScopeVersionConflict):
        await storage.scopes.replace("replaced", ReplaceScopeRequest(expected_version=1, title="T3", summary="S3"))


async def test_context_references_keep_their_order(storage: SqlStorage) -> None:
    references = [await new_scope(storage) for _ in range(32)]
    given = tuple(references[::-1])
    await create_scope(storage, "ordered references", context_references=given)
    resolved = await storage.scopes.resolve("ordered references")
    assert tuple(reference.scope_id for reference in resolved.references) == given
    assert (await storage.scopes.get("ordered references")).context_references == given


async def test_relations_must_exist_and_parents_form_a_tree(storage: SqlStorage) -> None:
    with pytest.raises(InvalidScopeRelationship):
        await create_scope(storage, "refers to nothing", context_references=("nothing there",))
    with pytest.raises(ScopeNotFound):
        await storage.scopes.get("refers to nothing")
    with pytest.raises(InvalidScopeRelationship):
        await create_scope(storage, "refers to itself", context_references=("refers to itself",))
    await create_scope(storage, "top")
    await create_scope(storage, "middle", parent_scope_id="top")
    await create_scope(storage, "bottom", parent_scope_id="middle")
    with pytest.raises(InvalidScopeRelationship):
        await storage.scopes.replace(
            "top", ReplaceScopeRequest(expected_version=1, title="t", summary="s", parent_scope_id="bottom")
        )


async def test_a_deleted_scope_takes_everything_with_it(storage: SqlStorage, scope_id: str) -> None:
    key = (await storage.scopes.resolve(scope_id)).scope.key
    neighbour = await new_scope(storage)
    await remember(storage, neighbour, "needle of the neighbour")
    for number in range(3):
        await remember(storage, scope_id, f"needle {number}")
    await storage.artifacts.create(scope_id, topic("needle", "needle in detail"))
    await storage.artifacts.create(scope_id, experience("needle"))
    await storage.artifacts.create(scope_id, ProfileContent(content="needle"))
    await storage.candidates.propose(scope_id, Proposal(content=experience("needle proposed")))
    with pytest.raises(ScopeVersionConflict):
        await storage.scopes.delete(scope_id, 2)
    await storage.scopes.delete(scope_id, 1)
    with pytest.raises(ScopeNotFound):
        await storage.scopes.get(scope_id)

    async def left(transaction: Transaction) -> dict[str, int]:
        tables = [
            *("memory_head", "memory_version", "artifact_head", "artifact_revision", "topic_piece", "candidate"),
            *("corpus", "posting_tail", "posting", "posting_document", "scope_reference"),
        ]
        counted = {}
        for table in tables:
            rows = await transaction.fetch(f"SELECT COUNT(*) FROM {table} WHERE scope = ?", key)
            counted[table] = rows[0][0]
        return counted

    assert set((await storage.engine.read(left)).values()) == {0}
    assert await found(storage, neighbour, "needle") == ["needle of the neighbour"]


async def test_a_new_scope_of_the_same_id_inherits_nothing(storage: SqlStorage) -> None:
    await create_scope(storage, "phoenix", idempotency_key="first life")
    entry = await remembered(storage, "phoenix", "needle of the first life")
    await storage.scopes.delete("phoenix", 1)
    await create_scope(storage, "phoenix", idempotency_key="second life")
    assert await storage.memory.search("phoenix", "needle", 10) == (None, ())
    rewritten = await remembered(storage, "phoenix", "needle of the second life")
    assert rewritten.citation.memory_ref.revision == 1
    assert rewritten.citation.entry_id != entry.citation.entry_id
    assert await found(storage, "phoenix", "needle") == ["needle of the second life"]


async def test_a_scope_that_others_refer_to_cannot_be_deleted(storage: SqlStorage, scope_id: str) -> None:
    await create_scope(storage, "refers", context_references=(scope_id,))
    with pytest.raises(InvalidScopeRelationship):
        await storage.scopes.delete(scope_id, 1)
    await storage.scopes.delete("refers", 1)
    await create_scope(storage, "child", parent_scope_id=scope_id)
    with pytest.raises(InvalidScopeRelationship):
        await storage.scopes.delete(scope_id, 1)
    await storage.scopes.delete("child", 1)
    await storage.scopes.delete(scope_id, 1)
