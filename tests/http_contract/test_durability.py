"""What was acknowledged survives kill -9 and SIGTERM; a storage that cannot be written says so and heals."""

import random
import resource
import signal
import sqlite3
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest

from tests.http_contract.api import Api, Json, failed, succeeded
from tests.http_contract.sidecar import Sidecar
from tests.http_contract.test_memory_writes import memory_ref

KILLS = 3
WRITERS = 4


@pytest.fixture
def sidecar(folder: Path) -> Iterator[Sidecar]:
    started = Sidecar(folder, folder / "context.db", HTTP_SHUTDOWN_TIMEOUT_SECONDS="5").start()
    yield started
    started.close()


def write_until_it_ends(sidecar: Sidecar, scope: str, name: str) -> list[str]:
    """The texts that the server acknowledged before it went away."""
    api = sidecar.api()
    acknowledged: list[str] = []
    while True:
        text = f"numbered {name} x{len(acknowledged)}"
        try:
            answer = api.post("/v1/memory/remember", scope_id=scope, kind="fact", text=text)
        except httpx.TransportError:
            return acknowledged
        assert answer.status_code == 200, answer.text
        acknowledged.append(text)


def assert_all_there(sidecar: Sidecar, api: Api, scope: str, acknowledged: list[str]) -> None:
    """Every acknowledged text is listed, found and in the changes, and no revision is missing."""
    entries = api.entries(scope)
    texts = {entry["text"]: entry["citation"]["entry_id"] for entry in entries}
    assert set(acknowledged) <= set(texts)
    revisions = api.changes(scope)
    assert [each["memory_ref"] for each in revisions] == [memory_ref(n) for n in range(1, len(revisions) + 1)]
    assert {change["entry_id"] for each in revisions for change in each["changes"]} == set(texts.values())
    for text in random.Random(len(acknowledged)).sample(acknowledged, min(20, len(acknowledged))):
        assert text in [hit["text"] for hit in api.search(scope, text)]
    connection = sqlite3.connect(sidecar.database)
    assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    connection.close()


# httpx does not close the socket with which it failed to connect to a server that is gone.
@pytest.mark.filterwarnings("ignore:Exception ignored in. <socket.socket:pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM])
def test_every_acknowledged_write_survives_the_end_of_the_process(sidecar: Sidecar, how: signal.Signals) -> None:
    scope = sidecar.api().new_scope()
    acknowledged: list[str] = []
    for round_number in range(KILLS if how == signal.SIGKILL else 1):
        with ThreadPoolExecutor(WRITERS) as writers:
            names = [f"r{round_number}w{number}" for number in range(WRITERS)]
            writing = [writers.submit(write_until_it_ends, sidecar, scope, name) for name in names]
            time.sleep(random.uniform(0.3, 0.8))
            began = time.monotonic()
            status = sidecar.stop(how)
            took = time.monotonic() - began
            for writer in writing:
                acknowledged += writer.result()
        if how == signal.SIGTERM:
            assert status == 0
            assert took < 8  # the shutdown timeout, and what closing takes
        sidecar.start()
        assert_all_there(sidecar, sidecar.api(), scope, acknowledged)
    assert acknowledged


def test_sigterm_lets_a_request_under_way_finish(sidecar: Sidecar) -> None:
    api = sidecar.api()
    scope = api.new_scope()
    halfway = threading.Event()

    def slowly() -> Iterator[bytes]:
        line = '{{"type":"memory-entry","kind":"k","text":"line {}"}}\n'
        yield "".join(line.format(number) for number in range(600)).encode()
        halfway.set()
        time.sleep(1)
        yield line.format(600).encode()

    with ThreadPoolExecutor(1) as threads:
        importing = threads.submit(lambda: api.import_bytes(scope, slowly()))
        assert halfway.wait(10)
        assert sidecar.stop() == 0
        assert [report["status"] for report in importing.result()] == ["stored"] * 601
    sidecar.start()
    assert len(sidecar.api().entries(scope)) == 601


def test_what_is_reported_stored_is_durable_when_it_is_reported(sidecar: Sidecar) -> None:
    """Reports come while the import is still being sent."""
    scope = sidecar.api().new_scope()
    lines = b"".join(b'{"type":"memory-entry","kind":"k","text":"line %d"}\n' % number for number in range(900))
    head = f"POST /v1/scopes/{scope}/import HTTP/1.1\r\nHost: sidecar\r\nContent-Type: application/x-ndjson\r\n"
    with sidecar.connection() as connection:
        connection.sendall(head.encode() + b"Transfer-Encoding: chunked\r\n\r\n")
        connection.sendall(b"%x\r\n%s\r\n" % (len(lines), lines))
        told = b""
        while told.count(b'"stored"') < 100:
            received = connection.recv(2**16)
            assert received, told
            told += received
        sidecar.stop(signal.SIGKILL)
        while received := connection.recv(2**16):
            told += received
    sidecar.start()
    assert len(sidecar.api().entries(scope)) >= told.count(b'"stored"') >= 100


def test_a_cut_import_is_completed_by_the_same_file(sidecar: Sidecar) -> None:
    api = sidecar.api()
    scope = api.new_scope()
    lines: list[Json] = [
        {"type": "memory-entry", "kind": "k", "text": f"line {number}", "entry_id": f"e{number}"}
        for number in range(3000)
    ]

    def cut() -> Iterator[bytes]:
        for number, line in enumerate(lines):
            if number == 1500:
                time.sleep(0.5)
                sidecar.stop(signal.SIGKILL)
            yield (str(line).replace("'", '"') + "\n").encode()

    with pytest.raises(httpx.TransportError):
        api.import_bytes(scope, cut())
    sidecar.start()
    api = sidecar.api()
    found = len(api.entries(scope))
    assert 0 < found < 3000
    reports = api.import_lines(scope, *lines)
    assert sum(report["status"] == "skipped" for report in reports) == found
    assert {report["status"] for report in reports} == {"skipped", "stored"}
    assert len(api.entries(scope)) == len(api.export(scope)) == 3000
    head = api.get(f"/v1/scopes/{scope}/artifacts/memory/memory").json()["revision"]
    assert {report["status"] for report in api.import_lines(scope, *lines)} == {"skipped"}
    assert api.get(f"/v1/scopes/{scope}/artifacts/memory/memory").json()["revision"] == head


def test_a_disk_without_room_refuses_writes_goes_on_reading_and_heals(sidecar: Sidecar) -> None:
    """The limit on file sizes stands for a full disk: it holds for root too, and can be lifted again."""
    api = sidecar.api()
    scope = api.new_scope()
    # The write-ahead log grows past the limit, and the server's own log stays below it.
    texts = ["needle " + " ".join(f"w{random.randrange(10**6)}" for _ in range(40)) for _ in range(200)]
    api.import_lines(scope, *({"type": "memory-entry", "kind": "k", "text": text} for text in texts))
    wal = sidecar.database.with_name(sidecar.database.name + "-wal")
    assert wal.stat().st_size > 2**18
    healthy = succeeded(api.get("/health/ready"), 200)
    assert healthy["status"] == "ready"
    assert sidecar.process is not None
    _, hard = resource.prlimit(sidecar.process.pid, resource.RLIMIT_FSIZE, (2**17, resource.RLIM_INFINITY))
    try:
        for number in range(3):
            refused = api.post("/v1/memory/remember", scope_id=scope, kind="k", text=f"refused {number}")
            failed(refused, 503, "runtime_not_ready")
            assert refused.headers["Retry-After"]
        ready = api.get("/health/ready")
        assert ready.status_code in (200, 503)
        assert ready.json()["status"] in ("degraded", "not_ready")
        said = ready.json()["checks"]
        assert {name for name in said if said[name] != healthy["checks"][name]} == {"writes"}
        assert "needle" in api.prepared(scope, "needle", "memory")
        assert api.search(scope, "refused") == []
    finally:
        resource.prlimit(sidecar.process.pid, resource.RLIMIT_FSIZE, (hard, hard))
    assert succeeded(api.get("/health/ready"), 200) == healthy
    assert api.remember(scope, "accepted")["memory"] == memory_ref(2)
