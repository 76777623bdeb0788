"""Memory."""

from contracts.memory import (
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
from service.http.operation import Call, operation


@operation(
    "POST",
    "/v1/memory/remember",
    role="contributor",
    tag="memory",
    body=RememberRequest,
    answer=MemoryWrite,
    errors=(404, 409),
)
async def remember_memory(call: Call) -> MemoryWrite:
    """Store one entry; an identical active entry changes nothing."""
    return await call.operations.memory.remember(call.body)


@operation(
    "POST",
    "/v1/memory/search",
    role="viewer",
    tag="memory",
    body=MemorySearchRequest,
    answer=MemorySearchResponse,
    errors=(404,),
)
async def search_memory(call: Call) -> MemorySearchResponse:
    """Find live entries of one Scope."""
    return await call.operations.memory.search(call.body)


@operation(
    "POST",
    "/v1/memory/entries/list",
    role="viewer",
    tag="memory",
    body=ListEntriesRequest,
    answer=EntryList,
    errors=(404,),
)
async def list_memory_entries(call: Call) -> EntryList:
    """List entries in order of entry id; paged when limit or cursor is given."""
    return await call.operations.memory.entries(call.body)


@operation(
    "POST",
    "/v1/memory/entries/get",
    role="viewer",
    tag="memory",
    body=GetEntryRequest,
    answer=Entry,
    errors=(404, 410),
)
async def get_memory_entry(call: Call) -> Entry:
    """Read exactly the cited entry version."""
    return await call.operations.memory.get(call.body)


@operation(
    "POST",
    "/v1/memory/entries/revise",
    role="contributor",
    tag="memory",
    body=ReviseEntryRequest,
    answer=MemoryWrite,
    errors=(404, 409, 410),
)
async def revise_memory_entry(call: Call) -> MemoryWrite:
    """Replace the cited entry version by a new one."""
    return await call.operations.memory.revise(call.body)


@operation(
    "POST",
    "/v1/memory/entries/retire",
    role="contributor",
    tag="memory",
    body=RetireEntryRequest,
    answer=MemoryWrite,
    errors=(404, 409, 410),
)
async def retire_memory_entry(call: Call) -> MemoryWrite:
    """Take the cited entry out of the live Memory; its versions stay readable."""
    return await call.operations.memory.retire(call.body)


@operation(
    "POST",
    "/v1/memory/entries/erase",
    role="admin",
    tag="memory",
    body=EraseEntryRequest,
    answer=ErasedEntry,
    errors=(404,),
)
async def erase_memory_entry(call: Call) -> ErasedEntry:
    """Take the text of every version of an entry out of the storage."""
    return await call.operations.memory.erase(call.body)


@operation(
    "POST",
    "/v1/memory/changes",
    role="viewer",
    tag="memory",
    body=MemoryChangesRequest,
    answer=MemoryChangesResponse,
    errors=(404,),
)
async def list_memory_changes(call: Call) -> MemoryChangesResponse:
    """List what Memory revisions changed, oldest first."""
    return await call.operations.memory.changes(call.body)


ROUTES = (
    remember_memory,
    search_memory,
    list_memory_entries,
    get_memory_entry,
    revise_memory_entry,
    retire_memory_entry,
    erase_memory_entry,
    list_memory_changes,
)
