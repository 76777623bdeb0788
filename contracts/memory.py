"""Memory: entries, their versions, search, changes and erasure (CONTRACT section 3)."""

from typing import Annotated, Literal, TypeAlias

from msgspec import UNSET, Meta, Struct, UnsetType

from contracts import limits
from contracts.identity import Cite, PrintableId, Ref, Revision, ScopeId
from contracts.text import NotBlank, Text

Kind: TypeAlias = Annotated[Text, Meta(min_length=1, max_length=limits.KIND_MAX_CHARS)]
# The bound of an entry is in bytes after NFC and strip, which no schema can say; the runtime checks it.
EntryText: TypeAlias = NotBlank
Reason: TypeAlias = Annotated[Text, Meta(max_length=limits.REASON_MAX_CHARS)]
Query: TypeAlias = Annotated[NotBlank, Meta(max_length=limits.QUERY_MAX_CHARS)]
SearchLimit: TypeAlias = Annotated[int, Meta(ge=1, le=limits.SEARCH_LIMIT_MAX)]
Cursor: TypeAlias = Annotated[str, Meta(min_length=1, max_length=limits.CURSOR_MAX_CHARS)]
SearchMode: TypeAlias = Literal["auto", "fts", "vector", "hybrid"]
EffectiveMode: TypeAlias = Literal["fts", "vector", "hybrid"]
EntryState: TypeAlias = Literal["active", "inactive"]


class Entry(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One entry version with today's state of its entry. `version` counts from 1, one more at each revise."""

    citation: Cite
    version: Annotated[int, Meta(ge=1)]
    kind: str
    text: str
    state: EntryState
    source_refs: tuple[()] = ()
    artifact_refs: tuple[()] = ()


class RememberRequest(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Store one entry. `text` is stored after NFC and strip, at most 8192 UTF-8 bytes."""

    scope_id: ScopeId
    kind: Kind
    text: EntryText
    reason: Reason | None = None
    expected_revision: Revision | None = None


class MemoryWrite(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The Memory head after the write, and the entry, null when nothing changed."""

    memory: Ref
    entry: Entry | None


class ReviseEntryRequest(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Replace the cited entry version by a new one."""

    scope_id: ScopeId
    citation: Cite
    kind: Kind
    text: EntryText
    reason: Reason | None = None


class RetireEntryRequest(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Take the cited entry out of the live Memory; its versions stay readable."""

    scope_id: ScopeId
    citation: Cite
    reason: Reason | None = None


class MemorySearchRequest(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Find live entries of one Scope."""

    scope_id: ScopeId
    query: Query
    limit: SearchLimit = limits.SEARCH_LIMIT_DEFAULT
    mode: SearchMode = "auto"


class MemorySearchHit(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One hit; `score` is from 0 to 1 and only orders the hits of one answer."""

    citation: Cite
    text: str
    score: Annotated[float, Meta(ge=0, le=1)]
    matched_by: tuple[Literal["fts", "vector"], ...]


class MemorySearchResponse(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Hits in order; `memory` and `mode` are null when the Scope has no Memory."""

    memory: Ref | None
    mode: EffectiveMode | None
    hits: tuple[MemorySearchHit, ...]


class ListEntriesRequest(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """List entries in order of entry id; with `limit` or `cursor` the answer is paged."""

    scope_id: ScopeId
    include_inactive: bool = False
    limit: Annotated[int, Meta(ge=1, le=limits.ENTRY_PAGE_MAX)] | UnsetType = UNSET
    cursor: Cursor | UnsetType = UNSET


class EntryList(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Entries in order of entry id. `next_cursor` is there only when the request was paged."""

    memory: Ref | None
    entries: tuple[Entry, ...]
    next_cursor: str | None | UnsetType = UNSET


class GetEntryRequest(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Read exactly the cited entry version."""

    scope_id: ScopeId
    citation: Cite


class MemoryChangesRequest(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Changes after `since_revision`; 0 gives the whole history, absent or null the head revision alone."""

    scope_id: ScopeId
    since_revision: Annotated[int, Meta(ge=0, le=limits.INTEGER_MAX)] | None = None


class MemoryChange(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What one revision did to one entry. `from` is null on add, `to` on deactivate."""

    op: Literal["add", "revise", "deactivate"]
    entry_id: str
    from_entry_version_id: str | None
    to_entry_version_id: str | None
    reason: str | None


class MemoryRevisionChanges(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """All changes of one Memory revision."""

    memory_ref: Ref
    changes: tuple[MemoryChange, ...]


class MemoryChangesResponse(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Revisions oldest first; `memory` is the head, null when the Scope has no Memory."""

    memory: Ref | None
    revisions: tuple[MemoryRevisionChanges, ...]


class EraseEntryRequest(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Take the text of every version of an entry out of the storage."""

    scope_id: ScopeId
    entry_id: PrintableId
    reason: Reason | None = None


class ErasedEntry(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The Memory head and how many versions lost their content, 0 when all had."""

    memory: Ref
    entry_id: str
    erased_versions: Annotated[int, Meta(ge=0)]
