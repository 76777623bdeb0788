"""Rows of Memory: the head, entry versions, and the one way in which a version enters or leaves.

Versions are immutable; the manifest of revision R is every version with `entered_revision <= R` that has not left
by R. A write therefore touches a handful of rows however many entries there are. Used by single writes and import.
"""

import hashlib
import secrets
from collections.abc import Sequence

from msgspec import Struct

from adapters.sql.engine import Dialect, Transaction
from contracts.errors import ContentErased, MemoryNotFound
from contracts.identity import MEMORY_ARTIFACT_ID, Cite, Ref
from contracts.memory import Entry


class MemoryHead(Struct):
    """The Memory of a Scope. `import_floor` is the lowest revision at which an imported version may still enter.

    `next_slot` numbers the versions; the text index names documents by their slot.
    """

    revision: int = 0
    import_floor: int = 1
    next_slot: int = 1

    @property
    def exists(self) -> bool:
        return self.revision > 0

    def ref(self) -> Ref:
        return memory_ref(self.revision)

    def seal(self) -> None:
        """Let nothing be imported into a revision up to the head, so that what was read of it stays true.

        Every write does this but an import that names its revisions: one that was cut off can be sent again.
        """
        self.import_floor = self.revision + 1


class VersionRow(Struct, frozen=True):
    """One entry version as stored."""

    slot: int
    entry_id: str
    version_id: str
    version: int
    kind: str
    text: str
    entered_revision: int
    left_revision: int | None
    erased: bool

    def held_by(self, revision: int) -> bool:
        """Whether the manifest of `revision` holds this version."""
        return self.entered_revision <= revision and (self.left_revision is None or self.left_revision > revision)

    def entry(self, revision: int, *, active: bool) -> Entry:
        """The wire form, cited at `revision`."""
        return Entry(
            citation=Cite(memory_ref=memory_ref(revision), entry_id=self.entry_id, entry_version_id=self.version_id),
            version=self.version,
            kind=self.kind,
            text=self.text,
            state="active" if active else "inactive",
        )


VERSION_COLUMNS = "slot, entry_id, version_id, version, kind, text, entered_revision, left_revision, erased"


def memory_ref(revision: int) -> Ref:
    """The reference of one Memory revision."""
    return Ref(family="memory", artifact_id=MEMORY_ARTIFACT_ID, revision=revision)


def version_row(row: Sequence[object]) -> VersionRow:
    """A row selected with VERSION_COLUMNS."""
    slot, entry_id, version_id, version, kind, text, entered, left, erased = row
    return VersionRow(slot, entry_id, version_id, version, kind, text, entered, left, bool(erased))  # type: ignore[arg-type]


def identity_of(kind: str, text: str) -> bytes:
    """What makes two entries identical: the same kind and text, compared as bytes."""
    return hashlib.sha256(kind.encode() + b"\0" + text.encode()).digest()


def new_entry_id() -> str:
    """`mem_ent_` and 128 random bits."""
    return "mem_ent_" + secrets.token_hex(16)


def new_version_id() -> str:
    """`mem_ver_` and 128 random bits."""
    return "mem_ver_" + secrets.token_hex(16)


async def read_head(transaction: Transaction, scope: int) -> MemoryHead:
    """The head; revision 0 where nothing was written yet."""
    rows = await transaction.fetch("SELECT revision, import_floor, next_slot FROM memory_head WHERE scope = ?", scope)
    return MemoryHead(*rows[0]) if rows else MemoryHead()


async def write_head(transaction: Transaction, dialect: Dialect, scope: int, head: MemoryHead) -> None:
    """Store the head. The caller holds the Scope's lock."""
    sql = dialect.upsert("memory_head", ["scope"], ["revision", "import_floor", "next_slot"])
    await transaction.execute(sql, scope, head.revision, head.import_floor, head.next_slot)


async def insert_version(transaction: Transaction, scope: int, row: VersionRow, reason: str | None) -> None:
    """Store a version that enters at its `entered_revision`."""
    await transaction.execute(
        "INSERT INTO memory_version (scope, slot, entry_id, version_id, version, kind, text, identity,"
        " entered_revision, left_revision, reason) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        scope,
        row.slot,
        row.entry_id,
        row.version_id,
        row.version,
        row.kind,
        row.text,
        identity_of(row.kind, row.text),
        row.entered_revision,
        row.left_revision,
        reason,
    )


async def mark_left(transaction: Transaction, scope: int, slot: int, revision: int, reason: str | None) -> None:
    """Let a live version leave at `revision`."""
    await transaction.execute(
        "UPDATE memory_version SET left_revision = ?, left_reason = ? WHERE scope = ? AND slot = ?",
        revision,
        reason,
        scope,
        slot,
    )


async def find_version(transaction: Transaction, scope: int, version_id: str) -> VersionRow | None:
    """The version with this id."""
    rows = await transaction.fetch(
        f"SELECT {VERSION_COLUMNS} FROM memory_version WHERE scope = ? AND version_id = ?", scope, version_id
    )
    return version_row(rows[0]) if rows else None


async def newest_version(transaction: Transaction, scope: int, entry_id: str) -> VersionRow | None:
    """The last version of an entry, live or not."""
    rows = await transaction.fetch(
        f"SELECT {VERSION_COLUMNS} FROM memory_version WHERE scope = ? AND entry_id = ? ORDER BY version DESC LIMIT 1",
        scope,
        entry_id,
    )
    return version_row(rows[0]) if rows else None


async def find_identical(transaction: Transaction, scope: int, kind: str, text: str) -> VersionRow | None:
    """The active version with the same kind and text."""
    # What is active and oldest is picked here: asked of SQLite, either makes it walk all versions of the Scope along
    # the index of that column instead of looking up the few with this identity.
    rows = await transaction.fetch(
        f"SELECT {VERSION_COLUMNS} FROM memory_version WHERE scope = ? AND identity = ?",
        scope,
        identity_of(kind, text),
    )
    active = [row for row in map(version_row, rows) if row.left_revision is None and not row.erased]
    return min(active, key=lambda row: row.slot, default=None)


async def cited_version(transaction: Transaction, scope: int, head: MemoryHead, citation: Cite) -> VersionRow:
    """The version that `citation` names.

    Raises MemoryNotFound where the cited revision did not hold it, ContentErased.
    """
    ref = citation.memory_ref
    row = None
    if ref.family == "memory" and ref.artifact_id == MEMORY_ARTIFACT_ID and ref.revision <= head.revision:
        row = await find_version(transaction, scope, citation.entry_version_id)
    if row is None or row.entry_id != citation.entry_id or not row.held_by(ref.revision):
        raise MemoryNotFound
    if row.erased:
        raise ContentErased
    return row
