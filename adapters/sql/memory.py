"""The Memory of a Scope: remember, revise, retire, exact reads, listing, search, changes, erasure."""

from adapters.sql.cursors import decode_cursor, encode_cursor
from adapters.sql.engine import Engine, Transaction
from adapters.sql.index import Corpus, Document, index_documents
from adapters.sql.memory_changes import changes_between
from adapters.sql.memory_rows import (
    VERSION_COLUMNS,
    MemoryHead,
    VersionRow,
    cited_version,
    find_identical,
    insert_version,
    mark_left,
    new_entry_id,
    new_version_id,
    newest_version,
    read_head,
    version_row,
    write_head,
)
from adapters.sql.recall import memory_hits
from adapters.sql.scopes import lock_scope, scope_key
from contracts.errors import InvalidCursor, InvalidRequest, MemoryEntryInactive, MemoryNotFound, RevisionConflict
from contracts.identity import Cite, Ref
from contracts.memory import (
    Entry,
    MemoryChangesResponse,
    MemorySearchHit,
    MemoryWrite,
)
from contracts.ports import QueryVector


class SqlMemory:
    """`contracts.ports.MemoryStore`."""

    def __init__(self, engine: Engine, cursor_key: bytes) -> None:
        self._engine = engine
        self._cursor_key = cursor_key

    async def remember(
        self, scope_id: str, *, kind: str, text: str, reason: str | None, expected_revision: int | None
    ) -> MemoryWrite:
        async def job(transaction: Transaction) -> MemoryWrite:
            scope, head = await self._lock(transaction, scope_id)
            if expected_revision is not None and expected_revision != head.revision:
                raise RevisionConflict
            if await find_identical(transaction, scope, kind, text) is not None:
                return MemoryWrite(memory=head.ref(), entry=None)
            row = _entering(head, new_entry_id(), 1, kind, text)
            await self._enter(transaction, scope, head, row, reason)
            return MemoryWrite(memory=head.ref(), entry=row.entry(head.revision, active=True))

        return await self._engine.write(job)

    async def revise(self, scope_id: str, citation: Cite, *, kind: str, text: str, reason: str | None) -> MemoryWrite:
        async def job(transaction: Transaction) -> MemoryWrite:
            scope, head = await self._lock(transaction, scope_id)
            old = await _current(transaction, scope, head, citation)
            if (old.kind, old.text) == (kind, text):
                return MemoryWrite(memory=head.ref(), entry=None)
            row = _entering(head, old.entry_id, old.version + 1, kind, text)
            await mark_left(transaction, scope, old.slot, row.entered_revision, reason)
            await self._enter(transaction, scope, head, row, reason, leaving=(old.slot,))
            return MemoryWrite(memory=head.ref(), entry=row.entry(head.revision, active=True))

        return await self._engine.write(job)

    async def retire(self, scope_id: str, citation: Cite, *, reason: str | None) -> MemoryWrite:
        async def job(transaction: Transaction) -> MemoryWrite:
            scope, head = await self._lock(transaction, scope_id)
            old = await _current(transaction, scope, head, citation)
            await self._leave(transaction, scope, head, old, reason)
            return MemoryWrite(memory=head.ref(), entry=old.entry(head.revision - 1, active=False))

        return await self._engine.write(job)

    async def get(self, scope_id: str, citation: Cite) -> Entry:
        async def job(transaction: Transaction) -> Entry:
            scope = await scope_key(transaction, scope_id)
            row = await cited_version(transaction, scope, await read_head(transaction, scope), citation)
            newest = await newest_version(transaction, scope, row.entry_id)
            active = newest is not None and newest.left_revision is None
            return row.entry(citation.memory_ref.revision, active=active)

        return await self._engine.read(job)

    async def entries(
        self, scope_id: str, *, include_inactive: bool, limit: int | None, cursor: str | None
    ) -> tuple[Ref | None, tuple[Entry, ...], str | None]:
        listing = f"entries:{include_inactive}:{scope_id}"

        async def job(transaction: Transaction) -> tuple[Ref | None, tuple[Entry, ...], str | None]:
            scope = await scope_key(transaction, scope_id)
            after = "" if cursor is None else await self._entry_at(transaction, scope, listing, cursor)
            head = await read_head(transaction, scope)
            which = _NEWEST if include_inactive else "v.left_revision IS NULL"
            rows = await transaction.fetch(
                f"SELECT {VERSION_COLUMNS} FROM memory_version v WHERE v.scope = ? AND v.entry_id > ? AND v.erased = 0"
                f" AND {which} ORDER BY v.entry_id" + ("" if limit is None else f" LIMIT {limit + 1}"),
                scope,
                after,
            )
            versions = [version_row(row) for row in rows[:limit]]
            following = None
            if limit is not None and len(rows) > limit:
                following = encode_cursor(self._cursor_key, listing, versions[-1].slot)
            return head.ref() if head.exists else None, tuple(_listed(row, head) for row in versions), following

        return await self._engine.read(job)

    async def search(
        self, scope_id: str, query: str, limit: int, vector: QueryVector | None = None, *, by_text: bool = True
    ) -> tuple[Ref | None, tuple[MemorySearchHit, ...]]:
        async def job(transaction: Transaction) -> tuple[Ref | None, tuple[MemorySearchHit, ...]]:
            scope = await scope_key(transaction, scope_id)
            head = await read_head(transaction, scope)
            if not head.exists:
                return None, ()
            hits = tuple(
                MemorySearchHit(
                    citation=Cite(memory_ref=head.ref(), entry_id=hit.entry_id, entry_version_id=hit.version_id),
                    text=hit.text,
                    score=hit.score,
                    matched_by=hit.by,
                )
                for hit in await memory_hits(
                    transaction, self._engine.dialect, scope, query, limit, vector, by_text=by_text
                )
            )
            return head.ref(), hits

        return await self._engine.read(job)

    async def changes(self, scope_id: str, since_revision: int | None) -> MemoryChangesResponse:
        async def job(transaction: Transaction) -> MemoryChangesResponse:
            scope = await scope_key(transaction, scope_id)
            head = await read_head(transaction, scope)
            if not head.exists:
                return MemoryChangesResponse(memory=None, revisions=())
            since = head.revision - 1 if since_revision is None else since_revision
            if since > head.revision:
                raise InvalidRequest.at("body", "since_revision", msg="must not be above the head revision")
            return MemoryChangesResponse(
                memory=head.ref(), revisions=await changes_between(transaction, scope, since, head.revision)
            )

        return await self._engine.read(job)

    async def erase(self, scope_id: str, entry_id: str, reason: str | None) -> tuple[Ref, int]:
        async def job(transaction: Transaction) -> tuple[Ref, int]:
            scope, head = await self._lock(transaction, scope_id)
            newest = await newest_version(transaction, scope, entry_id)
            if newest is None:
                raise MemoryNotFound("There is no such entry in this Scope.")
            # The identity is a hash of the text, so it goes too: a short secret could be guessed from it.
            erased = await transaction.execute(
                "UPDATE memory_version SET text = '', kind = '', reason = NULL, left_reason = NULL, identity = ?,"
                " erased = 1 WHERE scope = ? AND entry_id = ? AND erased = 0",
                b"",
                scope,
                entry_id,
            )
            if newest.left_revision is None:
                # After the old reasons are gone, so that the erasure's own stays with this change.
                await self._leave(transaction, scope, head, newest, reason)
            return head.ref(), erased

        result = await self._engine.write(job)
        await self._engine.scrub()
        return result

    async def _lock(self, transaction: Transaction, scope_id: str) -> tuple[int, MemoryHead]:
        scope = await lock_scope(transaction, self._engine.dialect.for_update, scope_id)
        return scope, await read_head(transaction, scope)

    async def _enter(
        self,
        transaction: Transaction,
        scope: int,
        head: MemoryHead,
        row: VersionRow,
        reason: str | None,
        leaving: tuple[int, ...] = (),
    ) -> None:
        """Store `row`, index it instead of `leaving`, and advance `head` to its revision."""
        await insert_version(transaction, scope, row, reason)
        head.revision = row.entered_revision
        head.seal()
        head.next_slot = row.slot + 1
        await write_head(transaction, self._engine.dialect, scope, head)
        await index_documents(
            transaction, self._engine.dialect, scope, Corpus.MEMORY, [Document(row.slot, row.text)], leaving
        )

    async def _leave(
        self, transaction: Transaction, scope: int, head: MemoryHead, row: VersionRow, reason: str | None
    ) -> None:
        head.revision += 1
        head.seal()
        await mark_left(transaction, scope, row.slot, head.revision, reason)
        await write_head(transaction, self._engine.dialect, scope, head)
        await index_documents(transaction, self._engine.dialect, scope, Corpus.MEMORY, (), (row.slot,))

    async def _entry_at(self, transaction: Transaction, scope: int, listing: str, cursor: str) -> str:
        """The entry id at which the page before ended."""
        slot = decode_cursor(self._cursor_key, listing, cursor)
        rows = await transaction.fetch("SELECT entry_id FROM memory_version WHERE scope = ? AND slot = ?", scope, slot)
        if not rows:
            raise InvalidCursor
        return str(rows[0][0])


_NEWEST = (
    "NOT EXISTS (SELECT 1 FROM memory_version n"
    " WHERE n.scope = v.scope AND n.entry_id = v.entry_id AND n.version > v.version)"
)


def _entering(head: MemoryHead, entry_id: str, version: int, kind: str, text: str) -> VersionRow:
    """A new version that enters at the revision after the head."""
    return VersionRow(
        slot=head.next_slot,
        entry_id=entry_id,
        version_id=new_version_id(),
        version=version,
        kind=kind,
        text=text,
        entered_revision=head.revision + 1,
        left_revision=None,
        erased=False,
    )


async def _current(transaction: Transaction, scope: int, head: MemoryHead, citation: Cite) -> VersionRow:
    """The cited version when it may change.

    Raises MemoryNotFound, MemoryEntryInactive, RevisionConflict, in that order.
    """
    row = await cited_version(transaction, scope, head, citation)
    newest = await newest_version(transaction, scope, row.entry_id)
    if newest is None or newest.left_revision is not None:
        raise MemoryEntryInactive
    if citation.memory_ref.revision != head.revision:
        raise RevisionConflict
    return row


def _listed(row: VersionRow, head: MemoryHead) -> Entry:
    """An active entry cites the head, an inactive one the last revision that held it."""
    if row.left_revision is None:
        return row.entry(head.revision, active=True)
    return row.entry(row.left_revision - 1, active=False)
