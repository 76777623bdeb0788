"""The few facts that belong to the database itself: its cursor key, its counters, its tokenizer."""

import secrets

from adapters.sql.engine import Dialect, Transaction

CURSOR_KEY = "cursor_key"
SCOPE_COUNTER = "scope_counter"
TOKEN_COUNTER = "token_counter"  # noqa: S105  # a name, no secret
TOKENIZER = "tokenizer"


async def read_setting(transaction: Transaction, name: str) -> bytes | None:
    """The stored value, None where it was never written."""
    rows = await transaction.fetch("SELECT value FROM setting WHERE name = ?", name)
    return bytes(rows[0][0]) if rows else None


async def write_setting(transaction: Transaction, dialect: Dialect, name: str, value: bytes) -> None:
    """Store `value` under `name`."""
    await transaction.execute(dialect.upsert("setting", ["name"], ["value"]), name, value)


async def seed_settings(transaction: Transaction, tokenizer: bytes) -> None:
    """Give a new database its key, counters and tokenizer mark; leaves those that are there.

    Raises UniqueViolation when another process seeds at the same time: its key must stay, so nothing is overwritten.
    """
    seeds = {CURSOR_KEY: secrets.token_bytes(32), SCOPE_COUNTER: b"0", TOKEN_COUNTER: b"0", TOKENIZER: tokenizer}
    for name, value in seeds.items():
        if await read_setting(transaction, name) is None:
            await transaction.execute("INSERT INTO setting (name, value) VALUES (?, ?)", name, value)


async def next_number(transaction: Transaction, dialect: Dialect, counter: str) -> int:
    """A number that `counter` never gave before. Holds its lock until the transaction ends, so callers are serial."""
    rows = await transaction.fetch(f"SELECT value FROM setting WHERE name = ?{dialect.for_update}", counter)
    number = int(bytes(rows[0][0])) + 1
    await write_setting(transaction, dialect, counter, str(number).encode())
    return number
