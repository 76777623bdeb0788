"""What recall hands to assembly: ranked hits and snapshots per Scope, with everything a citation needs.

Order is meaning: hits stand in the order in which their Scope's recall ranked them, groups in the order
current Scope, Context Reference 1, 2, …
"""

from msgspec import Struct


class MemoryHit(Struct, frozen=True):
    """One live entry version; `text` as stored."""

    entry_id: str
    entry_version_id: str
    text: str


class MemoryGroup(Struct, frozen=True):
    """The hits of one Scope at the head `revision` that was read in the same snapshot as they were."""

    scope_id: str
    artifact_id: str | None = None
    revision: int = 0
    hits: tuple[MemoryHit, ...] = ()


class ExperienceHit(Struct, frozen=True):
    """One approved Experience at its head revision."""

    artifact_id: str
    revision: int
    situation: str
    action: str
    outcome: str
    lesson: str


class ExperienceGroup(Struct, frozen=True):
    """The hits of one Scope."""

    scope_id: str
    hits: tuple[ExperienceHit, ...] = ()


class ProfileSnapshot(Struct, frozen=True):
    """The formal head Profile of one Scope. An erased one is handed on without content, so that the receipt names it.

    The other families are found through the text index, which holds nothing that was erased.
    """

    scope_id: str
    artifact_id: str
    revision: int
    content: str
    erased: bool = False


class TopicMemoryHit(Struct, frozen=True):
    """One Topic Memory of the current Scope; `snippet` is null when nothing of its detail matched."""

    artifact_id: str
    revision: int
    title: str
    summary: str
    snippet: str | None = None


class Recalled(Struct, frozen=True):
    """All candidates of one prepare. A family that was not selected is empty.

    `embedding_failure` is the code of the provider's failure because of which text ranking alone answered.
    """

    current_scope_id: str
    memory: tuple[MemoryGroup, ...] = ()
    experience: tuple[ExperienceGroup, ...] = ()
    profile: tuple[ProfileSnapshot, ...] = ()
    topic_memory: tuple[TopicMemoryHit, ...] = ()
    embedding_failure: str | None = None
