"""A backup that is made while a server writes, and the restore that docs/operate/backup.md describes."""

import re
import sqlite3
import stat
import subprocess
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from adapters import open_storage
from adapters.sqlite.backup import BackupFailed, back_up
from adapters.sqlite.engine import SqliteEngine
from tests.deploy.conftest import PROGRAM, ROOT, Sidecar, environment, serving

SCOPE = {"scope_id": "s", "title": "t", "summary": "s", "idempotency_key": "k"}


class Writer:
    """Remembers one text after the other in a thread, and keeps the Entry of each that was acknowledged."""

    def __init__(self, sidecar: Sidecar) -> None:
        self.acknowledged: list[dict[str, Any]] = []
        self._address = sidecar.address
        self._ended = threading.Event()
        self._enough = threading.Event()
        self._wanted = 0
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _run(self) -> None:
        number = 0
        with httpx.Client(base_url=self._address) as client:
            client.post("/v1/scopes", json=SCOPE).raise_for_status()
            while not self._ended.is_set():
                number += 1
                body = {"scope_id": "s", "kind": "fact", "text": f"canary number {number} " + "lorem ipsum " * 40}
                answer = client.post("/v1/memory/remember", json=body)
                assert answer.status_code == 200
                self.acknowledged.append(answer.json()["entry"])
                if len(self.acknowledged) >= self._wanted:
                    self._enough.set()

    def wait_for_more(self, more: int) -> int:
        """How many are acknowledged, after at least `more` new ones."""
        self._wanted = len(self.acknowledged) + more
        self._enough.clear()
        assert self._enough.wait(20)
        return len(self.acknowledged)

    def end(self) -> None:
        """Return when the last write is acknowledged."""
        self._ended.set()
        self._thread.join(20)


@contextmanager
def writing(sidecar: Sidecar) -> Iterator[Writer]:
    writer = Writer(sidecar)
    try:
        yield writer
    finally:
        writer.end()


def back_up_by_command(database: Path, file: Path) -> "subprocess.CompletedProcess[str]":
    command = [*PROGRAM, "backup", str(file)]
    return subprocess.run(
        command, env=environment(database), capture_output=True, text=True, check=False, timeout=30, cwd=file.parent
    )


def restore_commands() -> str:
    """Those of the document, for a server whose database is data/powercontext.db."""
    document = (ROOT / "docs" / "operate" / "backup.md").read_text(encoding="utf-8")
    blocks: list[str] = re.findall(r"```bash\n(.*?)```", document, re.DOTALL)
    return next(block for block in blocks if "-wal" in block)


def names_in(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def listed(sidecar: Sidecar) -> list[dict[str, Any]]:
    answer = httpx.post(f"{sidecar.address}/v1/memory/entries/list", json={"scope_id": "s"})
    answer.raise_for_status()
    entries: list[dict[str, Any]] = answer.json()["entries"]
    return entries


def test_a_backup_made_while_writing_restores_everything_acknowledged_before_it_began(tmp_path: Path) -> None:
    database = tmp_path / "data" / "powercontext.db"
    database.parent.mkdir()
    backup = tmp_path / "backup.db"
    with serving(database) as sidecar, writing(sidecar) as writer:
        before = writer.wait_for_more(100)
        done = back_up_by_command(database, backup)
        after = writer.wait_for_more(20)
        writer.end()
        sidecar.kill()
    assert (done.returncode, done.stderr) == (0, "")
    assert after - before > 20
    assert names_in(tmp_path) == {"backup.db", "data"}
    assert stat.S_IMODE(backup.stat().st_mode) == 0o600

    # What a crash leaves: were it not removed, its pages would come back into the restored file.
    assert (database.parent / "powercontext.db-wal").stat().st_size > 0
    subprocess.run(["sh", "-euc", restore_commands()], check=True, cwd=tmp_path)
    with closing(sqlite3.connect(database)) as restored:
        assert restored.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    with serving(database) as sidecar:
        found = {entry["citation"]["entry_id"]: entry for entry in listed(sidecar)}
        # One moment: what is there are the first so many writes, none of them in part.
        in_order = [entry["citation"]["entry_id"] for entry in writer.acknowledged]
        assert before <= len(found) < after
        assert set(found) == set(in_order[: len(found)])
        for entry in writer.acknowledged[: len(found)]:
            assert found[entry["citation"]["entry_id"]]["text"] == entry["text"]
        cited = {"scope_id": "s", "citation": writer.acknowledged[before - 1]["citation"]}
        read = httpx.post(f"{sidecar.address}/v1/memory/entries/get", json=cited)
        assert read.json()["text"] == writer.acknowledged[before - 1]["text"]
        query = {"scope_id": "s", "query": f"number {before}", "limit": 1}
        (hit,) = httpx.post(f"{sidecar.address}/v1/memory/search", json=query).json()["hits"]
        assert hit["text"] == writer.acknowledged[before - 1]["text"]
        new = {"scope_id": "s", "kind": "fact", "text": "written after the restore"}
        assert httpx.post(f"{sidecar.address}/v1/memory/remember", json=new).status_code == 200


@pytest.fixture
async def engine(tmp_path: Path) -> AsyncIterator[SqliteEngine]:
    """That of the migrated database tmp_path/context.db."""
    storage = await open_storage(f"sqlite:///{tmp_path}/context.db")
    try:
        await storage.migrate()
        assert isinstance(storage.engine, SqliteEngine)
        yield storage.engine
    finally:
        await storage.close()


async def test_a_transaction_that_is_open_while_pages_are_read_is_in_the_copy_not_at_all(
    engine: SqliteEngine, tmp_path: Path
) -> None:
    with closing(sqlite3.connect(engine.path, isolation_level=None)) as other:
        other.execute("INSERT INTO setting (name, value) VALUES ('committed', x'01')")
        other.execute("BEGIN IMMEDIATE")
        other.execute("INSERT INTO setting (name, value) VALUES ('open', x'02')")
        await back_up(engine, tmp_path / "backup.db")
        other.execute("COMMIT")
    with closing(sqlite3.connect(tmp_path / "backup.db")) as copy:
        names = [name for (name,) in copy.execute("SELECT name FROM setting WHERE name IN ('committed', 'open')")]
    assert names == ["committed"]


async def test_a_backup_never_replaces_a_file_and_never_leaves_a_part(engine: SqliteEngine, tmp_path: Path) -> None:
    file = tmp_path / "backup.db"
    file.write_text("precious")
    with pytest.raises(BackupFailed, match="exists already"):
        await back_up(engine, file)
    assert file.read_text() == "precious"
    (tmp_path / "second.db.partial").write_text("of another backup")
    with pytest.raises(BackupFailed, match=r"second\.db\.partial exists"):
        await back_up(engine, tmp_path / "second.db")
    assert (tmp_path / "second.db.partial").read_text() == "of another backup"
    with pytest.raises(FileNotFoundError):
        await back_up(engine, tmp_path / "missing" / "backup.db")
    assert not (tmp_path / "second.db").exists()


async def test_damage_in_the_database_is_told_and_no_copy_is_left(engine: SqliteEngine, tmp_path: Path) -> None:
    def root_of_the_entries(connection: sqlite3.Connection) -> tuple[int, int]:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        query = "SELECT rootpage FROM sqlite_master WHERE type = 'table' AND name = 'memory_version'"
        ((page,),) = connection.execute(query)
        ((size,),) = connection.execute("PRAGMA page_size")
        return page, size

    page, size = await engine.on_writer(root_of_the_entries)
    with engine.path.open("r+b") as file:
        file.seek((page - 1) * size)
        file.write(b"\xff" * size)
    # The page may be cached by the connections that are open.
    storage = await open_storage(f"sqlite:///{engine.path}")
    try:
        assert isinstance(storage.engine, SqliteEngine)
        with pytest.raises(BackupFailed, match="damaged"):
            await back_up(storage.engine, tmp_path / "backup.db")
    finally:
        await storage.close()
    assert names_in(tmp_path) == {"context.db", "context.db-wal", "context.db-shm"}


def test_an_empty_database_is_not_taken_for_a_backup(tmp_path: Path) -> None:
    done = back_up_by_command(tmp_path / "mistyped.db", tmp_path / "backup.db")
    assert done.returncode == 1
    assert "POWERCONTEXT_SERVER_DATABASE_URL" in done.stderr
    assert not (tmp_path / "backup.db").exists()
