"""The few facts that belong to the database itself: its cursor key, its Scope counter, its tokenizer."""

import secrets

from adapters.sql.engine import Dialect, Transaction

CURSOR_KEY = "cursor_key"
SCOPE_COUNTER = "scope_counter"
TOKENIZER = "tokenizer"


async def read_setting(transaction: Transaction, name: str) -> bytes | None:
    """The stored value, None where it was never written."""
    rows = await transaction.fetch("SELECT value FROM setting WHERE name = ?", name)
    return bytes(rows[0][0]) if rows else None


async def write_setting(transaction: Transaction, dialect: Dialect, name: str, value: bytes) -> None:
    """Store `value` under `name`."""
    await transaction.execute(dialect.upsert("setting", ["name"], ["value"]), name, value)


async def seed_settings(transaction: Transaction, dialect: Dialect, tokenizer: bytes) -> None:
    """Give a new database its key, counter and tokenizer mark; leaves those that are there."""
    seeds = {CURSOR_KEY: secrets.token_bytes(32), SCOPE_COUNTER: b"0", TOKENIZER: tokenizer}
    for name, value in seeds.items():
        if await read_setting(transaction, name) is None:
            await write_setting(transaction, dialect, name, value)


async def next_scope_key(transaction: Transaction, dialect: Dialect) -> int:
    """A key that no Scope ever had. Holds the counter's lock until the transaction ends, so creators are serial."""
    rows = await transaction.fetch(f"SELECT value FROM setting WHERE name = ?{dialect.for_update}", SCOPE_COUNTER)
    key = int(bytes(rows[0][0])) + 1
    await write_setting(transaction, dialect, SCOPE_COUNTER, str(key).encode())
    return key
