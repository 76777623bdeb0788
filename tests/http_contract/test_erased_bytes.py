"""On SQLite the bytes of what was erased are in no file of the database, while the server runs."""

import random
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import pytest

from tests.http_contract.api import Json, experience, ref_of, topic
from tests.http_contract.sidecar import Sidecar
from tests.http_contract.test_memory_writes import cited_at, retire, revise


@pytest.fixture
def sidecar(folder: Path) -> Iterator[Sidecar]:
    started = Sidecar(folder, folder / "context.db").start()
    yield started
    started.close()


def traces(sidecar: Sidecar, secret: str) -> dict[str, int]:
    """How often each file of the database holds the secret."""
    files = sorted(sidecar.database.parent.glob(sidecar.database.name + "*"))
    assert sidecar.database in files
    found = {file.name: file.read_bytes().count(secret.encode()) for file in files}
    return {name: count for name, count in found.items() if count}


def filler(rng: random.Random) -> str:
    return " ".join(f"w{rng.randrange(2000)}" for _ in range(rng.randrange(3, 200)))


def test_erased_entries_are_in_no_file(sidecar: Sidecar) -> None:
    api, secret = sidecar.api(), uuid4().hex
    scope = api.new_scope()
    first = api.remember(scope, f"one {secret}", kind=secret, reason=secret)["entry"]["citation"]
    second = revise(api, scope, first, f"two {secret} " * 200, kind=secret, reason=secret)["entry"]["citation"]
    other = api.remember(scope, f"{secret} three")["entry"]["citation"]
    retire(api, scope, cited_at(second, 3), reason=secret)
    assert traces(sidecar, secret)
    for citation in (first, other):
        api.call("/v1/memory/entries/erase", scope_id=scope, entry_id=citation["entry_id"])
    assert traces(sidecar, secret) == {}


def test_no_copy_stays_in_pages_whose_rows_moved_to_others(sidecar: Sidecar) -> None:
    """Rows grow when their versions leave; full pages are then split, and the copies left behind are nobody's rows."""
    api, secret, rng = sidecar.api(), uuid4().hex, random.Random(1489)
    erased, kept = api.new_scope(), api.new_scope()
    live: list[tuple[str, Json]] = []
    for _ in range(20):
        for scope, word in ((erased, secret), (kept, "of no interest")):
            texts = [(f"{number} " + word * 40)[: rng.randrange(60, 300)] for number in rng.sample(range(10**6), 10)]
            lines: list[Json] = [{"type": "memory-entry", "kind": "k", "text": text} for text in texts]
            live += [(scope, report["citation"]) for report in api.import_lines(scope, *lines)]
    heads = {erased: 20, kept: 20}
    for scope, citation in rng.sample(live, 200):
        retire(api, scope, cited_at(citation, heads[scope]), reason="r" * 512)
        heads[scope] += 1
    assert traces(sidecar, secret)
    deleted = api.send("POST", f"/v1/scopes/{erased}/delete", {"expected_version": 1})
    assert deleted.status_code == 200
    assert traces(sidecar, secret) == {}


def test_erased_artifacts_their_pieces_and_their_candidates_are_in_no_file(sidecar: Sidecar) -> None:
    api, secret, rng = sidecar.api(), uuid4().hex, random.Random(1489)
    scope = api.new_scope()
    details = [f"{filler(rng)} {secret} {filler(rng)}\n\n" * 30 for _ in range(4)]
    subject = ref_of(api.create_artifact(scope, "topic-memory", topic(f"t {secret}", f"s {secret}", details[0])))
    for detail in details[1:]:
        api.create_artifact(scope, "topic-memory", topic("t", "s", filler(rng) * 20))
        subject = ref_of(api.replace_artifact(scope, subject, topic(f"t {secret}", f"s {secret}", detail)))
    lesson = f"{filler(rng)} {secret}"
    sources = [{"name": "content", "source_id": secret}]
    first = api.approve(scope, api.propose(scope, experience(lesson), reason=secret, source_refs=sources))
    again = api.propose(scope, experience(f"again {secret}"), target=first)
    revising = {"scope_id": scope, "candidate_id": again["candidate_id"], "expected_version": 1}
    api.call("/v1/artifact-candidates/revise", **revising, proposal=experience(f"{secret} revised"), target=first)
    rejecting = {**revising, "expected_version": 2, "reason": f"{secret}, no"}
    api.call("/v1/artifact-candidates/reject", **rejecting)
    profile = api.approve(scope, api.propose_profile(scope, f"{filler(rng)} {secret}"))
    api.propose_profile(scope, f"{secret} pending")
    assert traces(sidecar, secret)
    for ref in (subject, first, profile):
        api.erase_artifact(scope, ref)
    assert traces(sidecar, secret) == {}


def test_a_deleted_scope_is_in_no_file(sidecar: Sidecar) -> None:
    api, secret = sidecar.api(), uuid4().hex
    scope = api.new_scope(f"scope {secret}", title=f"title {secret}", summary=f"summary {secret}")
    api.remember(scope, f"text {secret}", kind=secret, reason=secret)
    api.create_artifact(scope, "topic-memory", topic(secret, secret, f"detail {secret} " * 1000))
    api.propose(scope, experience(secret))
    assert traces(sidecar, secret)
    answer = api.send("POST", f"/v1/scopes/scope%20{secret}/delete", {"expected_version": 1})
    assert answer.status_code == 200
    assert traces(sidecar, secret) == {}


def test_a_reader_in_the_way_is_told_of_and_erasing_again_finishes(sidecar: Sidecar) -> None:
    api, secret = sidecar.api(), uuid4().hex
    scope = api.new_scope()
    citation = api.remember(scope, secret)["entry"]["citation"]
    erasing = {"scope_id": scope, "entry_id": citation["entry_id"]}
    reader = sqlite3.connect(sidecar.database, isolation_level=None)
    try:
        reader.execute("BEGIN")
        reader.execute("SELECT COUNT(*) FROM memory_version").fetchall()
        answer = api.post("/v1/memory/entries/erase", **erasing)
        assert (answer.status_code, answer.json()["error"]["code"]) == (503, "runtime_not_ready")
        assert answer.headers["Retry-After"]
        assert api.search(scope, secret) == []
    finally:
        reader.close()
    assert api.call("/v1/memory/entries/erase", **erasing)["erased_versions"] == 0
    assert traces(sidecar, secret) == {}
