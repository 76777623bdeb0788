"""Many writers and readers at once: no gap, no lost update, no half-seen write, nothing left standing."""

import asyncio
import threading
import time
from collections.abc import Awaitable
from typing import TypeVar

import pytest

from adapters import open_storage
from adapters.sql.engine import Transaction
from adapters.sql.storage import SqlStorage
from contracts.access import Grant, Principal
from contracts.errors import Conflict, RevisionConflict
from contracts.identity import Cite
from contracts.memory import MemoryWrite
from contracts.ports import Proposal
from contracts.scopes import CreateScopeRequest, ReplaceScopeRequest
from tests.engines.conftest import OpenStorage
from tests.engines.content import create_scope, experience, found, key_of, new_scope, remember, remembered

T = TypeVar("T")
WRITERS = 16


async def outcomes(attempts: list[Awaitable[T]]) -> tuple[list[T], list[Conflict]]:
    """Results and conflicts; any other error fails the test."""
    results = await asyncio.gather(*attempts, return_exceptions=True)
    for result in results:
        if isinstance(result, BaseException) and not isinstance(result, Conflict):
            raise result
    done = [result for result in results if not isinstance(result, BaseException)]
    return done, [result for result in results if isinstance(result, Conflict)]


async def test_sixteen_writers_of_one_scope_leave_no_gap(open_another: OpenStorage, scope_id: str) -> None:
    storages = [await open_another(), await open_another()]
    written, conflicts = await outcomes(
        [remember(storages[number % 2], scope_id, f"text {number}") for number in range(WRITERS)]
    )
    assert conflicts == []
    assert sorted(write.memory.revision for write in written) == list(range(1, WRITERS + 1))
    history = await storages[0].memory.changes(scope_id, 0)
    assert [group.memory_ref.revision for group in history.revisions] == list(range(1, WRITERS + 1))
    assert all(len(group.changes) == 1 for group in history.revisions)


async def test_of_twenty_revises_of_one_citation_exactly_one_wins(open_another: OpenStorage, scope_id: str) -> None:
    storages = [await open_another(), await open_another()]
    entry = await remembered(storages[0], scope_id, "original")
    written, conflicts = await outcomes(
        [
            storages[number % 2].memory.revise(
                scope_id, entry.citation, kind="fact", text=f"version {number}", reason=None
            )
            for number in range(20)
        ]
    )
    assert len(written) == 1
    assert len(conflicts) == 19
    assert {type(conflict) for conflict in conflicts} == {RevisionConflict}
    assert written[0].entry is not None
    assert await found(storages[1], scope_id, "version original") == [written[0].entry.text]


async def test_mixed_remembers_and_revises_keep_every_acknowledged_write(
    open_another: OpenStorage, scope_id: str
) -> None:
    storages = [await open_another(), await open_another()]
    entry = await remembered(storages[0], scope_id, "shared 0")

    async def revise_until_done(number: int) -> MemoryWrite:
        storage = storages[number % 2]
        while True:
            _, entries, _ = await storage.memory.entries(scope_id, include_inactive=False, limit=None, cursor=None)
            current = next(e for e in entries if e.citation.entry_id == entry.citation.entry_id)
            try:
                return await storage.memory.revise(
                    scope_id, current.citation, kind="fact", text=f"shared by {number}", reason=None
                )
            except RevisionConflict:
                continue

    revises = [revise_until_done(number) for number in range(4)]
    remembers = [remember(storages[number % 2], scope_id, f"own {number}") for number in range(WRITERS - 4)]
    written, conflicts = await outcomes([*revises, *remembers])
    assert conflicts == []
    assert sorted(write.memory.revision for write in written) == list(range(2, WRITERS + 2))
    _, entries, _ = await storages[0].memory.entries(scope_id, include_inactive=False, limit=None, cursor=None)
    last_revise = max(written[:4], key=lambda write: write.memory.revision)
    assert last_revise.entry is not None
    expected = {f"own {number}" for number in range(WRITERS - 4)} | {last_revise.entry.text}
    assert {e.text for e in entries} == expected


async def test_the_same_remember_fifty_times_at_once_is_one_entry(open_another: OpenStorage, scope_id: str) -> None:
    storages = [await open_another(), await open_another()]
    written, conflicts = await outcomes([remember(storages[number % 2], scope_id, "same") for number in range(50)])
    assert conflicts == []
    assert {write.memory.revision for write in written} == {1}
    assert [write.entry is None for write in written].count(False) == 1


async def test_the_same_scope_created_at_once_is_one_scope(open_another: OpenStorage) -> None:
    storages = [await open_another(), await open_another()]
    request = CreateScopeRequest(title="t", summary="s", idempotency_key="made once")
    created, conflicts = await outcomes([storages[number % 2].scopes.create(request) for number in range(WRITERS)])
    assert conflicts == []
    assert len({scope.scope_id for scope in created}) == 1


async def test_scopes_that_refer_to_each_other_can_be_replaced_at_once(open_another: OpenStorage) -> None:
    storages = [await open_another(), await open_another()]
    await create_scope(storages[0], "left")
    await create_scope(storages[0], "right")

    async def replace(storage: SqlStorage, scope_id: str, other: str) -> None:
        version = (await storage.scopes.get(scope_id)).version
        await storage.scopes.replace(
            scope_id,
            ReplaceScopeRequest(expected_version=version, title="t", summary="s", context_references=(other,)),
        )

    for _ in range(4):
        _, conflicts = await outcomes(
            [
                replace(storages[0], "left", "right"),
                replace(storages[1], "right", "left"),
                replace(storages[1], "left", "right"),
            ]
        )
        assert len(conflicts) <= 1
    assert (await storages[0].scopes.get("left")).context_references == ("right",)


async def test_tokens_and_grants_made_at_once_are_all_there(open_another: OpenStorage) -> None:
    storages = [await open_another(), await open_another()]
    grant = Grant(scope_id="*", role="viewer")
    tokens, conflicts = await outcomes(
        [
            storages[number % 2].access.create_token(
                number.to_bytes(32, "big"), Principal(type="service", id="crowd"), (grant,)
            )
            for number in range(WRITERS)
        ]
    )
    assert conflicts == []
    assert len({token.token_id for token in tokens}) == WRITERS
    await outcomes([storages[number % 2].access.add_grant("other", grant) for number in range(WRITERS)])
    assert await storages[0].access.grants("other") == (("other", grant),)


async def test_one_candidate_is_approved_once(open_another: OpenStorage, scope_id: str) -> None:
    storages = [await open_another(), await open_another()]
    candidate = await storages[0].candidates.propose(scope_id, Proposal(content=experience("once")))
    approved, conflicts = await outcomes(
        [storages[number % 2].candidates.approve(scope_id, candidate.candidate_id, 1) for number in range(8)]
    )
    assert (len(approved), len(conflicts)) == (1, 7)


async def test_a_read_job_sees_one_snapshot(database_url: str, storage: SqlStorage, scope_id: str) -> None:
    """What another process commits between two statements of a read is not in it."""
    await remember(storage, scope_id, "before")

    def write_elsewhere(text: str) -> None:
        async def write() -> None:
            other = await open_storage(database_url)
            await remember(other, scope_id, text)
            await other.close()

        # The job must not await anything of its own, so a thread with its own loop writes meanwhile.
        writer = threading.Thread(target=lambda: asyncio.run(write()))
        writer.start()
        writer.join(20)

    count = "SELECT COUNT(*) FROM memory_version v JOIN scope s ON s.id = v.scope WHERE s.ident = ?"

    async def job(transaction: Transaction) -> tuple[int, int]:
        before = await transaction.fetch(count, scope_id.encode())
        write_elsewhere("meanwhile")
        after = await transaction.fetch(count, scope_id.encode())
        return before[0][0], after[0][0]

    assert await storage.engine.read(job) == (1, 1)
    assert len(await found(storage, scope_id, "before meanwhile")) == 2


@pytest.mark.slow
async def test_a_stable_entry_is_found_by_every_reader_while_others_write(
    open_another: OpenStorage, scope_id: str
) -> None:
    storages = [await open_another(), await open_another()]
    stable = await remembered(storages[0], scope_id, "stable needle entry")
    stop_at = time.monotonic() + 4
    key = await key_of(storages[0], scope_id)

    async def write() -> int:
        number = 0
        while time.monotonic() < stop_at:
            await remember(storages[0], scope_id, f"needle number {number} of many")
            number += 1
            await asyncio.sleep(0.05)
        return number

    async def read(storage: SqlStorage) -> int:
        reads = 0
        while time.monotonic() < stop_at:
            head, hits = await storage.memory.search(scope_id, "stable needle", 10)
            assert head is not None
            assert hits[0].text == "stable needle entry"
            group = await storage.memory_recall.recall(key, "stable needle", 16)
            assert group.hits[0].entry_id == stable.citation.entry_id
            cited = hits[reads % len(hits)].citation
            assert (await storage.memory.get(scope_id, cited)).text == hits[reads % len(hits)].text
            reads += 1
            await asyncio.sleep(0.01)
        return reads

    counts = await asyncio.gather(write(), *(read(storages[number % 2]) for number in range(8)))
    assert counts[0] >= 10
    assert min(counts[1:]) >= 5
    history = await storages[1].memory.changes(scope_id, 0)
    assert [group.memory_ref.revision for group in history.revisions] == list(range(1, counts[0] + 2))


async def test_a_second_process_never_serves_what_was_replaced(open_another: OpenStorage, scope_id: str) -> None:
    storages = [await open_another(), await open_another()]
    entry = await remembered(storages[0], scope_id, "needle old")
    kept = entry.citation
    for number in range(5):
        for storage in storages:
            assert entry.text in await found(storage, scope_id, "needle")
        written = await storages[number % 2].memory.revise(
            scope_id, kept, kind="fact", text=f"needle new {number}", reason=None
        )
        assert written.entry is not None
        for storage in storages:
            assert await found(storage, scope_id, "needle") == [f"needle new {number}"]
        entry, kept = written.entry, written.entry.citation
    await storages[0].memory.retire(scope_id, kept, reason=None)
    for storage in storages:
        assert await found(storage, scope_id, "needle") == []
        assert (await storage.memory.get(scope_id, entry.citation)).text == entry.text


async def test_many_scopes_are_written_at_once(open_another: OpenStorage) -> None:
    storages = [await open_another(), await open_another()]
    scope_ids = [await new_scope(storages[0]) for _ in range(12)]

    async def write(number: int, scope_id: str) -> Cite:
        return (await remembered(storages[number % 2], scope_id, f"text {number}")).citation

    written, conflicts = await outcomes([write(number, scope_id) for scope_id in scope_ids for number in range(2)])
    assert conflicts == []
    assert sorted(citation.memory_ref.revision for citation in written) == [1] * 12 + [2] * 12
