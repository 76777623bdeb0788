"""A copy of the database file, made while servers read and write it."""

import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Final

from adapters.sqlite.engine import SqliteEngine

PARTIAL_SUFFIX: Final = ".partial"


class BackupFailed(Exception):
    """No copy was made; the message says why."""


async def back_up(engine: SqliteEngine, file: Path) -> int:
    """Copy the database into `file`, which must not exist yet; the size in bytes.

    The copy is the database at one moment, with everything that was acknowledged before this call. Writers are not held
    up: the pages are read in one transaction of WAL mode. `file` appears only when the copy is complete, checked and on
    the disk. It needs no other file beside it. Only its owner may read it, since it holds all that the database does.
    Raises BackupFailed, or OSError where the file cannot be made.
    """
    with _partial(file) as partial:
        await engine.on_writer(lambda source: _copy(source, partial))
        size = partial.stat().st_size
        partial.replace(file)
    _sync_folder(file.parent)
    return size


def _copy(source: sqlite3.Connection, partial: Path) -> None:
    with closing(sqlite3.connect(partial)) as target:
        try:
            # All pages in one step: in several, every write of another process would start the copy again.
            source.backup(target, pages=-1)
            target.execute("PRAGMA journal_mode = DELETE")
        except sqlite3.Error as error:
            raise BackupFailed(f"the copy could not be made: {error}") from error
        try:
            found = [text for (text,) in target.execute("PRAGMA integrity_check")]
        except sqlite3.Error as error:
            found = [str(error)]
    if found != ["ok"]:
        raise BackupFailed(f"the database is damaged, and so would be its copy: {found[0]}")


@contextmanager
def _partial(file: Path) -> Iterator[Path]:
    """A new file beside `file`, which must not exist; whatever is left of it in the end is removed."""
    if os.path.lexists(file):
        raise BackupFailed(f"{file} exists already; name another file")
    partial = file.with_name(file.name + PARTIAL_SUFFIX)
    try:
        os.close(os.open(partial, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    except FileExistsError as error:
        raise BackupFailed(f"{partial} exists: another backup runs, or one was killed; then remove it") from error
    try:
        yield partial
    finally:
        partial.unlink(missing_ok=True)
        partial.with_name(partial.name + "-journal").unlink(missing_ok=True)


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
