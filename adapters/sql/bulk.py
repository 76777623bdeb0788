"""Import and export: whole batches in one transaction, revisions and ids carried over exactly."""

from collections.abc import AsyncIterator, Sequence
from functools import partial

from msgspec import UNSET, Struct

from adapters.sql.artifact_rows import (
    Provenance,
    canonical_json,
    decode_content,
    digest_of,
    family_of,
    new_artifact_id,
    publish,
    read_artifact_head,
)
from adapters.sql.engine import Engine, Transaction
from adapters.sql.index import Corpus, Document, index_documents
from adapters.sql.memory_rows import (
    VERSION_COLUMNS,
    MemoryHead,
    VersionRow,
    find_identical,
    find_version,
    insert_version,
    mark_left,
    memory_ref,
    new_entry_id,
    new_version_id,
    newest_version,
    read_head,
    version_row,
    write_head,
)
from adapters.sql.scopes import lock_scope, scope_key
from contracts.artifacts import ExperienceContent, ProfileContent, TopicMemoryContent
from contracts.bulk import (
    ArtifactLine,
    ExperienceLine,
    ImportLine,
    LineError,
    LineReport,
    MemoryEntryLine,
    ProfileLine,
    TopicMemoryLine,
)
from contracts.errors import ArtifactAlreadyExists, CallerError, ContentErased, InvalidRequest, RevisionConflict
from contracts.identity import PROFILE_ARTIFACT_ID, Cite, Ref

EXPORT_BATCH = 500


class _MemoryBatch(Struct):
    """The state of one transaction's memory lines: the head as it moves, and what the text index must learn."""

    scope: int
    head: MemoryHead
    shared_revision: int | None = None
    entering: dict[int, str] = {}
    leaving: list[int] = []

    def revision_of(self, line: MemoryEntryLine) -> int:
        """Where the line's version enters. Lines without a revision share a new one. Raises RevisionConflict."""
        if line.revision is not UNSET:
            if line.revision < self.head.import_floor:
                raise RevisionConflict(f"revision must be at least {self.head.import_floor}: those below are complete")
            return line.revision
        if self.shared_revision is None or self.shared_revision < self.head.revision:
            self.shared_revision = self.head.revision + 1
        return self.shared_revision

    def leave(self, slot: int) -> None:
        """The version in `slot` is live no longer."""
        if self.entering.pop(slot, None) is None:
            self.leaving.append(slot)


class SqlBulk:
    """`contracts.ports.BulkStore`."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    async def import_batch(self, scope_id: str, lines: Sequence[tuple[int, ImportLine]]) -> tuple[LineReport, ...]:
        async def job(transaction: Transaction) -> tuple[LineReport, ...]:
            dialect = self._engine.dialect
            scope = await lock_scope(transaction, dialect.for_update, scope_id)
            batch = _MemoryBatch(scope, await read_head(transaction, scope), entering={}, leaving=[])
            reports = []
            for number, line in lines:
                try:
                    if isinstance(line, MemoryEntryLine):
                        reports.append(await _import_entry(transaction, batch, number, line))
                    else:
                        reports.append(await self._import_artifact(transaction, scope, number, line))
                except CallerError as error:
                    reports.append(refused(number, error))
            if any(report.citation is not None and report.status == "stored" for report in reports):
                await write_head(transaction, dialect, scope, batch.head)
                documents = [Document(slot, text) for slot, text in sorted(batch.entering.items())]
                await index_documents(transaction, dialect, scope, Corpus.MEMORY, documents, batch.leaving)
            return tuple(reports)

        return await self._engine.write(job)

    async def export(self, scope_id: str) -> AsyncIterator[tuple[ImportLine, ...]]:
        """Memory as of the head at the first batch, then the Artifacts."""

        async def start(transaction: Transaction) -> tuple[int, MemoryHead]:
            scope = await scope_key(transaction, scope_id)
            return scope, await read_head(transaction, scope)

        scope, head = await self._engine.read(start)
        position = (0, 0)
        while True:
            entries = await self._engine.read(partial(_entry_page, scope, head, position))
            if not entries:
                break
            yield tuple(line for _, line in entries if line is not None)
            position = entries[-1][0]
        place = (0, 0)
        while True:
            artifacts = await self._engine.read(partial(_artifact_page, scope, place))
            if not artifacts:
                break
            yield tuple(line for _, line in artifacts)
            place = artifacts[-1][0]

    async def _import_artifact(
        self, transaction: Transaction, scope: int, number: int, line: ArtifactLine
    ) -> LineReport:
        content = line.content
        family = family_of(content)
        digest = digest_of(canonical_json(content))
        artifact_id = line.artifact_id
        if family == "profile":
            if artifact_id is not UNSET and artifact_id != PROFILE_ARTIFACT_ID:
                raise InvalidRequest.at("body", "artifact_id", msg="the Profile of a Scope is called profile")
            artifact_id = PROFILE_ARTIFACT_ID
        if artifact_id is UNSET:
            artifact_id = await _identical_head(transaction, scope, family, digest) or new_artifact_id(family)
        head = await read_artifact_head(transaction, scope, family, artifact_id)
        if head is not None and head.erased:
            raise ContentErased
        newest = head.revision if head else 0
        known = await _revision_digest(
            transaction, scope, family, artifact_id, newest if line.revision is UNSET else line.revision
        )
        revision = newest + 1 if line.revision is UNSET else line.revision
        if known == digest:
            stored = newest if line.revision is UNSET else line.revision
            return LineReport(
                line=number, status="skipped", artifact=Ref(family=family, artifact_id=artifact_id, revision=stored)
            )
        if line.revision is not UNSET and known is not None:
            raise ArtifactAlreadyExists
        if revision <= newest:
            raise RevisionConflict("revision must not be below one that is already stored")
        await publish(transaction, self._engine.dialect, scope, artifact_id, revision, content, Provenance())
        return LineReport(
            line=number, status="stored", artifact=Ref(family=family, artifact_id=artifact_id, revision=revision)
        )


def refused(number: int, error: CallerError) -> LineReport:
    """The report of a line that was not stored."""
    return LineReport(line=number, status="refused", error=LineError(code=error.code, message=error.message))


async def _import_entry(
    transaction: Transaction, batch: _MemoryBatch, number: int, line: MemoryEntryLine
) -> LineReport:
    known = await _already_stored(transaction, batch, line)
    if known is not None:
        return await _skip_or_close(transaction, batch, number, line, known)
    entry_id = new_entry_id() if line.entry_id is UNSET else line.entry_id
    before = None if line.entry_id is UNSET else await newest_version(transaction, batch.scope, entry_id)
    if before is not None and before.erased:
        raise ContentErased
    revision = batch.revision_of(line)
    left = None if line.left_revision is UNSET else line.left_revision
    if left is not None and left <= revision:
        raise InvalidRequest.at("body", "left_revision", msg="must be above revision")
    row = VersionRow(
        slot=batch.head.next_slot,
        entry_id=entry_id,
        version_id=new_version_id() if line.entry_version_id is UNSET else line.entry_version_id,
        version=1 if before is None else before.version + 1,
        kind=line.kind,
        text=line.text,
        entered_revision=revision,
        left_revision=left,
        erased=False,
    )
    if before is not None:
        await _give_way(transaction, batch, before, revision)
    await insert_version(transaction, batch.scope, row, None if line.reason is UNSET else line.reason)
    if left is None:
        batch.entering[row.slot] = row.text
    batch.head.next_slot += 1
    batch.head.revision = max(batch.head.revision, revision, left or 0)
    if line.revision is UNSET:
        batch.head.seal()
    else:
        batch.head.import_floor = max(batch.head.import_floor, revision)
    return LineReport(line=number, status="stored", citation=_cite(row, revision))


async def _already_stored(transaction: Transaction, batch: _MemoryBatch, line: MemoryEntryLine) -> VersionRow | None:
    """The stored version that the line names, or one that is identical. Raises ArtifactAlreadyExists, ContentErased."""
    if line.entry_version_id is not UNSET:
        named = await find_version(transaction, batch.scope, line.entry_version_id)
        if named is None:
            return None
        if named.erased:
            raise ContentErased
        same_entry = line.entry_id is UNSET or line.entry_id == named.entry_id
        if not same_entry or (named.kind, named.text) != (line.kind, line.text):
            raise ArtifactAlreadyExists
        return named
    if line.entry_id is not UNSET:
        newest = await newest_version(transaction, batch.scope, line.entry_id)
        same = newest is not None and (newest.kind, newest.text) == (line.kind, line.text)
        return newest if same else None
    return await find_identical(transaction, batch.scope, line.kind, line.text)


async def _skip_or_close(
    transaction: Transaction, batch: _MemoryBatch, number: int, line: MemoryEntryLine, known: VersionRow
) -> LineReport:
    """Skip a version that is stored already, unless the line says that it has left since: that is carried over."""
    if line.left_revision is UNSET or known.left_revision is not None:
        return LineReport(line=number, status="skipped", citation=_cite(known, known.entered_revision))
    if line.left_revision <= batch.head.revision:
        raise RevisionConflict("left_revision must be above the head revision")
    await mark_left(transaction, batch.scope, known.slot, line.left_revision, None)
    batch.leave(known.slot)
    batch.head.revision = line.left_revision
    return LineReport(line=number, status="stored", citation=_cite(known, known.entered_revision))


async def _give_way(transaction: Transaction, batch: _MemoryBatch, before: VersionRow, revision: int) -> None:
    """The entry's version before the imported one leaves where that enters. Raises RevisionConflict."""
    if before.left_revision is None:
        if revision <= before.entered_revision:
            raise RevisionConflict("revision must be above that of the entry's version before")
        await mark_left(transaction, batch.scope, before.slot, revision, None)
        batch.leave(before.slot)
    elif revision < before.left_revision:
        raise RevisionConflict("revision must not be below the one at which the entry's version before left")


def _cite(row: VersionRow, revision: int) -> Cite:
    return Cite(memory_ref=memory_ref(revision), entry_id=row.entry_id, entry_version_id=row.version_id)


async def _identical_head(transaction: Transaction, scope: int, family: str, digest: str) -> str | None:
    """The Artifact whose head revision has this digest, so that a file without ids can be imported again."""
    rows = await transaction.fetch(
        "SELECT h.artifact_id FROM artifact_revision r JOIN artifact_head h ON h.scope = r.scope"
        " AND h.family = r.family AND h.artifact_id = r.artifact_id AND h.revision = r.revision"
        " WHERE r.scope = ? AND r.family = ? AND r.digest = ? AND h.erased = 0 ORDER BY h.number LIMIT 1",
        scope,
        family,
        digest,
    )
    return str(rows[0][0]) if rows else None


async def _revision_digest(
    transaction: Transaction, scope: int, family: str, artifact_id: str, revision: int
) -> str | None:
    rows = await transaction.fetch(
        "SELECT digest FROM artifact_revision WHERE scope = ? AND family = ? AND artifact_id = ? AND revision = ?",
        scope,
        family,
        artifact_id,
        revision,
    )
    return str(rows[0][0]) if rows else None


async def _entry_page(
    scope: int, head: MemoryHead, after: tuple[int, int], transaction: Transaction
) -> list[tuple[tuple[int, int], MemoryEntryLine | None]]:
    """Versions after (entered revision, slot) as of `head`; None stands for one that was erased."""
    rows = await transaction.fetch(
        f"SELECT {VERSION_COLUMNS}, reason FROM memory_version WHERE scope = ? AND entered_revision <= ?"
        " AND (entered_revision > ? OR (entered_revision = ? AND slot > ?)) ORDER BY entered_revision, slot LIMIT ?",
        scope,
        head.revision,
        after[0],
        after[0],
        after[1],
        EXPORT_BATCH,
    )
    return [_entry_line(version_row(row[:-1]), row[-1], head) for row in rows]


def _entry_line(
    row: VersionRow, reason: str | None, head: MemoryHead
) -> tuple[tuple[int, int], MemoryEntryLine | None]:
    position = (row.entered_revision, row.slot)
    if row.erased:
        return position, None
    left = row.left_revision if row.left_revision is not None and row.left_revision <= head.revision else UNSET
    return position, MemoryEntryLine(
        kind=row.kind,
        text=row.text,
        entry_id=row.entry_id,
        entry_version_id=row.version_id,
        revision=row.entered_revision,
        left_revision=left,
        reason=UNSET if reason is None else reason,
    )


async def _artifact_page(
    scope: int, after: tuple[int, int], transaction: Transaction
) -> list[tuple[tuple[int, int], ArtifactLine]]:
    """Revisions after (Artifact number, revision), without erased ones."""
    rows = await transaction.fetch(
        "SELECT h.number, r.revision, r.family, r.artifact_id, r.content FROM artifact_head h JOIN artifact_revision r"
        " ON r.scope = h.scope AND r.family = h.family AND r.artifact_id = h.artifact_id"
        " WHERE h.scope = ? AND r.erased = 0 AND (h.number > ? OR (h.number = ? AND r.revision > ?))"
        " ORDER BY h.number, r.revision LIMIT ?",
        scope,
        after[0],
        after[0],
        after[1],
        EXPORT_BATCH // 10,
    )
    return [
        ((number, revision), _artifact_line(family, artifact_id, revision, canonical))
        for number, revision, family, artifact_id, canonical in rows
    ]


def _artifact_line(family: str, artifact_id: str, revision: int, canonical: str) -> ArtifactLine:
    content = decode_content(family, canonical)
    match content:
        case ExperienceContent():
            return ExperienceLine(content=content, artifact_id=artifact_id, revision=revision)
        case ProfileContent():
            return ProfileLine(content=content, artifact_id=artifact_id, revision=revision)
        case TopicMemoryContent():
            return TopicMemoryLine(content=content, artifact_id=artifact_id, revision=revision)
