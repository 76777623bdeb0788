"""A Memory revision read as an Artifact: its manifest, and what it changed."""

from typing import Any

import msgspec

from adapters.sql.artifact_rows import digest_of
from adapters.sql.engine import Transaction
from adapters.sql.memory_changes import changes_between
from adapters.sql.memory_rows import read_head
from contracts.artifacts import Artifact, ArtifactItem
from contracts.errors import ArtifactNotFound
from contracts.identity import MEMORY_ARTIFACT_ID

_sorted_json = msgspec.json.Encoder(order="sorted")

ENTRIES_PER_PAGE = 20_000
"""A page of revisions ends early when their manifests together pass this many entries: each digest reads a manifest."""


async def memory_artifact(
    transaction: Transaction, scope: int, scope_id: str, artifact_id: str, revision: int | None
) -> Artifact:
    """One Memory revision, the head when None. Raises ArtifactNotFound."""
    wanted = (await read_head(transaction, scope)).revision if revision is None else revision
    if artifact_id != MEMORY_ARTIFACT_ID or not await _changed_at(transaction, scope, wanted):
        raise ArtifactNotFound
    content, _ = await _content(transaction, scope, wanted)
    return Artifact(
        scope_id=scope_id,
        family="memory",
        artifact_id=MEMORY_ARTIFACT_ID,
        revision=wanted,
        content=content,
        sources=(),
        artifacts=(),
        memory_citations=(),
        content_digest=_digest(content),
    )


async def memory_revisions(
    transaction: Transaction, scope: int, scope_id: str, before: int, limit: int
) -> tuple[list[ArtifactItem], bool]:
    """At most `limit` revisions below `before`, newest first, and whether there are more."""
    rows = await transaction.fetch(
        "SELECT revision FROM (SELECT entered_revision AS revision FROM memory_version WHERE scope = ? UNION"
        " SELECT left_revision AS revision FROM memory_version WHERE scope = ? AND left_revision IS NOT NULL) r"
        " WHERE revision < ? ORDER BY revision DESC LIMIT ?",
        scope,
        scope,
        before,
        limit + 1,
    )
    items: list[ArtifactItem] = []
    entries_read = 0
    for (revision,) in rows[:limit]:
        if entries_read > ENTRIES_PER_PAGE:
            break
        content, entries = await _content(transaction, scope, revision)
        entries_read += entries
        items.append(_item(scope_id, revision, content))
    return items, len(rows) > len(items)


async def memory_head_item(transaction: Transaction, scope: int, scope_id: str) -> ArtifactItem | None:
    """The head as a line of a listing, None where nothing was written."""
    head = await read_head(transaction, scope)
    if not head.exists:
        return None
    content, _ = await _content(transaction, scope, head.revision)
    return _item(scope_id, head.revision, content)


async def _changed_at(transaction: Transaction, scope: int, revision: int) -> bool:
    rows = await transaction.fetch(
        "SELECT 1 FROM memory_version WHERE scope = ? AND entered_revision = ?"
        " UNION ALL SELECT 1 FROM memory_version WHERE scope = ? AND left_revision = ? LIMIT 1",
        scope,
        revision,
        scope,
        revision,
    )
    return bool(rows)


async def _content(transaction: Transaction, scope: int, revision: int) -> tuple[dict[str, Any], int]:
    """The content object and how many entries its manifest holds."""
    rows = await transaction.fetch(
        "SELECT entry_id, version_id FROM memory_version WHERE scope = ? AND entered_revision <= ?"
        " AND (left_revision IS NULL OR left_revision > ?) ORDER BY entry_id",
        scope,
        revision,
        revision,
    )
    entries = [
        {"entry_id": entry_id, "entry_version_id": version_id, "state": "active"} for entry_id, version_id in rows
    ]
    changed = await changes_between(transaction, scope, revision - 1, revision)
    changes = [msgspec.to_builtins(change) for group in changed for change in group.changes]
    content = {
        "schema": "powercontext.memory.v1",
        "manifest": {"format": "flat-v1", "entries": entries},
        "changes": changes,
    }
    return content, len(entries)


def _digest(content: dict[str, Any]) -> str:
    return digest_of(_sorted_json.encode(content).decode())


def _item(scope_id: str, revision: int, content: dict[str, Any]) -> ArtifactItem:
    return ArtifactItem(
        scope_id=scope_id,
        family="memory",
        artifact_id=MEMORY_ARTIFACT_ID,
        revision=revision,
        sources=(),
        artifacts=(),
        content_digest=_digest(content),
        title=None,
        summary=None,
        published_at=None,
        source_count=None,
    )
