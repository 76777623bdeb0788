"""Concurrent recall: one leg for each (family, Scope), one deadline for all, and no partial result.

A failed leg cancels the others and fails the request: a source that was selected and breaks is an error, never an
empty result (RFC 1489, request contract). A family that is not selected has no leg, so it is not read at all.
"""

import asyncio
from collections.abc import Awaitable, Iterable, Sequence
from typing import TypeVar

from msgspec import Struct
from msgspec.structs import replace

from contracts import limits
from contracts.errors import ContextError, RuntimeNotReady
from contracts.identity import Family
from contracts.ports import (
    ExperienceRecall,
    MemoryRecall,
    ProfileRecall,
    QueryVector,
    Reranker,
    ResolvedScope,
    ScopeKey,
    TopicMemoryRecall,
)
from contracts.recalled import MemoryGroup, Recalled

T = TypeVar("T")

ACROSS_REFERENCES: frozenset[Family] = frozenset({"memory", "experience", "profile"})
"""Families that are recalled from the Context References too; Topic Memory is the current Scope's alone."""


class RecallSources(Struct, frozen=True):
    """Where each family is recalled from; a family without a source has no candidates. Memory may be reranked."""

    memory: MemoryRecall | None = None
    experience: ExperienceRecall | None = None
    profile: ProfileRecall | None = None
    topic_memory: TopicMemoryRecall | None = None
    reranker: Reranker | None = None


SEARCHED: frozenset[Family] = frozenset({"memory", "experience", "topic-memory"})
"""Families that are searched by the query, so that its vector serves them."""


async def recall(
    sources: RecallSources,
    resolved: ResolvedScope,
    families: Iterable[Family],
    query: str,
    vector: QueryVector | None = None,
) -> Recalled:
    """Candidates of the selected `families`: groups in the order current Scope, Context References.

    Raises the ContextError of a failed leg, RuntimeNotReady for a leg that failed in any other way.
    """
    scope, scopes = resolved.scope, (resolved.scope, *resolved.references)
    wanted = frozenset(families)
    memory, experience, profile, topics = sources.memory, sources.experience, sources.profile, sources.topic_memory
    try:
        async with asyncio.TaskGroup() as legs:
            memory_legs = [
                legs.create_task(_leg(_memory(memory, sources.reranker, each, query, vector)))
                for each in scopes
                if memory is not None and "memory" in wanted
            ]
            experience_legs = [
                legs.create_task(_leg(experience.recall(each, query, limits.EXPERIENCE_POOL, vector)))
                for each in scopes
                if experience is not None and "experience" in wanted
            ]
            profile_legs = [
                legs.create_task(_leg(profile.head(each)))
                for each in scopes
                if profile is not None and "profile" in wanted
            ]
            topic_legs = [
                legs.create_task(_leg(topics.recall(scope, query, limits.TOPIC_MEMORY_POOL, vector)))
                for topics in [topics]
                if topics is not None and "topic-memory" in wanted
            ]
    except* ContextError as failed:
        raise _first(failed) from failed
    return Recalled(
        current_scope_id=scope.scope_id,
        memory=tuple(leg.result() for leg in memory_legs),
        experience=tuple(leg.result() for leg in experience_legs),
        profile=tuple(snapshot for leg in profile_legs if (snapshot := leg.result()) is not None),
        topic_memory=tuple(hit for leg in topic_legs for hit in leg.result()),
    )


async def _memory(
    memory: MemoryRecall, reranker: Reranker | None, scope: ScopeKey, query: str, vector: QueryVector | None
) -> MemoryGroup:
    """The pool of one Scope, in the reranker's order where there is one: that order is final."""
    if reranker is None:
        return await memory.recall(scope, query, limits.MEMORY_POOL, vector)
    group = await memory.recall(scope, query, limits.RERANK_CANDIDATES, vector)
    if not group.hits:
        return group
    picks = await reranker.rerank(query, [hit.text for hit in group.hits])
    hits = tuple(group.hits[position] for position in picked(picks, len(group.hits)))
    return replace(group, hits=hits[: limits.MEMORY_POOL])


def picked(picks: Sequence[int], count: int) -> tuple[int, ...]:
    """The positions below `count` that were picked, each once; all in their own order when none is usable."""
    usable = tuple(dict.fromkeys(pick for pick in picks if 0 <= pick < count))
    return usable or tuple(range(count))


async def _leg(answer: Awaitable[T]) -> T:
    try:
        return await answer
    except ContextError:
        raise
    except Exception as error:
        raise RuntimeNotReady("A source of the selected families failed; try again.") from error


def _first(failed: BaseExceptionGroup[ContextError]) -> ContextError:
    error: BaseExceptionGroup[ContextError] | ContextError = failed
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error
