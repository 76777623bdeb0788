"""Failures that are not the caller's: 500 and 503, each in the form of every error and without a word of the inside."""

import sqlite3
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.http_contract.api import NDJSON, Api, artifact_path, experience, failed, ref_of, scope_path
from tests.http_contract.sidecar import Sidecar


@pytest.fixture
def started(folder: Path) -> Iterator[list[Sidecar]]:
    """Whatever a test starts is closed."""
    running: list[Sidecar] = []
    yield running
    for sidecar in running:
        sidecar.close()


def test_a_damaged_row_is_500_and_tells_nothing_of_itself(folder: Path, started: list[Sidecar]) -> None:
    sidecar = Sidecar(folder, folder / "context.db").start()
    started.append(sidecar)
    api = sidecar.api()
    scope = api.new_scope()
    ref = ref_of(api.create_artifact(scope, "experience", experience("needle")))
    with sqlite3.connect(sidecar.database) as connection:
        connection.execute("UPDATE artifact_revision SET content = '{damaged'")
    connection.close()
    get = {"scope_id": scope, "artifact": ref}
    for answer in (api.get(artifact_path(scope, ref)), api.post("/v1/experience/get", **get)):
        error = failed(answer, 500, "internal_error")
        for inside in ("damaged", "Traceback", "artifact_revision", "SELECT", str(folder), "json"):
            assert inside not in answer.text
        assert error["details"] is None
        assert answer.headers["X-PowerContext-Request-ID"] in sidecar.log()
    prepared = api.post("/v1/context/prepare", scope_id=scope, query="needle")
    assert prepared.status_code >= 500
    memory = {"assembly": {"sections": [{"family": "memory", "limit": 1}]}}
    assert api.prepare(scope, "needle", **memory)["status"] == "empty"  # a family that is not selected cannot hurt


def test_recall_after_its_deadline_is_503(folder: Path, started: list[Sidecar]) -> None:
    sidecar = Sidecar(folder, folder / "context.db", RUNTIME_RECALL_TIMEOUT_SECONDS="0.000001").start()
    started.append(sidecar)
    api = sidecar.api()
    scope = api.new_scope()
    api.remember(scope, "needle")
    answer = api.post("/v1/context/prepare", scope_id=scope, query="needle")
    failed(answer, 503, "runtime_not_ready")


def test_too_many_requests_under_way_are_503_with_retry_after(folder: Path, started: list[Sidecar]) -> None:
    settings = {"HTTP_MAX_CONCURRENT_REQUESTS": "1", "HTTP_QUEUE_TIMEOUT_SECONDS": "0.1"}
    sidecar = Sidecar(folder, folder / "context.db", **settings).start()
    started.append(sidecar)
    api = sidecar.api()
    scope = api.new_scope()

    # A write that waits for another program's lock holds the only place.
    lock = sqlite3.connect(sidecar.database, isolation_level=None)
    lock.execute("BEGIN IMMEDIATE")
    with ThreadPoolExecutor(1) as threads:
        waiting = threads.submit(
            lambda: api.post("/v1/memory/remember", scope_id=scope, kind="k", text="t").status_code
        )
        time.sleep(0.5)
        refused = sidecar.api().get(scope_path(scope))
        failed(refused, 503, "runtime_not_ready")
        assert refused.headers["Retry-After"].isdigit()
        assert api.get("/health/live").status_code == api.get("/health/ready").status_code == 200
        lock.execute("ROLLBACK")
        assert waiting.result() == 200
    lock.close()
    assert api.get(scope_path(scope)).status_code == 200


def test_configured_body_limits_hold(folder: Path, started: list[Sidecar]) -> None:
    settings = {"HTTP_MAX_BODY_BYTES": "2048", "HTTP_MAX_IMPORT_BYTES": "4096"}
    sidecar = Sidecar(folder, folder / "context.db", **settings).start()
    started.append(sidecar)
    api = sidecar.api()
    scope = api.new_scope()
    assert api.remember(scope, "x" * 1500)["entry"]
    too_large = api.post("/v1/memory/remember", scope_id=scope, kind="k", text="x" * 2048)
    failed(too_large, 413, "payload_too_large")
    path, headers = f"{scope_path(scope)}/import", {"Content-Type": NDJSON}
    assert api.send("POST", path, content=b"\n" * 4096, headers=headers).status_code == 200
    failed(api.send("POST", path, content=b"\n" * 4097, headers=headers), 413, "payload_too_large")


def written_by(sidecar: Sidecar, api: Api, scope: str, text: str) -> int:
    """How many bytes one remember adds to the write-ahead log."""
    connection = sqlite3.connect(sidecar.database)
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    connection.close()
    assert api.remember(scope, text)["entry"]
    return sidecar.database.with_name(sidecar.database.name + "-wal").stat().st_size


def test_a_write_costs_the_same_however_many_entries_there_are(folder: Path, started: list[Sidecar]) -> None:
    sidecar = Sidecar(folder, folder / "context.db").start()
    started.append(sidecar)
    api = sidecar.api()
    small, large = api.new_scope(), api.new_scope()
    for scope, count in ((small, 20), (large, 4000)):
        lines = (f'{{"type":"memory-entry","kind":"k","text":"entry {n} of {scope}"}}\n' for n in range(count))
        api.import_bytes(scope, "".join(lines).encode())
    costs = {scope: written_by(sidecar, api, scope, f"one more entry {scope}") for scope in (small, large)}
    assert 0 < costs[large] < 2 * costs[small]
