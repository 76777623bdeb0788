"""What each Memory revision changed, derived from where versions entered and left; nothing is stored twice."""

from collections import defaultdict

from adapters.sql.engine import Transaction
from adapters.sql.memory_rows import memory_ref
from contracts.memory import MemoryChange, MemoryRevisionChanges


async def changes_between(
    transaction: Transaction, scope: int, after: int, until: int
) -> tuple[MemoryRevisionChanges, ...]:
    """Revisions above `after` up to `until`, oldest first. A version that left where the next entered is a revise."""
    entered = await transaction.fetch(
        "SELECT entered_revision, entry_id, version_id, reason FROM memory_version"
        " WHERE scope = ? AND entered_revision > ? AND entered_revision <= ? ORDER BY entered_revision, slot",
        scope,
        after,
        until,
    )
    left = await transaction.fetch(
        "SELECT left_revision, entry_id, version_id, left_reason FROM memory_version"
        " WHERE scope = ? AND left_revision > ? AND left_revision <= ? ORDER BY left_revision, slot",
        scope,
        after,
        until,
    )
    leaving = {(revision, entry_id): (version_id, reason) for revision, entry_id, version_id, reason in left}
    by_revision: dict[int, list[MemoryChange]] = defaultdict(list)
    for revision, entry_id, version_id, reason in entered:
        before, _ = leaving.pop((revision, entry_id), (None, None))
        by_revision[revision].append(
            MemoryChange(
                op="add" if before is None else "revise",
                entry_id=entry_id,
                from_entry_version_id=before,
                to_entry_version_id=version_id,
                reason=reason,
            )
        )
    for (revision, entry_id), (version_id, reason) in leaving.items():
        by_revision[revision].append(
            MemoryChange(
                op="deactivate",
                entry_id=entry_id,
                from_entry_version_id=version_id,
                to_entry_version_id=None,
                reason=reason,
            )
        )
    return tuple(
        MemoryRevisionChanges(memory_ref=memory_ref(revision), changes=tuple(changes))
        for revision, changes in sorted(by_revision.items())
    )
