"""Memory on every engine: revisions, exact reads of old ones, changes, erasure, pages."""

import asyncio

import pytest

from adapters.sql.storage import SqlStorage
from contracts.errors import (
    ContentErased,
    InvalidCursor,
    InvalidRequest,
    MemoryEntryInactive,
    MemoryNotFound,
    RevisionConflict,
    ScopeNotFound,
)
from tests.engines.content import at_revision, found, new_scope, remember, remembered, revised


async def test_every_write_that_changes_something_makes_the_next_revision(storage: SqlStorage, scope_id: str) -> None:
    first = await remembered(storage, scope_id, "one")
    assert first.citation.memory_ref.revision == 1
    second = await revised(storage, scope_id, first.citation, "one, better")
    assert (second.citation.memory_ref.revision, second.version) == (2, 2)
    assert second.citation.entry_id == first.citation.entry_id
    third = await storage.memory.retire(scope_id, second.citation, reason=None)
    assert third.memory.revision == 3


async def test_an_identical_entry_that_is_active_is_not_stored_again(storage: SqlStorage, scope_id: str) -> None:
    first = await remembered(storage, scope_id, "once")
    again = await remember(storage, scope_id, "once")
    assert (again.memory.revision, again.entry) == (1, None)
    await storage.memory.retire(scope_id, first.citation, reason=None)
    after_retiring = await remember(storage, scope_id, "once")
    assert after_retiring.entry is not None
    assert after_retiring.memory.revision == 3


async def test_the_expected_revision_must_be_the_head(storage: SqlStorage, scope_id: str) -> None:
    await remember(storage, scope_id, "one")
    with pytest.raises(RevisionConflict):
        await storage.memory.remember(scope_id, kind="k", text="two", reason=None, expected_revision=2)
    written = await storage.memory.remember(scope_id, kind="k", text="two", reason=None, expected_revision=1)
    assert written.memory.revision == 2


async def test_a_citation_of_an_older_head_cannot_be_revised(storage: SqlStorage, scope_id: str) -> None:
    first = await remembered(storage, scope_id, "one")
    await remember(storage, scope_id, "two")
    with pytest.raises(RevisionConflict):
        await storage.memory.revise(scope_id, first.citation, kind="fact", text="one!", reason=None)
    written = await storage.memory.revise(
        scope_id, at_revision(first.citation, 2), kind="fact", text="one!", reason=None
    )
    assert written.memory.revision == 3


async def test_old_revisions_stay_readable_after_revise_and_retire(storage: SqlStorage, scope_id: str) -> None:
    first = await remembered(storage, scope_id, "old wording")
    second = await revised(storage, scope_id, first.citation, "new wording")
    await storage.memory.retire(scope_id, second.citation, reason=None)
    old = await storage.memory.get(scope_id, first.citation)
    assert (old.text, old.state, old.version) == ("old wording", "inactive", 1)
    new = await storage.memory.get(scope_id, second.citation)
    assert (new.text, new.version) == ("new wording", 2)


async def test_a_revision_holds_a_version_from_where_it_entered_to_where_it_left(
    storage: SqlStorage, scope_id: str
) -> None:
    first = await remembered(storage, scope_id, "old wording")  # revision 1
    await remember(storage, scope_id, "another")  # 2
    await storage.memory.revise(
        scope_id, at_revision(first.citation, 2), kind="fact", text="new wording", reason=None
    )  # 3
    assert (await storage.memory.get(scope_id, at_revision(first.citation, 2))).text == "old wording"
    with pytest.raises(MemoryNotFound):
        await storage.memory.get(scope_id, at_revision(first.citation, 3))
    with pytest.raises(MemoryNotFound):
        await storage.memory.get(scope_id, at_revision(first.citation, 4))


async def test_a_retired_entry_can_be_neither_revised_nor_retired(storage: SqlStorage, scope_id: str) -> None:
    first = await remembered(storage, scope_id, "one")
    await storage.memory.retire(scope_id, first.citation, reason=None)
    with pytest.raises(MemoryEntryInactive):
        await storage.memory.revise(scope_id, first.citation, kind="fact", text="two", reason=None)
    with pytest.raises(MemoryEntryInactive):
        await storage.memory.retire(scope_id, first.citation, reason=None)


async def test_changes_tell_what_each_revision_did(storage: SqlStorage, scope_id: str) -> None:
    await remember(storage, scope_id, "first", reason="because")
    second = await remembered(storage, scope_id, "second")
    third = await storage.memory.revise(scope_id, second.citation, kind="fact", text="second!", reason="typo")
    assert third.entry is not None
    await storage.memory.retire(scope_id, third.entry.citation, reason="wrong")
    history = await storage.memory.changes(scope_id, 0)
    told = [
        (group.memory_ref.revision, change.op, change.reason) for group in history.revisions for change in group.changes
    ]
    assert told == [(1, "add", "because"), (2, "add", None), (3, "revise", "typo"), (4, "deactivate", "wrong")]
    revise = history.revisions[2].changes[0]
    assert revise.from_entry_version_id == second.citation.entry_version_id
    assert revise.to_entry_version_id == third.entry.citation.entry_version_id
    newest = await storage.memory.changes(scope_id, None)
    assert [group.memory_ref.revision for group in newest.revisions] == [4]
    with pytest.raises(InvalidRequest):
        await storage.memory.changes(scope_id, 5)


async def test_a_scope_without_memory_answers_emptily(storage: SqlStorage, scope_id: str) -> None:
    assert await storage.memory.search(scope_id, "anything", 10) == (None, ())
    assert await storage.memory.entries(scope_id, include_inactive=True, limit=None, cursor=None) == (None, (), None)
    history = await storage.memory.changes(scope_id, None)
    assert (history.memory, history.revisions) == (None, ())
    assert await storage.artifacts.search_experience(scope_id, "anything", 10) == ()
    assert await storage.artifacts.search_topic_memory(scope_id, "anything", 10) == ()


async def test_an_unknown_scope_is_told_as_such(storage: SqlStorage) -> None:
    with pytest.raises(ScopeNotFound):
        await remember(storage, "never created", "text")
    with pytest.raises(ScopeNotFound):
        await storage.memory.search("never created", "text", 10)


async def test_erasing_takes_the_text_of_every_version_and_keeps_the_others(storage: SqlStorage, scope_id: str) -> None:
    first = await remembered(storage, scope_id, "the secret word is xyzzy")
    second = await revised(storage, scope_id, first.citation, "the secret word is xyzzy2")
    other = await remembered(storage, scope_id, "kept word")
    head, erased = await storage.memory.erase(scope_id, first.citation.entry_id, None)
    assert (head.revision, erased) == (4, 2)
    assert await storage.memory.erase(scope_id, first.citation.entry_id, None) == (head, 0)
    for citation in (first.citation, second.citation):
        with pytest.raises(ContentErased):
            await storage.memory.get(scope_id, citation)
    assert await found(storage, scope_id, "secret word xyzzy xyzzy2") == ["kept word"]
    _, entries, _ = await storage.memory.entries(scope_id, include_inactive=True, limit=None, cursor=None)
    assert [entry.citation.entry_id for entry in entries] == [other.citation.entry_id]
    with pytest.raises(MemoryNotFound):
        await storage.memory.erase(scope_id, "no such entry", None)


async def test_pages_of_entries_hold_each_active_entry_once_in_order_of_id(storage: SqlStorage, scope_id: str) -> None:
    written = [await remembered(storage, scope_id, f"entry {number}") for number in range(7)]
    retired = (await storage.memory.retire(scope_id, written[-1].citation, reason=None)).entry
    assert retired is not None
    for include_inactive, expected in ((False, written[:-1]), (True, written)):
        pages: list[list[str]] = []
        cursor: str | None = None
        while True:
            _, listed, cursor = await storage.memory.entries(
                scope_id, include_inactive=include_inactive, limit=3, cursor=cursor
            )
            pages.append([entry.citation.entry_id for entry in listed])
            if cursor is None:
                break
        assert [len(page) for page in pages][:-1] == [3] * (len(pages) - 1)
        assert [entry_id for page in pages for entry_id in page] == sorted(
            entry.citation.entry_id for entry in expected
        )


async def test_a_cursor_fits_only_its_own_listing(storage: SqlStorage, scope_id: str) -> None:
    other = await new_scope(storage)
    for number in range(3):
        await remember(storage, scope_id, f"entry {number}")
        await remember(storage, other, f"entry {number}")
    _, _, cursor = await storage.memory.entries(scope_id, include_inactive=False, limit=1, cursor=None)
    assert cursor is not None
    for scope, include_inactive, given in (
        (other, False, cursor),
        (scope_id, True, cursor),
        (scope_id, False, cursor[:-1]),
        (scope_id, False, "A" + cursor[1:] if cursor[0] != "A" else "B" + cursor[1:]),
    ):
        with pytest.raises(InvalidCursor):
            await storage.memory.entries(scope, include_inactive=include_inactive, limit=1, cursor=given)


async def test_a_manifest_is_an_artifact_of_each_revision(storage: SqlStorage, scope_id: str) -> None:
    first = await remembered(storage, scope_id, "one")
    await revised(storage, scope_id, first.citation, "two")
    old = await storage.artifacts.read(scope_id, "memory", "memory", 1)
    assert old.content["manifest"]["entries"] == [
        {
            "entry_id": first.citation.entry_id,
            "entry_version_id": first.citation.entry_version_id,
            "state": "active",
        }
    ]
    items, cursor = await storage.artifacts.revisions(scope_id, "memory", "memory", limit=1, cursor=None)
    assert [item.revision for item in items] == [2]
    older, end = await storage.artifacts.revisions(scope_id, "memory", "memory", limit=1, cursor=cursor)
    assert ([item.revision for item in older], end) == ([1], None)
    assert older[0].content_digest == old.content_digest


async def test_readers_see_what_was_acknowledged_at_once(storage: SqlStorage, scope_id: str) -> None:
    async def write_and_find(number: int) -> bool:
        text = f"needle{number} in the hay"
        await remember(storage, scope_id, text)
        return text in await found(storage, scope_id, f"needle{number}")

    assert all(await asyncio.gather(*(write_and_find(number) for number in range(8))))
