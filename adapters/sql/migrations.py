"""Forward-only migrations: numbered SQL files of an engine, each applied once and remembered with its checksum.

A changed file and a database that a newer version wrote are refused rather than guessed at.
"""

import hashlib
import re
from importlib.resources import files
from typing import Protocol

from msgspec import Struct

from contracts.errors import RuntimeNotReady


class Migration(Struct, frozen=True):
    """One file: `NNNN_name.sql`."""

    version: int
    name: str
    sha256: str
    sql: str


class Applied(Struct, frozen=True):
    """One row of `schema_migration`."""

    version: int
    sha256: str


class Migrator(Protocol):
    """What an engine offers so that migrations can run."""

    async def applied(self) -> tuple[Applied, ...]:
        """In order of version; empty for a new database."""
        ...

    async def is_empty(self) -> bool:
        """Whether the database holds no table."""
        ...

    async def apply(self, migrations: tuple[Migration, ...]) -> tuple[Migration, ...]:
        """Apply what is missing under the engine's migration lock; what this call itself applied."""
        ...


def packaged(package: str) -> tuple[Migration, ...]:
    """The migrations in the folder `migrations` of `package`, in order. Raises ValueError for a gap or odd name."""
    found = []
    for file in sorted(files(package).joinpath("migrations").iterdir(), key=lambda file: file.name):
        match = re.fullmatch(r"(\d{4})_(\w+)\.sql", file.name)
        if match is None:
            continue
        sql = file.read_text(encoding="utf-8")
        found.append(Migration(int(match[1]), match[2], hashlib.sha256(sql.encode()).hexdigest(), sql))
    if [migration.version for migration in found] != list(range(1, len(found) + 1)):
        raise ValueError(f"migrations of {package} are not numbered 0001, 0002, …")
    return tuple(found)


def missing(known: tuple[Migration, ...], applied: tuple[Applied, ...]) -> tuple[Migration, ...]:
    """The migrations still to run. Raises RuntimeNotReady for a newer database or a changed file."""
    by_version = {migration.version: migration for migration in known}
    for row in applied:
        migration = by_version.get(row.version)
        if migration is None:
            raise RuntimeNotReady(
                f"The database was written by a newer version (schema {row.version}, this program knows {len(known)});"
                " run that version or restore a backup."
            )
        if migration.sha256 != row.sha256:
            raise RuntimeNotReady(f"Migration {row.version} was changed after it ran on this database.")
    done = {row.version for row in applied}
    return tuple(migration for migration in known if migration.version not in done)
