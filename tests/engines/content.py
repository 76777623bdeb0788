"""What the tests store: Scopes, entries and Artifacts, short to write."""

import itertools
from typing import Any

from adapters.sql.storage import SqlStorage
from contracts.artifacts import ExperienceContent, TopicMemoryContent
from contracts.identity import Cite, Ref
from contracts.memory import Entry, MemoryWrite
from contracts.ports import ScopeKey
from contracts.scopes import CreateScopeRequest, ScopeDescriptor

_numbers = itertools.count(1)


async def create_scope(storage: SqlStorage, scope_id: str, **fields: Any) -> ScopeDescriptor:
    """A Scope with this id."""
    request = {"title": "t", "summary": "s", "idempotency_key": f"create {scope_id}", "scope_id": scope_id, **fields}
    return await storage.scopes.create(CreateScopeRequest(**request))


async def new_scope(storage: SqlStorage, **fields: Any) -> str:
    """The id of a Scope that no other test uses."""
    scope_id = f"scope {next(_numbers)}"
    await create_scope(storage, scope_id, **fields)
    return scope_id


async def key_of(storage: SqlStorage, scope_id: str) -> ScopeKey:
    """The key under which recall finds a Scope."""
    return (await storage.scopes.resolve(scope_id)).scope


async def remember(
    storage: SqlStorage, scope_id: str, text: str, *, kind: str = "fact", reason: str | None = None
) -> MemoryWrite:
    """Remember without a revision in mind."""
    return await storage.memory.remember(scope_id, kind=kind, text=text, reason=reason, expected_revision=None)


async def remembered(storage: SqlStorage, scope_id: str, text: str, *, kind: str = "fact") -> Entry:
    """The new entry."""
    written = await remember(storage, scope_id, text, kind=kind)
    assert written.entry is not None
    return written.entry


async def revised(storage: SqlStorage, scope_id: str, citation: Cite, text: str) -> Entry:
    """The entry's new version."""
    written = await storage.memory.revise(scope_id, citation, kind="fact", text=text, reason=None)
    assert written.entry is not None
    return written.entry


async def found(storage: SqlStorage, scope_id: str, query: str, limit: int = 10) -> list[str]:
    """The texts of entries that a search finds, best first."""
    _, hits = await storage.memory.search(scope_id, query, limit)
    return [hit.text for hit in hits]


def at_revision(citation: Cite, revision: int) -> Cite:
    """The same entry version, cited at another Memory revision."""
    ref = Ref(family="memory", artifact_id="memory", revision=revision)
    return Cite(memory_ref=ref, entry_id=citation.entry_id, entry_version_id=citation.entry_version_id)


def experience(text: str) -> ExperienceContent:
    """An Experience all of whose fields hold `text`."""
    return ExperienceContent(situation=f"S {text}", action=f"A {text}", outcome=f"O {text}", lesson=f"L {text}")


def topic(title: str, detail: str = "detail") -> TopicMemoryContent:
    """A Topic Memory."""
    return TopicMemoryContent(title=title, summary=f"about {title}", detail=detail)
