"""Identities: Scope ids, Artifact references, Memory citations and source references (CONTRACT section 2)."""

from typing import Annotated, Literal, TypeAlias

from msgspec import Meta, Struct

from contracts import limits

# `(?!\n)$`: Python's `$` alone also matches before a trailing newline. `.` and `..` are refused because HTTP clients
# remove them from a path.
SCOPE_ID_PATTERN = r"^(?!\.{1,2}(?!\n)$)\s*[^\s\x00][^\x00]*$"
PRINTABLE_ID_PATTERN = r"^(?!\.{1,2}(?!\n)$)[\x21-\x7E]+(?!\n)$"

ScopeId: TypeAlias = Annotated[str, Meta(min_length=1, max_length=limits.SCOPE_ID_MAX_CHARS, pattern=SCOPE_ID_PATTERN)]
PrintableId: TypeAlias = Annotated[
    str, Meta(min_length=1, max_length=limits.ARTIFACT_ID_MAX_CHARS, pattern=PRINTABLE_ID_PATTERN)
]
SourceId: TypeAlias = Annotated[
    str, Meta(min_length=1, max_length=limits.SOURCE_ID_MAX_CHARS, pattern=PRINTABLE_ID_PATTERN)
]
Revision: TypeAlias = Annotated[int, Meta(ge=1, le=limits.INTEGER_MAX)]
Family: TypeAlias = Literal["memory", "experience", "profile", "topic-memory"]

MEMORY_ARTIFACT_ID = "memory"
PROFILE_ARTIFACT_ID = "profile"


class Ref(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One exact revision of one Artifact."""

    family: PrintableId
    artifact_id: PrintableId
    revision: Revision


class Cite(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One exact Memory entry version, at a Memory revision whose manifest held it."""

    memory_ref: Ref
    entry_id: PrintableId
    entry_version_id: PrintableId


class SourceRef(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Where a proposal came from; kept as given, never followed."""

    name: Literal["content"]
    source_id: SourceId
