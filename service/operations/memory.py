"""Memory: remember, revise, retire, search, list, get, changes, erase."""

from typing import TYPE_CHECKING

from msgspec import UNSET

from contracts import limits
from contracts.errors import CapabilityNotSupported
from contracts.memory import (
    EffectiveMode,
    Entry,
    EntryList,
    ErasedEntry,
    EraseEntryRequest,
    GetEntryRequest,
    ListEntriesRequest,
    MemoryChangesRequest,
    MemoryChangesResponse,
    MemorySearchRequest,
    MemorySearchResponse,
    MemoryWrite,
    RememberRequest,
    RetireEntryRequest,
    ReviseEntryRequest,
)
from contracts.ports import QueryVector
from service.access import Action, Caller
from service.inference import REINDEX
from service.normalize import entry_text

if TYPE_CHECKING:
    from service.runtime import Runtime


class MemoryOperations:
    """The Memory of a Scope."""

    def __init__(self, runtime: "Runtime", caller: Caller) -> None:
        self._memory = runtime.storage.memory
        self._runtime = runtime
        self._caller = caller

    async def remember(self, request: RememberRequest) -> MemoryWrite:
        """Raises RevisionConflict; an identical active entry changes nothing."""
        text = entry_text(request.text)
        self._caller.require(Action.CONTRIBUTE, request.scope_id)
        write = await self._memory.remember(
            request.scope_id,
            kind=request.kind,
            text=text,
            reason=request.reason,
            expected_revision=request.expected_revision,
        )
        await self._runtime.inference.written(request.scope_id)
        return write

    async def revise(self, request: ReviseEntryRequest) -> MemoryWrite:
        """Raises MemoryNotFound, MemoryEntryInactive, RevisionConflict."""
        text = entry_text(request.text)
        self._caller.require(Action.CONTRIBUTE, request.scope_id)
        write = await self._memory.revise(
            request.scope_id, request.citation, kind=request.kind, text=text, reason=request.reason
        )
        await self._runtime.inference.written(request.scope_id)
        return write

    async def retire(self, request: RetireEntryRequest) -> MemoryWrite:
        """Raises MemoryNotFound, MemoryEntryInactive, RevisionConflict."""
        self._caller.require(Action.CONTRIBUTE, request.scope_id)
        return await self._memory.retire(request.scope_id, request.citation, reason=request.reason)

    async def get(self, request: GetEntryRequest) -> Entry:
        """Raises MemoryNotFound, ContentErased."""
        self._caller.require(Action.READ, request.scope_id)
        return await self._memory.get(request.scope_id, request.citation)

    async def entries(self, request: ListEntriesRequest) -> EntryList:
        """All entries, or a page of them when the request has a limit or a cursor."""
        self._caller.require(Action.READ, request.scope_id)
        paged = request.limit is not UNSET or request.cursor is not UNSET
        limit = limits.PAGE_DEFAULT if request.limit is UNSET else request.limit
        memory, entries, following = await self._memory.entries(
            request.scope_id,
            include_inactive=request.include_inactive,
            limit=limit if paged else None,
            cursor=None if request.cursor is UNSET else request.cursor,
        )
        return EntryList(memory=memory, entries=entries, next_cursor=following if paged else UNSET)

    async def search(self, request: MemorySearchRequest) -> MemorySearchResponse:
        """Raises CapabilityNotSupported for a mode that needs vectors where there are none; InferenceTimeout and
        InferenceUnavailable where the provider fails a request that asks for vectors.
        """
        self._caller.require(Action.READ, request.scope_id)
        vector = await self._vector_for(request)
        memory, hits = await self._memory.search(
            request.scope_id, request.query, request.limit, vector, by_text=request.mode != "vector"
        )
        served: EffectiveMode = "fts" if vector is None else "vector" if request.mode == "vector" else "hybrid"
        return MemorySearchResponse(memory=memory, mode=None if memory is None else served, hits=hits)

    async def _vector_for(self, request: MemorySearchRequest) -> QueryVector | None:
        """The query's vector in the modes that need one, and in auto if it can be had."""
        if request.mode == "fts":
            return None
        if request.mode == "auto":
            return await self._runtime.searching_vector(request.scope_id, request.query)
        embedder = self._runtime.inference.embedder
        if embedder is None:
            raise CapabilityNotSupported(f"mode {request.mode} needs an embedding provider, and none is configured")
        await self._runtime.storage.scopes.resolve(request.scope_id)
        if not await embedder.usable():
            raise CapabilityNotSupported(REINDEX)
        return await embedder.query(request.query)

    async def changes(self, request: MemoryChangesRequest) -> MemoryChangesResponse:
        """Raises InvalidRequest for a revision above the head."""
        self._caller.require(Action.READ, request.scope_id)
        return await self._memory.changes(request.scope_id, request.since_revision)

    async def erase(self, request: EraseEntryRequest) -> ErasedEntry:
        """Raises MemoryNotFound."""
        self._caller.require(Action.ADMINISTER, request.scope_id)
        memory, erased = await self._memory.erase(request.scope_id, request.entry_id, request.reason)
        return ErasedEntry(memory=memory, entry_id=request.entry_id, erased_versions=erased)
