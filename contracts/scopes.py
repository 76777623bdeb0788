"""Scopes: the descriptor and the operations on it (CONTRACT section 3)."""

from typing import Annotated, TypeAlias

from msgspec import UNSET, Meta, Struct, UnsetType

from contracts import limits
from contracts.identity import ScopeId
from contracts.text import NotBlank, Text

Version: TypeAlias = Annotated[int, Meta(ge=1, le=limits.INTEGER_MAX)]
Title: TypeAlias = Annotated[NotBlank, Meta(max_length=limits.TITLE_MAX_CHARS)]
Summary: TypeAlias = Annotated[NotBlank, Meta(max_length=limits.SUMMARY_MAX_CHARS)]
IdempotencyKey: TypeAlias = Annotated[NotBlank, Meta(max_length=limits.IDEMPOTENCY_KEY_MAX_CHARS)]
ScopeQuery: TypeAlias = Annotated[Text, Meta(max_length=limits.SCOPE_QUERY_MAX_CHARS)]
ContextReferences: TypeAlias = Annotated[
    tuple[ScopeId, ...], Meta(max_length=limits.CONTEXT_REFERENCES_MAX, extra_json_schema={"uniqueItems": True})
]


class ExternalReference(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A pointer out of this service; kept as given, never followed."""

    kind: Annotated[NotBlank, Meta(max_length=limits.EXTERNAL_KIND_MAX_CHARS)]
    value: Annotated[NotBlank, Meta(max_length=limits.EXTERNAL_VALUE_MAX_CHARS)]


class ScopeDescriptor(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A Scope as stored. Context References are direct, one-way, in the order in which they were set."""

    scope_id: ScopeId
    title: str
    summary: str
    parent_scope_id: ScopeId | None
    context_references: tuple[ScopeId, ...]
    external_references: tuple[ExternalReference, ...]
    version: Version


class CreateScopeRequest(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Create a Scope; without `scope_id` the server makes one. The same key and parameters give the same one again."""

    title: Title
    summary: Summary
    idempotency_key: IdempotencyKey
    scope_id: ScopeId | UnsetType = UNSET
    parent_scope_id: ScopeId | None = None
    context_references: ContextReferences = ()
    external_references: tuple[ExternalReference, ...] = ()


class ReplaceScopeRequest(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Replace the whole descriptor at `expected_version`; what is absent becomes none."""

    expected_version: Version
    title: Title
    summary: Summary
    parent_scope_id: ScopeId | None = None
    context_references: ContextReferences = ()
    external_references: tuple[ExternalReference, ...] = ()


class DeleteScopeRequest(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Delete the whole Scope at `expected_version`."""

    expected_version: Version


class DeletedScope(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The Scope that is gone."""

    scope_id: ScopeId


class ScopePage(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One page of the Scopes that the caller may read, in order of scope_id."""

    items: tuple[ScopeDescriptor, ...]
    next_cursor: str | None
