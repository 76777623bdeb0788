"""What the service answers. Fields that a later service adds are ignored; what is named here must be there."""

from typing import Any, Literal

from msgspec import UNSET, Struct, UnsetType

from powercontext_client.identity import Cite, Ref, SourceRef


class ExternalReference(Struct, frozen=True, kw_only=True):
    """A pointer out of the service; kept as given, never followed."""

    kind: str
    value: str


class ScopeDescriptor(Struct, frozen=True, kw_only=True):
    """A Scope as stored. Context References are direct, one-way, in the order in which they were set."""

    scope_id: str
    title: str
    summary: str
    parent_scope_id: str | None
    context_references: tuple[str, ...]
    external_references: tuple[ExternalReference, ...]
    version: int


class ScopePage(Struct, frozen=True, kw_only=True):
    """One page of the Scopes that the caller may read, in order of scope_id."""

    items: tuple[ScopeDescriptor, ...]
    next_cursor: str | None


class Entry(Struct, frozen=True, kw_only=True):
    """One Memory entry version with today's state of its entry. `version` counts from 1."""

    citation: Cite
    version: int
    kind: str
    text: str
    state: Literal["active", "inactive"]
    source_refs: tuple[SourceRef, ...]
    artifact_refs: tuple[Ref, ...]


class MemoryWrite(Struct, frozen=True, kw_only=True):
    """The Memory head after the write, and the entry, None when nothing changed."""

    memory: Ref
    entry: Entry | None


class MemorySearchHit(Struct, frozen=True, kw_only=True):
    """One hit; `score` is from 0 to 1 and only orders the hits of one answer."""

    citation: Cite
    text: str
    score: float
    matched_by: tuple[str, ...]


class MemorySearchResponse(Struct, frozen=True, kw_only=True):
    """Hits in order; `memory` and `mode` are None when the Scope has no Memory."""

    memory: Ref | None
    mode: str | None
    hits: tuple[MemorySearchHit, ...]


class EntryList(Struct, frozen=True, kw_only=True):
    """Entries in order of entry id. `next_cursor` is UNSET when the request was not paged."""

    memory: Ref | None
    entries: tuple[Entry, ...]
    next_cursor: str | None | UnsetType = UNSET


class MemoryChange(Struct, frozen=True, kw_only=True):
    """What one revision did to one entry. The version left is None on add, the one entered on deactivate."""

    op: Literal["add", "revise", "deactivate"]
    entry_id: str
    from_entry_version_id: str | None
    to_entry_version_id: str | None
    reason: str | None


class MemoryRevisionChanges(Struct, frozen=True, kw_only=True):
    """All changes of one Memory revision."""

    memory_ref: Ref
    changes: tuple[MemoryChange, ...]


class MemoryChangesResponse(Struct, frozen=True, kw_only=True):
    """Revisions oldest first; `memory` is the head, None when the Scope has no Memory."""

    memory: Ref | None
    revisions: tuple[MemoryRevisionChanges, ...]


class ExperienceContent(Struct, frozen=True, kw_only=True):
    """What happened and what to learn from it."""

    situation: str
    action: str
    outcome: str
    lesson: str


class ExperienceSearchHit(Struct, frozen=True, kw_only=True):
    """One approved Experience; it carries no score."""

    artifact: Ref
    content: ExperienceContent


class ExperienceSearchResponse(Struct, frozen=True, kw_only=True):
    """Hits in order."""

    hits: tuple[ExperienceSearchHit, ...]


class ExperienceRead(Struct, frozen=True, kw_only=True):
    """One exact Experience revision with what it was drawn from."""

    artifact: Ref
    content: ExperienceContent
    source_refs: tuple[SourceRef, ...]
    artifact_refs: tuple[Ref, ...]
    memory_citations: tuple[Cite, ...]


class CandidatePermissions(Struct, frozen=True, kw_only=True):
    """What the caller may do with this Candidate now."""

    can_revise: bool
    can_approve: bool
    can_reject: bool


class Candidate(Struct, frozen=True, kw_only=True):
    """A proposal with its review. `permissions` is None when access is disabled."""

    candidate_id: str
    version: int
    family: str
    status: Literal["pending", "approved", "rejected"]
    proposal: dict[str, Any]
    source_refs: tuple[SourceRef, ...]
    artifact_refs: tuple[Ref, ...]
    memory_citations: tuple[Cite, ...]
    target: Ref | None
    reason: str | None
    result_artifact: Ref | None
    decision_reason: str | None
    permissions: CandidatePermissions | None


class CandidateList(Struct, frozen=True, kw_only=True):
    """One page of Candidates."""

    candidates: tuple[Candidate, ...]
    next_cursor: str | None


class TopicMemorySearchHit(Struct, frozen=True, kw_only=True):
    """One hit; `score` is from 0 to 100, `snippet` a piece of the detail that matched, or None."""

    artifact: Ref
    title: str
    summary: str
    snippet: str | None
    score: float
    matched_by: tuple[str, ...]


class TopicMemorySearchResponse(Struct, frozen=True, kw_only=True):
    """Hits in order."""

    mode: str
    hits: tuple[TopicMemorySearchHit, ...]


class TopicMemoryRead(Struct, frozen=True, kw_only=True):
    """One exact Topic Memory revision, its detail included."""

    artifact: Ref
    title: str
    summary: str
    detail: str
    source_refs: tuple[SourceRef, ...]


class ArtifactSource(Struct, frozen=True, kw_only=True):
    """A source reference as Artifact bodies and list items write it."""

    source_type: str
    source_id: str


class Artifact(Struct, frozen=True, kw_only=True):
    """One exact revision. `content_digest` is `sha256:` and the hash of the content as canonical JSON."""

    scope_id: str
    family: str
    artifact_id: str
    revision: int
    content: dict[str, Any]
    sources: tuple[ArtifactSource, ...]
    artifacts: tuple[Ref, ...]
    memory_citations: tuple[Cite, ...]
    content_digest: str


class ArtifactItem(Struct, frozen=True, kw_only=True):
    """One line of a listing, without the content."""

    scope_id: str
    family: str
    artifact_id: str
    revision: int
    sources: tuple[ArtifactSource, ...]
    artifacts: tuple[Ref, ...]
    content_digest: str
    title: str | None
    summary: str | None
    published_at: str | None
    source_count: int | None


class ArtifactPage(Struct, frozen=True, kw_only=True):
    """One page of a listing."""

    items: tuple[ArtifactItem, ...]
    next_cursor: str | None


class LimitRange(Struct, frozen=True, kw_only=True):
    """Bounds of a section's limit, both included."""

    min: int
    max: int


class AssemblyCapabilities(Struct, frozen=True, kw_only=True):
    """What `assembly` may ask for."""

    formats: tuple[str, ...]
    families: dict[str, LimitRange]
    show: tuple[str, ...]
    max_entries: int


class Capabilities(Struct, frozen=True, kw_only=True):
    """What the service can do now. `context_assembly` is UNSET on a service that does not know assembly."""

    artifact_families: tuple[str, ...]
    search_modes: tuple[str, ...]
    context_versions: tuple[str, ...]
    context_assembly: AssemblyCapabilities | UnsetType = UNSET
