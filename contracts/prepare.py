"""Request and answer of `POST /v1/context/prepare` (RFC 1489, request contract; CONTRACT section 4)."""

from typing import Annotated, Final, Literal, TypeAlias

from msgspec import UNSET, Meta, Struct, UnsetType

from contracts import limits
from contracts.identity import ScopeId
from contracts.text import SearchText

PREPARED_CONTEXT_SCHEMA: Final = "powercontext.prepared-context.v1"

Show: TypeAlias = Literal["confidence", "recall_rank"]


class MemorySection(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag_field="family", tag="memory"):
    """Memory entries recalled for the query."""

    limit: Annotated[int, Meta(ge=1, le=limits.MEMORY_LIMIT_MAX)]


class ExperienceSection(
    Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag_field="family", tag="experience"
):
    """Approved Experiences recalled for the query."""

    limit: Annotated[int, Meta(ge=1, le=limits.EXPERIENCE_LIMIT_MAX)]


class ProfileSection(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag_field="family", tag="profile"):
    """Head Profile snapshots of the current Scope and its Context References; not searched."""

    limit: Annotated[int, Meta(ge=1, le=limits.PROFILE_LIMIT_MAX)]


class TopicMemorySection(
    Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag_field="family", tag="topic-memory"
):
    """Topic Memories of the current Scope recalled for the query."""

    limit: Annotated[int, Meta(ge=1, le=limits.TOPIC_MEMORY_LIMIT_MAX)]


Section: TypeAlias = MemorySection | ExperienceSection | ProfileSection | TopicMemorySection

DEFAULT_SECTIONS: tuple[Section, ...] = (
    MemorySection(limit=limits.DEFAULT_MEMORY_LIMIT),
    ExperienceSection(limit=limits.DEFAULT_EXPERIENCE_LIMIT),
)


class Assembly(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which families take part, in which order, how many of each, and which optional lines are shown.

    An explicit `sections: []` selects nothing; it does not take the default.
    """

    format: Literal["markdown"] = "markdown"
    sections: Annotated[tuple[Section, ...], Meta(max_length=limits.SECTIONS_MAX)] = DEFAULT_SECTIONS
    show: tuple[Show, ...] = ()


class ContextPrepareRequest(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Ask for one injection-ready text. `assembly` omitted gives the legacy output."""

    scope_id: ScopeId
    query: Annotated[SearchText, Meta(max_length=limits.QUERY_MAX_CHARS)]
    max_bytes: Annotated[int, Meta(ge=limits.MAX_BYTES_MIN, le=limits.MAX_BYTES_MAX)] = limits.MAX_BYTES_DEFAULT
    assembly: Assembly | UnsetType = UNSET


class PreparedContext(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The four-field answer. `content_bytes` is the UTF-8 length of `content`, 0 when it is null."""

    schema: Literal["powercontext.prepared-context.v1"] = PREPARED_CONTEXT_SCHEMA
    status: Literal["ready", "empty"]
    content: str | None
    content_bytes: Annotated[int, Meta(ge=0)]
