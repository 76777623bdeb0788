"""A Memory revision that was read stays as it was, whoever imports what afterwards."""

import json
import stat
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from adapters import open_storage
from adapters.sql.storage import SqlStorage
from contracts.access import Grant, Principal
from contracts.errors import RuntimeNotReady
from contracts.memory import RememberRequest, RetireEntryRequest
from contracts.scopes import CreateScopeRequest, DeleteScopeRequest
from service.runtime import Runtime


async def imported(runtime: Runtime, *lines: dict[str, Any]) -> list[dict[str, Any]]:
    """The reports of an import into Scope `current`, without the totals."""

    async def chunks() -> AsyncIterator[bytes]:
        yield b"\n".join(json.dumps({"type": "memory-entry", "kind": "k", **line}).encode() for line in lines)

    reports = [json.loads(report) async for report in runtime.bulk.import_lines("current", chunks())]
    return reports[:-1]


async def remember(runtime: Runtime, text: str) -> Any:
    return await runtime.memory.remember(RememberRequest(scope_id="current", kind="k", text=text))


def modes_in(folder: Path) -> dict[str, int]:
    return {file.name: stat.S_IMODE(file.stat().st_mode) for file in folder.iterdir()}


def delete_in(folder: Path) -> None:
    for file in folder.iterdir():
        file.unlink()


async def digest(runtime: Runtime, revision: int) -> str:
    return (await runtime.artifacts.revision("current", "memory", "memory", revision)).content_digest


async def test_nothing_is_imported_into_revisions_that_writes_made(runtime: Runtime) -> None:
    await remember(runtime, "one")
    two = await remember(runtime, "two")
    await runtime.memory.retire(RetireEntryRequest(scope_id="current", citation=two.entry.citation))
    before = [await digest(runtime, revision) for revision in (1, 2, 3)]
    refused = await imported(runtime, *[{"text": f"backdated {n}", "revision": n} for n in (1, 2, 3)])
    assert [report["error"]["code"] for report in refused] == ["revision_conflict"] * 3
    assert [await digest(runtime, revision) for revision in (1, 2, 3)] == before
    (stored,) = await imported(runtime, {"text": "later", "revision": 4})
    assert stored["status"] == "stored"


async def test_lines_without_a_revision_seal_theirs_too(runtime: Runtime) -> None:
    await imported(runtime, {"text": "a"}, {"text": "b"})
    before = await digest(runtime, 1)
    (refused,) = await imported(runtime, {"text": "c", "revision": 1})
    assert refused["status"] == "refused"
    assert await digest(runtime, 1) == before


async def test_an_import_that_names_its_revisions_may_be_finished_later(runtime: Runtime) -> None:
    history = [
        {"text": "first", "entry_id": "e1", "entry_version_id": "v1", "revision": 1, "left_revision": 3},
        {"text": "other", "entry_id": "e2", "entry_version_id": "v2", "revision": 2},
        {"text": "second", "entry_id": "e1", "entry_version_id": "v3", "revision": 3},
    ]
    await imported(runtime, history[0])  # cut off here
    assert [report["status"] for report in await imported(runtime, *history)] == ["skipped", "stored", "stored"]


@pytest.mark.parametrize("field", ["revision", "left_revision"])
async def test_a_revision_near_the_end_of_the_integers_is_refused_and_writes_go_on(
    runtime: Runtime, field: str
) -> None:
    line = {"text": "x", "revision": 1, field: 2**63 - 1}
    (refused,) = await imported(runtime, line)
    assert refused["error"]["code"] == "invalid_request"
    assert (await remember(runtime, "still works")).memory.revision == 1


async def test_the_largest_revision_that_can_be_imported_leaves_room_for_writes(runtime: Runtime) -> None:
    (stored,) = await imported(runtime, {"text": "x", "revision": 2**53})
    assert stored["status"] == "stored"
    assert (await remember(runtime, "next")).memory.revision == 2**53 + 1


async def test_grants_on_a_deleted_scope_do_not_hold_on_the_next_of_its_name(
    runtime: Runtime, storage: SqlStorage
) -> None:
    everywhere = Grant(scope_id="*", role="viewer")
    await storage.access.create_token(b"d" * 32, Principal(type="user", id="u"), [everywhere])
    await storage.access.add_grant("u", Grant(scope_id="current", role="viewer"))
    await runtime.scopes.delete("current", DeleteScopeRequest(expected_version=1))
    assert [grant for _, grant in await storage.access.grants("u")] == [everywhere]
    body = {"title": "t", "summary": "s", "idempotency_key": "star", "scope_id": "*"}
    await runtime.scopes.create(msgspec.convert(body, CreateScopeRequest))
    await runtime.scopes.delete("*", DeleteScopeRequest(expected_version=1))
    assert [grant for _, grant in await storage.access.grants("u")] == [everywhere]


async def test_the_files_of_a_new_database_are_their_owners_alone(tmp_path: Path) -> None:
    opened = await open_storage(f"sqlite:///{tmp_path}/private.db")
    await opened.migrate()
    modes = modes_in(tmp_path)
    await opened.close()
    assert modes == {"private.db": 0o600, "private.db-wal": 0o600, "private.db-shm": 0o600}


async def test_a_database_file_that_was_deleted_takes_no_writes_and_says_so(runtime: Runtime, tmp_path: Path) -> None:
    """SQLite would acknowledge them and lose them with the process."""
    await remember(runtime, "kept")
    delete_in(tmp_path)
    with pytest.raises(RuntimeNotReady, match="deleted"):
        await remember(runtime, "lost")
    readiness = await runtime.readiness()
    assert readiness.status == "degraded"
    assert "deleted" in readiness.checks["writes"]
