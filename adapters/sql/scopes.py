"""Scopes and their direct Context References."""

import hashlib
import secrets
from collections.abc import Iterable, Sequence

import msgspec
from msgspec import UNSET

from adapters.sql.cursors import decode_cursor, encode_cursor
from adapters.sql.engine import Engine, Row, Transaction, fetch_in
from adapters.sql.settings_table import SCOPE_COUNTER, next_number
from adapters.sql.vectors import remove_vectors_of_scope
from contracts.access import EVERY_SCOPE
from contracts.errors import (
    InvalidCursor,
    InvalidScopeRelationship,
    ScopeAlreadyExists,
    ScopeIdempotencyConflict,
    ScopeNotFound,
    ScopeVersionConflict,
)
from contracts.ports import ResolvedScope, ScopeKey
from contracts.scopes import CreateScopeRequest, ExternalReference, ReplaceScopeRequest, ScopeDescriptor

_CROCKFORD = "0123456789abcdefghjkmnpqrstvwxyz"
_SCAN_PAGE = 500
_external_references = msgspec.json.Decoder(tuple[ExternalReference, ...])

# Rows of a Scope, children before what they point at.
_TABLES_OF_A_SCOPE = (
    "posting_tail",
    "posting",
    "posting_document",
    "corpus",
    "candidate",
    "topic_piece",
    "artifact_revision",
    "artifact_head",
    "memory_version",
    "memory_head",
    "scope_reference",
)


async def scope_key(transaction: Transaction, scope_id: str) -> int:
    """The storage key of a Scope. Raises ScopeNotFound."""
    rows = await transaction.fetch("SELECT id FROM scope WHERE ident = ?", scope_id.encode())
    if not rows:
        raise ScopeNotFound
    return int(rows[0][0])


async def lock_scope(transaction: Transaction, for_update: str, scope_id: str) -> int:
    """As `scope_key`, and no other writer of this Scope goes on until the transaction ends.

    Every write takes this one lock first: revisions have no gaps, no update is lost, no two writers wait crosswise.
    """
    rows = await transaction.fetch(f"SELECT id FROM scope WHERE ident = ?{for_update}", scope_id.encode())
    if not rows:
        raise ScopeNotFound
    return int(rows[0][0])


class SqlScopes:
    """`contracts.ports.ScopeStore`."""

    def __init__(self, engine: Engine, cursor_key: bytes) -> None:
        self._engine = engine
        self._cursor_key = cursor_key

    async def resolve(self, scope_id: str) -> ResolvedScope:
        async def job(transaction: Transaction) -> ResolvedScope:
            rows = await transaction.fetch(
                "SELECT s.id, r.position, t.id, t.ident FROM scope s"
                " LEFT JOIN scope_reference r ON r.scope = s.id LEFT JOIN scope t ON t.id = r.referenced"
                " WHERE s.ident = ? ORDER BY r.position",
                scope_id.encode(),
            )
            if not rows:
                raise ScopeNotFound
            references = tuple(ScopeKey(row[2], _text(row[3])) for row in rows if row[2] is not None)
            return ResolvedScope(ScopeKey(rows[0][0], scope_id), references)

        return await self._engine.look_up(job)

    async def create(self, request: CreateScopeRequest) -> ScopeDescriptor:
        parameters = hashlib.sha256(msgspec.json.encode(msgspec.structs.replace(request, idempotency_key=""))).digest()
        key = request.idempotency_key.encode()

        async def job(transaction: Transaction) -> ScopeDescriptor:
            new_id = await next_number(transaction, self._engine.dialect, SCOPE_COUNTER)
            known = await transaction.fetch("SELECT id, parameters_digest FROM scope WHERE idempotency_key = ?", key)
            if known:
                if bytes(known[0][1]) != parameters:
                    raise ScopeIdempotencyConflict
                return (await _descriptors(transaction, [known[0][0]]))[0]
            scope_id = _new_scope_id() if request.scope_id is UNSET else request.scope_id
            if await transaction.fetch("SELECT 1 FROM scope WHERE ident = ?", scope_id.encode()):
                raise ScopeAlreadyExists
            parent, references = await self._related(
                transaction, scope_id, request.parent_scope_id, request.context_references
            )
            await transaction.execute(
                "INSERT INTO scope (id, ident, title, summary, parent, external_references, version, idempotency_key,"
                " parameters_digest) VALUES (?, ?, ?, ?, ?, ?, 1, ?, ?)",
                new_id,
                scope_id.encode(),
                request.title,
                request.summary,
                parent,
                msgspec.json.encode(request.external_references).decode(),
                key,
                parameters,
            )
            await _insert_references(transaction, new_id, references)
            return (await _descriptors(transaction, [new_id]))[0]

        return await self._engine.write(job)

    async def get(self, scope_id: str) -> ScopeDescriptor:
        async def job(transaction: Transaction) -> ScopeDescriptor:
            return (await _descriptors(transaction, [await scope_key(transaction, scope_id)]))[0]

        return await self._engine.read(job)

    async def replace(self, scope_id: str, request: ReplaceScopeRequest) -> ScopeDescriptor:
        async def job(transaction: Transaction) -> ScopeDescriptor:
            parent, references = await self._related(
                transaction, scope_id, request.parent_scope_id, request.context_references
            )
            key = await self._at_version(transaction, scope_id, request.expected_version)
            await transaction.execute(
                "UPDATE scope SET title = ?, summary = ?, parent = ?, external_references = ?, version = version + 1"
                " WHERE id = ?",
                request.title,
                request.summary,
                parent,
                msgspec.json.encode(request.external_references).decode(),
                key,
            )
            await transaction.execute("DELETE FROM scope_reference WHERE scope = ?", key)
            await _insert_references(transaction, key, references)
            return (await _descriptors(transaction, [key]))[0]

        return await self._engine.write(job)

    async def delete(self, scope_id: str, expected_version: int) -> None:
        async def job(transaction: Transaction) -> None:
            key = await self._at_version(transaction, scope_id, expected_version)
            used = await transaction.fetch(
                "SELECT 1 FROM scope_reference WHERE referenced = ? UNION ALL SELECT 1 FROM scope WHERE parent = ?",
                key,
                key,
            )
            if used:
                raise InvalidScopeRelationship("Another Scope references this one or has it as its parent.")
            await remove_vectors_of_scope(transaction, key)
            for table in _TABLES_OF_A_SCOPE:
                await transaction.execute(f"DELETE FROM {table} WHERE scope = ?", key)
            await transaction.execute("DELETE FROM scope WHERE id = ?", key)
            if scope_id != EVERY_SCOPE:
                # Or they would hold on the next Scope of this name.
                await transaction.execute("DELETE FROM access_grant WHERE scope_ident = ?", scope_id.encode())

        await self._engine.write(job)
        await self._engine.scrub()

    async def list(
        self, *, visible: frozenset[str] | None, query: str, limit: int, cursor: str | None
    ) -> tuple[tuple[ScopeDescriptor, ...], str | None]:
        listing = f"scopes:{query}"

        async def job(transaction: Transaction) -> tuple[tuple[ScopeDescriptor, ...], str | None]:
            after = b""
            if cursor is not None:
                position = decode_cursor(self._cursor_key, listing, cursor)
                rows = await transaction.fetch("SELECT ident FROM scope WHERE id = ?", position)
                if not rows:
                    raise InvalidCursor("The Scope at which this page began was deleted; start the listing again.")
                after = bytes(rows[0][0])
            found = await _matching(transaction, after, visible, query, limit + 1)
            items = await _descriptors(transaction, found[:limit])
            more = len(found) > limit
            return items, encode_cursor(self._cursor_key, listing, found[limit - 1]) if more else None

        return await self._engine.read(job)

    async def _at_version(self, transaction: Transaction, scope_id: str, expected: int) -> int:
        key = await lock_scope(transaction, self._engine.dialect.for_update, scope_id)
        rows = await transaction.fetch("SELECT version FROM scope WHERE id = ?", key)
        if rows[0][0] != expected:
            raise ScopeVersionConflict
        return key

    async def _related(
        self, transaction: Transaction, scope_id: str, parent_id: str | None, reference_ids: Sequence[str]
    ) -> tuple[int | None, tuple[int, ...]]:
        """Keys of the parent and the references, all locked in one order with the Scope itself."""
        named = [*reference_ids, *([parent_id] if parent_id is not None else [])]
        if scope_id in named:
            raise InvalidScopeRelationship("A Scope can be neither its own reference nor its own parent.")
        if not named:
            return None, ()
        idents: list[bytes] = sorted({name.encode() for name in [*named, scope_id]})
        rows = await fetch_in(
            transaction,
            f"SELECT ident, id FROM scope WHERE ident IN (…) ORDER BY id{self._engine.dialect.for_update}",
            (),
            idents,
        )
        keys = {_text(ident): int(key) for ident, key in rows}
        if any(name not in keys for name in named):
            raise InvalidScopeRelationship
        parent = keys[parent_id] if parent_id is not None else None
        if parent is not None and scope_id in keys:
            await _refuse_cycle(transaction, keys[scope_id], parent)
        return parent, tuple(keys[name] for name in reference_ids)


async def _refuse_cycle(transaction: Transaction, scope: int, parent: int) -> None:
    """Parents form a tree: `scope` must not stand above its new `parent`."""
    above: int | None = parent
    while above is not None:
        if above == scope:
            raise InvalidScopeRelationship("The parent is below this Scope already.")
        rows = await transaction.fetch("SELECT parent FROM scope WHERE id = ?", above)
        above = rows[0][0] if rows else None


async def _matching(
    transaction: Transaction, after: bytes, visible: frozenset[str] | None, query: str, wanted: int
) -> list[int]:
    """Keys of at most `wanted` Scopes after `after`. The substring is compared here, not by an engine's LIKE."""
    found: list[int] = []
    if visible is not None:
        idents = sorted(name.encode() for name in visible if name.encode() > after)
        for start in range(0, len(idents), _SCAN_PAGE):
            page = idents[start : start + _SCAN_PAGE]
            rows = await fetch_in(transaction, "SELECT ident, id, title FROM scope WHERE ident IN (…)", (), page)
            found += _containing(sorted(rows, key=_ident), query)
            if len(found) >= wanted:
                break
        return found[:wanted]
    while len(found) < wanted:
        rows = await transaction.fetch(
            f"SELECT ident, id, title FROM scope WHERE ident > ? ORDER BY ident LIMIT {_SCAN_PAGE}", after
        )
        found += _containing(rows, query)
        if len(rows) < _SCAN_PAGE:
            break
        after = bytes(rows[-1][0])
    return found[:wanted]


def _ident(row: Row) -> bytes:
    return bytes(row[0])


def _containing(rows: Iterable[Row], query: str) -> list[int]:
    return [row[1] for row in rows if query in _text(row[0]) or query in row[2]]


async def _descriptors(transaction: Transaction, keys: Sequence[int]) -> tuple[ScopeDescriptor, ...]:
    """Descriptors in the order of `keys`."""
    if not keys:
        return ()
    rows = await fetch_in(
        transaction,
        "SELECT s.id, s.ident, s.title, s.summary, p.ident, s.external_references, s.version"
        " FROM scope s LEFT JOIN scope p ON p.id = s.parent WHERE s.id IN (…)",
        (),
        keys,
    )
    by_key = {row[0]: row for row in rows}
    references: dict[int, list[tuple[int, str]]] = {}
    for scope, position, ident in await fetch_in(
        transaction,
        "SELECT r.scope, r.position, t.ident FROM scope_reference r JOIN scope t ON t.id = r.referenced"
        " WHERE r.scope IN (…)",
        (),
        keys,
    ):
        references.setdefault(scope, []).append((position, _text(ident)))
    return tuple(
        ScopeDescriptor(
            scope_id=_text(row[1]),
            title=row[2],
            summary=row[3],
            parent_scope_id=None if row[4] is None else _text(row[4]),
            context_references=tuple(ident for _, ident in sorted(references.get(row[0], ()))),
            external_references=_external_references.decode(row[5]),
            version=row[6],
        )
        for row in (by_key[key] for key in keys)
    )


async def _insert_references(transaction: Transaction, scope: int, references: Sequence[int]) -> None:
    await transaction.execute_many(
        "INSERT INTO scope_reference (scope, position, referenced) VALUES (?, ?, ?)",
        [(scope, position, referenced) for position, referenced in enumerate(references)],
    )


def _text(ident: bytes) -> str:
    return bytes(ident).decode()


def _new_scope_id() -> str:
    """`scp_` and 26 Crockford base32 characters: 130 bits at random."""
    return "scp_" + "".join(secrets.choice(_CROCKFORD) for _ in range(26))
