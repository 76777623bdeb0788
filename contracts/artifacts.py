"""Artifacts of the reviewed families: their contents, exact reads, direct writes and erasure (CONTRACT section 3)."""

from typing import Annotated, Any, Literal, TypeAlias

from msgspec import Meta, Struct

from contracts import limits
from contracts.identity import Cite, Family, Ref, ScopeId, SourceRef
from contracts.memory import Query, Reason, SearchLimit
from contracts.text import NotBlank, Text

ExperienceField: TypeAlias = Annotated[NotBlank, Meta(max_length=limits.EXPERIENCE_FIELD_MAX_CHARS)]
WritableFamily: TypeAlias = Literal["experience", "profile", "topic-memory"]


class ExperienceContent(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What happened and what to learn from it."""

    situation: ExperienceField
    action: ExperienceField
    outcome: ExperienceField
    lesson: ExperienceField


class ProfileContent(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A Markdown snapshot, at most 256 KiB as stored; the runtime normalises it and checks the bytes."""

    content: Annotated[Text, Meta(min_length=1)]


class TopicMemoryContent(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A topic: title and summary are recalled, the detail is read by citation."""

    title: Annotated[Text, Meta(min_length=1, max_length=limits.TOPIC_TITLE_MAX_CHARS)]
    summary: Annotated[Text, Meta(min_length=1, max_length=limits.TOPIC_SUMMARY_MAX_CHARS)]
    detail: Annotated[Text, Meta(min_length=1, max_length=limits.TOPIC_DETAIL_MAX_CHARS)]


ArtifactContent: TypeAlias = ExperienceContent | ProfileContent | TopicMemoryContent


class StoredProfile(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A Profile as exact reads give it."""

    schema: Literal["powercontext.profile.v1"] = "powercontext.profile.v1"
    media_type: Literal["text/markdown"] = "text/markdown"
    content: str


class ArtifactSource(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A source reference as Artifact bodies and list items write it."""

    source_type: Literal["content"] = "content"
    source_id: str


class Artifact(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One exact revision. `content_digest` is `sha256:` and the hash of the content as canonical JSON."""

    scope_id: ScopeId
    family: Family
    artifact_id: str
    revision: Annotated[int, Meta(ge=1)]
    content: dict[str, Any]
    sources: tuple[ArtifactSource, ...]
    artifacts: tuple[Ref, ...]
    memory_citations: tuple[Cite, ...]
    content_digest: str


class ArtifactItem(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One line of a listing, without the content."""

    scope_id: ScopeId
    family: Family
    artifact_id: str
    revision: Annotated[int, Meta(ge=1)]
    sources: tuple[ArtifactSource, ...]
    artifacts: tuple[Ref, ...]
    content_digest: str
    title: str | None
    summary: str | None
    published_at: str | None
    source_count: int | None


class ArtifactPage(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One page of a listing."""

    items: tuple[ArtifactItem, ...]
    next_cursor: str | None


class CreateExperience(
    Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag_field="family", tag="experience"
):
    """Write an Experience directly."""

    content: ExperienceContent


class CreateProfile(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag_field="family", tag="profile"):
    """Write the Scope's Profile directly."""

    content: ProfileContent


class CreateTopicMemory(
    Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag_field="family", tag="topic-memory"
):
    """Write a Topic Memory directly."""

    content: TopicMemoryContent


CreateArtifactRequest: TypeAlias = CreateExperience | CreateProfile | CreateTopicMemory


class ReplaceArtifactRequest(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The next revision of an Artifact; the family in the path decides which content fits."""

    content: dict[str, Any]


class EraseArtifactRequest(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Take the content of every revision of an Artifact out of the storage."""

    reason: Reason | None = None


class ErasedArtifact(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How many revisions lost their content, 0 when all had."""

    scope_id: ScopeId
    family: str
    artifact_id: str
    erased_revisions: Annotated[int, Meta(ge=0)]


class GetArtifactRequest(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Read one exact revision by its reference."""

    scope_id: ScopeId
    artifact: Ref


class ExperienceRead(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One exact Experience revision with what it was drawn from."""

    artifact: Ref
    content: ExperienceContent
    source_refs: tuple[SourceRef, ...]
    artifact_refs: tuple[Ref, ...]
    memory_citations: tuple[Cite, ...]


class ExperienceSearchRequest(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Find approved Experiences of one Scope at their head revision."""

    scope_id: ScopeId
    query: Query
    limit: SearchLimit = limits.SEARCH_LIMIT_DEFAULT


class ExperienceSearchHit(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One hit; it carries no score."""

    artifact: Ref
    content: ExperienceContent


class ExperienceSearchResponse(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Hits in order."""

    hits: tuple[ExperienceSearchHit, ...]


class TopicMemoryRead(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One exact Topic Memory revision, its detail included."""

    artifact: Ref
    title: str
    summary: str
    detail: str
    source_refs: tuple[SourceRef, ...]


class TopicMemorySearchRequest(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Find Topic Memories of one Scope."""

    scope_id: ScopeId
    query: Query
    limit: Annotated[int, Meta(ge=1, le=limits.TOPIC_SEARCH_LIMIT_MAX)] = limits.SEARCH_LIMIT_DEFAULT


class TopicMemorySearchHit(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One hit; `score` is from 0 to 100, `snippet` a piece of the detail that matched, or null."""

    artifact: Ref
    title: str
    summary: str
    snippet: Annotated[str, Meta(max_length=limits.SNIPPET_MAX_CHARS)] | None
    score: Annotated[float, Meta(ge=0, le=100)]
    matched_by: tuple[Literal["topic_fts", "topic_vector", "detail_fts", "detail_vector"], ...]


class TopicMemorySearchResponse(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Hits in order."""

    mode: Literal["fts", "hybrid"]
    hits: tuple[TopicMemorySearchHit, ...]
