"""A database that cannot serve is said to be so: never an internal error, an empty answer or a write that is not there.

SQLite alone; what a start says about such files is in tests/cli too.
"""

import asyncio
import os
import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.api.application import migrated
from tests.field_cases.calls import OUTPUTS, Instance, create_scope, export, list_entries, prepare, remember, search
from tests.field_cases.conftest import Start

pytestmark = pytest.mark.sqlite

PAGE_BYTES = 4096
WRITES: list[tuple[str, dict[str, Any]]] = [
    ("/v1/memory/remember", {"scope_id": "s", "kind": "k", "text": "lost"}),
    ("/v1/profile/propose", {"scope_id": "s", "content": "lost"}),
    ("/v1/scopes", {"title": "t", "summary": "s", "idempotency_key": "lost"}),
]


def assert_not_ready(answer: httpx.Response, *words: str) -> None:
    """503, safe to send again, with a sentence that holds one of `words` and no path, SQL or trace."""
    assert answer.status_code == 503, answer.text
    error = answer.json()["error"]
    assert error["code"] == "runtime_not_ready"
    assert any(word in error["message"] for word in words), error["message"]
    assert not any(word in answer.text for word in ("/tmp", "SELECT", "INSERT", "Traceback", "sqlite3"))
    assert int(answer.headers["Retry-After"]) > 0


@pytest.fixture
def file(tmp_path: Path, database_url: str) -> Path:
    """The database's file."""
    return tmp_path / "context.db"


async def fill(instance: Instance) -> None:
    async with instance() as client:
        await create_scope(client, "s")
        await remember(client, "s", "the needle")


def damage(file: Path, table: str) -> None:
    """Overwrite the page at which a table begins."""
    with closing(sqlite3.connect(file)) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        rows = connection.execute("SELECT rootpage FROM sqlite_master WHERE name = ?", (table,)).fetchall()
    ((page,),) = rows
    with file.open("r+b") as opened:
        opened.seek((page - 1) * PAGE_BYTES)
        opened.write(b"\xff" * PAGE_BYTES)


async def test_a_damaged_file_is_503_for_what_needs_the_damaged_part(instance: Instance, file: Path) -> None:
    await fill(instance)
    damage(file, "memory_version")
    async with instance() as client:
        for path, body in [
            ("/v1/memory/search", {"scope_id": "s", "query": "needle"}),
            ("/v1/memory/entries/list", {"scope_id": "s"}),
            ("/v1/memory/remember", {"scope_id": "s", "kind": "k", "text": "more"}),
            ("/v1/context/prepare", {"scope_id": "s", "query": "needle", "assembly": {}}),
            ("/v1/context/prepare", {"scope_id": "s", "query": "needle"}),
        ]:
            assert_not_ready(await client.post(path, json=body), "damaged")
        # A family that is not selected is not read, so its damage hurts nobody.
        sections = [{"family": "experience", "limit": 2}]
        assert await prepare(client, "s", "needle", assembly={"sections": sections}) is None
        assert (await client.get("/v1/scopes/s")).status_code == 200


def replace(file: Path, content: bytes) -> None:
    for leftover in file.parent.glob(file.name + "*"):
        leftover.unlink()
    file.write_bytes(content)


def is_untouched(file: Path, content: bytes) -> bool:
    return file.read_bytes() == content


async def test_an_export_from_a_damaged_file_is_never_a_shorter_file(instance: Instance, file: Path) -> None:
    """The answer begins with the first lines, so a file that cannot be read at all is a status."""
    await fill(instance)
    damage(file, "memory_version")
    async with instance() as client:
        assert_not_ready(await client.get("/v1/scopes/s/export"), "damaged")


@pytest.mark.parametrize(
    ("content", "words"), [(b"this is a letter\n" * 500, "not an SQLite database"), (b"", "migration")]
)
async def test_a_file_that_is_no_database_of_this_service_is_refused_at_the_start(
    instance: Instance, file: Path, content: bytes, words: str
) -> None:
    replace(file, content)
    with pytest.raises(AssertionError, match=words):
        async with instance():
            pass
    assert is_untouched(file, content) or not content


async def test_a_newer_schema_is_refused_at_the_start_and_noticed_while_serving(instance: Instance, file: Path) -> None:
    async with instance() as client:
        assert (await client.get("/health/ready")).json()["status"] == "ready"
        with closing(sqlite3.connect(file)) as connection, connection:
            connection.execute("INSERT INTO schema_migration VALUES (9999, 'future', 'x', '2030-01-01T00:00:00+00:00')")
        ready = await client.get("/health/ready")
        assert (ready.status_code, ready.json()["status"]) == (503, "not_ready")
        assert "newer version" in ready.json()["checks"]["migrations"]
        assert (await client.get("/health/live")).status_code == 200
    with pytest.raises(AssertionError, match="newer version"):
        async with instance():
            pass


async def test_a_full_disk_refuses_writes_keeps_reading_and_heals(
    program: Start, over_socket: httpx.AsyncClient
) -> None:
    """R48, on SQLite: no byte more can be written, then it can again."""
    resource = pytest.importorskip("resource")
    if not hasattr(resource, "prlimit"):
        pytest.skip("needs prlimit")
    process = program()
    await create_scope(over_socket, "s")
    await remember(over_socket, "s", "the needle")
    resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (0, resource.RLIM_INFINITY))

    for path, body in WRITES:
        assert_not_ready(await over_socket.post(path, json=body), "full", "cannot be")
    ready = await over_socket.get("/health/ready")
    assert ready.json()["status"] in ("degraded", "not_ready")
    checks = ready.json()["checks"]
    assert (checks["database"], checks["migrations"]) == ("ok", "ok")
    assert checks["writes"] != "ok"
    for options in OUTPUTS:
        assert "the needle" in (await prepare(over_socket, "s", "needle", **options) or "")

    resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    assert (await over_socket.get("/health/ready")).json()["status"] == "ready"
    await remember(over_socket, "s", "another needle")
    assert sorted(each["text"] for each in await list_entries(over_socket, "s")) == ["another needle", "the needle"]
    assert len(await search(over_socket, "s", "needle")) == 2
    assert (await export(over_socket, "/v1/scopes/s")).count(b"\n") == 2
    assert process.poll() is None


@pytest.mark.parametrize(
    ("file_mode", "folder_mode"), [(0o444, 0o700), (0o444, 0o500), (0o600, 0o500)], ids=["file", "both", "folder"]
)
def test_what_may_not_be_written_is_refused_at_the_start(tmp_path: Path, file_mode: int, folder_mode: int) -> None:
    """Root may write everywhere, so as root the program runs without that capability."""
    url = asyncio.run(migrated(tmp_path / "context.db"))
    (tmp_path / "context.db").chmod(file_mode)
    tmp_path.chmod(folder_mode)
    prefix = []
    if os.geteuid() == 0:
        setpriv = shutil.which("setpriv")
        if setpriv is None:
            pytest.skip("needs setpriv to give up the rights of root")
        prefix = [setpriv, "--inh-caps=-all", "--bounding-set=-all"]
    done = subprocess.run(
        [*prefix, sys.executable, "-c", "from service.cli import main; main()", "serve"],
        env={**os.environ, "POWERCONTEXT_SERVER_DATABASE_URL": url, "POWERCONTEXT_SERVER_HTTP_UDS": "/nowhere/socket"},
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        timeout=20,
        check=False,
    )
    assert done.returncode == 1
    assert len(done.stderr.splitlines()) == 1, done.stderr
    assert "read-only" in done.stderr or "writable" in done.stderr
