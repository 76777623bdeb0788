"""Candidates: what waits for a reviewer, and its decision (CONTRACT section 3, Candidates)."""

from typing import Annotated, Any, Literal, TypeAlias

from msgspec import Meta, Struct

from contracts import limits
from contracts.artifacts import ExperienceContent
from contracts.identity import Cite, PrintableId, Ref, ScopeId, SourceRef
from contracts.memory import Cursor
from contracts.text import Text

ReviewReason: TypeAlias = Annotated[Text, Meta(min_length=1, max_length=limits.REVIEW_REASON_MAX_CHARS)]
CandidateStatus: TypeAlias = Literal["pending", "approved", "rejected"]
Sources: TypeAlias = Annotated[tuple[SourceRef, ...], Meta(max_length=limits.SOURCES_MAX)]
ArtifactRefs: TypeAlias = Annotated[tuple[Ref, ...], Meta(max_length=limits.SOURCES_MAX)]
Citations: TypeAlias = Annotated[tuple[Cite, ...], Meta(max_length=limits.SOURCES_MAX)]
Version: TypeAlias = Annotated[int, Meta(ge=1, le=limits.INTEGER_MAX)]


class ProposeExperienceRequest(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Propose an Experience, or with `target` the next revision of one. The three lists hold at most 32 together."""

    scope_id: ScopeId
    proposal: ExperienceContent
    source_refs: Sources = ()
    artifact_refs: ArtifactRefs = ()
    memory_citations: Citations = ()
    target: Ref | None = None
    reason: ReviewReason | None = None


class ProposeProfileRequest(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Propose the Profile of a Scope; until it is approved the head stays as it is."""

    scope_id: ScopeId
    content: Annotated[Text, Meta(min_length=1)]
    reason: ReviewReason | None = None


class CandidatePermissions(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What the caller may do with this Candidate now."""

    can_revise: bool
    can_approve: bool
    can_reject: bool


class Candidate(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A proposal with its review. `permissions` is null when access is disabled."""

    memory_citations: tuple[Cite, ...]
    permissions: CandidatePermissions | None
    candidate_id: str
    version: Annotated[int, Meta(ge=1)]
    family: Literal["experience", "profile"]
    status: CandidateStatus
    proposal: dict[str, Any]
    source_refs: tuple[SourceRef, ...]
    artifact_refs: tuple[Ref, ...]
    target: Ref | None
    reason: str | None
    result_artifact: Ref | None
    decision_reason: str | None


class ListCandidatesRequest(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """List Candidates of one status, oldest first. `family` skill is known and finds nothing."""

    scope_id: ScopeId
    status: CandidateStatus = "pending"
    family: Literal["experience", "profile", "skill"] | None = None
    cursor: Cursor | None = None
    limit: Annotated[int, Meta(ge=1, le=limits.PAGE_MAX)] = limits.PAGE_DEFAULT


class CandidateList(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One page of Candidates."""

    candidates: tuple[Candidate, ...]
    next_cursor: str | None


class GetCandidateRequest(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Read one Candidate."""

    scope_id: ScopeId
    candidate_id: PrintableId


class ApproveCandidateRequest(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Approve a Candidate at the version that was read; its proposal becomes a revision."""

    scope_id: ScopeId
    candidate_id: PrintableId
    expected_version: Version


class RejectCandidateRequest(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Reject a Candidate at the version that was read."""

    scope_id: ScopeId
    candidate_id: PrintableId
    expected_version: Version
    reason: ReviewReason


class ReviseCandidateRequest(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Replace a pending Candidate's content; `memory_citations` absent or null keeps those it has."""

    scope_id: ScopeId
    candidate_id: PrintableId
    expected_version: Version
    proposal: dict[str, Any]
    source_refs: Sources = ()
    artifact_refs: ArtifactRefs = ()
    memory_citations: Citations | None = None
    target: Ref | None = None
    reason: ReviewReason | None = None
