"""Rebuilds the text index from the stored rows, Scope by Scope, while the service may go on reading."""

import unicodedata
from collections.abc import Callable
from functools import partial
from typing import TypeAlias

from adapters.sql.artifact_rows import HeadRow, decode_content, index_artifact
from adapters.sql.engine import Engine, Transaction
from adapters.sql.index import Corpus, Document, clear_corpus, index_documents
from adapters.sql.settings_table import TOKENIZER, write_setting
from adapters.text import TOKENIZER_VERSION

Progress: TypeAlias = Callable[[int, int], None]
"""Told after each Scope: Scopes done, Scopes in all."""

_BATCH = 500


def tokenizer_mark() -> bytes:
    """What an index must have been made with to be searched: our rules and the Unicode tables under them."""
    return f"{TOKENIZER_VERSION}/unicode-{unicodedata.unidata_version}".encode()


async def rebuild_index(engine: Engine, progress: Progress) -> int:
    """The number of documents indexed. Each Scope is rebuilt in one transaction, so no reader sees half of it."""

    async def scopes(transaction: Transaction) -> list[int]:
        return [row[0] for row in await transaction.fetch("SELECT id FROM scope ORDER BY id")]

    keys = await engine.read(scopes)
    documents = 0
    for done, key in enumerate(keys, start=1):
        documents += await engine.write(partial(_rebuild_scope, engine, key))
        progress(done, len(keys))

    async def mark(transaction: Transaction) -> None:
        await write_setting(transaction, engine.dialect, TOKENIZER, tokenizer_mark())

    await engine.write(mark)
    return documents


async def _rebuild_scope(engine: Engine, scope: int, transaction: Transaction) -> int:
    locked = await transaction.fetch(f"SELECT id FROM scope WHERE id = ?{engine.dialect.for_update}", scope)
    if not locked:
        return 0  # deleted since the list was read
    for corpus in Corpus:
        await clear_corpus(transaction, scope, corpus)
    await transaction.execute("DELETE FROM topic_piece WHERE scope = ?", scope)
    return await _index_memory(engine, transaction, scope) + await _index_artifacts(engine, transaction, scope)


async def _index_memory(engine: Engine, transaction: Transaction, scope: int) -> int:
    total, after = 0, 0
    while True:
        rows = await transaction.fetch(
            "SELECT slot, text FROM memory_version WHERE scope = ? AND slot > ? AND left_revision IS NULL"
            f" ORDER BY slot LIMIT {_BATCH}",
            scope,
            after,
        )
        if not rows:
            return total
        documents = [Document(slot, text) for slot, text in rows]
        await index_documents(transaction, engine.dialect, scope, Corpus.MEMORY, documents, ())
        total, after = total + len(rows), rows[-1][0]


async def _index_artifacts(engine: Engine, transaction: Transaction, scope: int) -> int:
    rows = await transaction.fetch(
        "SELECT h.family, h.artifact_id, h.number, h.revision, h.slot FROM artifact_head h"
        " WHERE h.scope = ? AND h.erased = 0 AND h.family <> 'profile' ORDER BY h.family, h.slot",
        scope,
    )
    for family, artifact_id, number, revision, slot in rows:
        content = await transaction.fetch(
            "SELECT content FROM artifact_revision WHERE scope = ? AND family = ? AND artifact_id = ? AND revision = ?",
            scope,
            family,
            artifact_id,
            revision,
        )
        head = HeadRow(artifact_id, number, revision, slot, erased=False)
        await index_artifact(transaction, engine.dialect, scope, head, decode_content(family, content[0][0]))
    return len(rows)
