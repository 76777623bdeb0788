"""Tokens, kept as the SHA-256 of their secret, and the grants of principals."""

import secrets
from collections.abc import Sequence
from datetime import UTC, datetime

from adapters.sql.cursors import decode_cursor, encode_cursor
from adapters.sql.engine import Engine, Row, Transaction, fetch_in
from adapters.sql.settings_table import TOKEN_COUNTER, next_number
from contracts.access import Grant, Principal, TokenItem
from contracts.errors import NotFound

_COLUMNS = "id, token_id, principal_id, principal_type, description, created_at, revoked_at"
_LISTING = "tokens"


class SqlAccess:
    """`contracts.ports.AccessStore`."""

    def __init__(self, engine: Engine, cursor_key: bytes) -> None:
        self._engine = engine
        self._cursor_key = cursor_key

    async def authenticate(self, digest: bytes) -> tuple[Principal, tuple[Grant, ...]] | None:
        async def job(transaction: Transaction) -> tuple[Principal, tuple[Grant, ...]] | None:
            rows = await transaction.fetch(
                f"SELECT {_COLUMNS} FROM token WHERE digest = ? AND revoked_at IS NULL", digest
            )
            if not rows:
                return None
            (item,) = await _items(transaction, rows)
            return item.principal, item.grants

        return await self._engine.read(job)

    async def create_token(self, digest: bytes, principal: Principal, grants: Sequence[Grant]) -> TokenItem:
        token_id = "tok_" + secrets.token_hex(16)

        async def job(transaction: Transaction) -> TokenItem:
            number = await next_number(transaction, self._engine.dialect, TOKEN_COUNTER)
            await transaction.execute(
                "INSERT INTO token (id, token_id, digest, principal_id, principal_type, description, created_at)"
                " VALUES (?, ?, ?, ?, ?, ?, ?)",
                number,
                token_id,
                digest,
                principal.id.encode(),
                principal.type,
                principal.description,
                _now(),
            )
            for grant in grants:
                await self._add(transaction, principal.id, grant)
            return await _token(transaction, token_id)

        return await self._engine.write(job)

    async def tokens(self, *, limit: int, cursor: str | None) -> tuple[tuple[TokenItem, ...], str | None]:
        async def job(transaction: Transaction) -> tuple[tuple[TokenItem, ...], str | None]:
            after = 0 if cursor is None else decode_cursor(self._cursor_key, _LISTING, cursor)
            rows = await transaction.fetch(
                f"SELECT {_COLUMNS} FROM token WHERE id > ? ORDER BY id LIMIT ?", after, limit + 1
            )
            more = len(rows) > limit
            following = encode_cursor(self._cursor_key, _LISTING, rows[limit - 1][0]) if more else None
            return await _items(transaction, rows[:limit]), following

        return await self._engine.read(job)

    async def revoke(self, token_id: str) -> TokenItem:
        async def job(transaction: Transaction) -> TokenItem:
            await transaction.execute(
                "UPDATE token SET revoked_at = ? WHERE token_id = ? AND revoked_at IS NULL", _now(), token_id
            )
            return await _token(transaction, token_id)

        return await self._engine.write(job)

    async def add_grant(self, principal_id: str, grant: Grant) -> None:
        async def job(transaction: Transaction) -> None:
            await self._add(transaction, principal_id, grant)

        await self._engine.write(job)

    async def remove_grant(self, principal_id: str, grant: Grant) -> bool:
        async def job(transaction: Transaction) -> bool:
            removed = await transaction.execute(
                "DELETE FROM access_grant WHERE principal_id = ? AND scope_ident = ? AND role = ?",
                principal_id.encode(),
                grant.scope_id.encode(),
                grant.role,
            )
            return removed > 0

        return await self._engine.write(job)

    async def grants(self, principal_id: str | None) -> tuple[tuple[str, Grant], ...]:
        async def job(transaction: Transaction) -> tuple[tuple[str, Grant], ...]:
            where, args = ("", ()) if principal_id is None else (" WHERE principal_id = ?", (principal_id.encode(),))
            rows = await transaction.fetch(
                f"SELECT principal_id, scope_ident, role FROM access_grant{where}"
                " ORDER BY principal_id, scope_ident, role",
                *args,
            )
            return tuple((_text(row[0]), _grant(row[1], row[2])) for row in rows)

        return await self._engine.read(job)

    async def _add(self, transaction: Transaction, principal_id: str, grant: Grant) -> None:
        """Add a grant; one that is there stays."""
        key = (principal_id.encode(), grant.scope_id.encode(), grant.role)
        known = await transaction.fetch(
            "SELECT 1 FROM access_grant WHERE principal_id = ? AND scope_ident = ? AND role = ?", *key
        )
        if not known:
            await transaction.execute(
                "INSERT INTO access_grant (principal_id, scope_ident, role) VALUES (?, ?, ?)", *key
            )


async def _token(transaction: Transaction, token_id: str) -> TokenItem:
    rows = await transaction.fetch(f"SELECT {_COLUMNS} FROM token WHERE token_id = ?", token_id)
    if not rows:
        raise NotFound("There is no such token.")
    return (await _items(transaction, rows))[0]


async def _items(transaction: Transaction, rows: Sequence[Row]) -> tuple[TokenItem, ...]:
    """Tokens with the grants of their principals, in the order of `rows`."""
    granted: dict[bytes, list[Grant]] = {}
    for principal_id, scope_ident, role in sorted(
        await fetch_in(
            transaction,
            "SELECT principal_id, scope_ident, role FROM access_grant WHERE principal_id IN (…)",
            (),
            sorted({bytes(row[2]) for row in rows}),
        )
    ):
        granted.setdefault(bytes(principal_id), []).append(_grant(scope_ident, role))
    return tuple(
        TokenItem(
            token_id=token_id,
            principal=Principal(type=principal_type, id=_text(principal_id), description=description),
            grants=tuple(granted.get(bytes(principal_id), ())),
            created_at=created_at,
            revoked_at=revoked_at,
        )
        for _, token_id, principal_id, principal_type, description, created_at, revoked_at in rows
    )


def _grant(scope_ident: bytes, role: str) -> Grant:
    return Grant(scope_id=_text(scope_ident), role=role)  # type: ignore[arg-type]  # checked before it was stored


def _text(stored: bytes) -> str:
    return bytes(stored).decode()


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")
