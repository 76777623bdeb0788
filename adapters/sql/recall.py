"""Recall: ranked hits of one Scope from the text index and vectors, texts read only for what won.

Each `Sql…Recall` is one port; each call is one snapshot. The cost is bounded by the postings budget of
`adapters.ranking`, not by the size of the Scope.
"""

from typing import NamedTuple

import msgspec

from adapters.sql.artifact_rows import decode_experience, decode_profile
from adapters.sql.engine import Dialect, Engine, Transaction, fetch_in
from adapters.sql.hybrid import By, find
from adapters.sql.index import Corpus
from adapters.sql.memory_rows import read_head
from adapters.sql.search import search_corpus
from contracts.artifacts import ExperienceContent, TopicMemorySearchHit
from contracts.identity import MEMORY_ARTIFACT_ID, PROFILE_ARTIFACT_ID, Ref
from contracts.ports import QueryVector, ScopeKey
from contracts.recalled import (
    ExperienceGroup,
    ExperienceHit,
    MemoryGroup,
    MemoryHit,
    ProfileSnapshot,
    TopicMemoryHit,
)

# A Topic Memory is found by its title and summary and by the best piece of its detail; the first says more of what
# it is about. Weights of the two scores, each from 0 to 1, in a sum scaled to 100.
_TOPIC_WEIGHT = 60.0
_DETAIL_WEIGHT = 40.0
# Several pieces of one detail may win, so more pieces are ranked than Topic Memories are wanted.
_PIECES_PER_TOPIC = 4


class FoundVersion(NamedTuple):
    """A live entry version with its score from 0 to 1."""

    entry_id: str
    version_id: str
    text: str
    score: float
    by: tuple[By, ...]


class FoundExperience(NamedTuple):
    """An approved Experience at its head revision."""

    artifact_id: str
    revision: int
    content: ExperienceContent


class SqlMemoryRecall:
    """`contracts.ports.MemoryRecall`."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    async def recall(self, scope: ScopeKey, query: str, limit: int, vector: QueryVector | None = None) -> MemoryGroup:
        async def job(transaction: Transaction) -> MemoryGroup:
            head = await read_head(transaction, scope.key)
            if not head.exists:
                return MemoryGroup(scope.scope_id)
            found = await memory_hits(transaction, self._engine.dialect, scope.key, query, limit, vector)
            hits = tuple(MemoryHit(hit.entry_id, hit.version_id, hit.text) for hit in found)
            return MemoryGroup(scope.scope_id, MEMORY_ARTIFACT_ID, head.revision, hits)

        return await self._engine.read(job)


class SqlExperienceRecall:
    """`contracts.ports.ExperienceRecall`."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    async def recall(
        self, scope: ScopeKey, query: str, limit: int, vector: QueryVector | None = None
    ) -> ExperienceGroup:
        async def job(transaction: Transaction) -> ExperienceGroup:
            found = await experience_hits(transaction, self._engine.dialect, scope.key, query, limit, vector)
            hits = tuple(
                ExperienceHit(
                    hit.artifact_id,
                    hit.revision,
                    hit.content.situation,
                    hit.content.action,
                    hit.content.outcome,
                    hit.content.lesson,
                )
                for hit in found
            )
            return ExperienceGroup(scope.scope_id, hits)

        return await self._engine.read(job)


class SqlProfileRecall:
    """`contracts.ports.ProfileRecall`."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    async def head(self, scope: ScopeKey) -> ProfileSnapshot | None:
        async def job(transaction: Transaction) -> ProfileSnapshot | None:
            rows = await transaction.fetch(
                "SELECT r.revision, r.content, r.erased FROM artifact_head h JOIN artifact_revision r"
                " ON r.scope = h.scope AND r.family = h.family AND r.artifact_id = h.artifact_id"
                " AND r.revision = h.revision"
                " WHERE h.scope = ? AND h.family = 'profile' AND h.artifact_id = ?",
                scope.key,
                PROFILE_ARTIFACT_ID,
            )
            if not rows:
                return None
            revision, canonical, erased = rows[0]
            if erased:
                return ProfileSnapshot(scope.scope_id, PROFILE_ARTIFACT_ID, revision, "", erased=True)
            return ProfileSnapshot(scope.scope_id, PROFILE_ARTIFACT_ID, revision, decode_profile(canonical))

        return await self._engine.read(job)


class SqlTopicMemoryRecall:
    """`contracts.ports.TopicMemoryRecall`."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    async def recall(
        self, scope: ScopeKey, query: str, limit: int, vector: QueryVector | None = None
    ) -> tuple[TopicMemoryHit, ...]:
        async def job(transaction: Transaction) -> tuple[TopicMemoryHit, ...]:
            return tuple(
                TopicMemoryHit(hit.artifact.artifact_id, hit.artifact.revision, hit.title, hit.summary, hit.snippet)
                for hit in await topic_hits(transaction, self._engine.dialect, scope.key, query, limit, vector)
            )

        return await self._engine.read(job)


async def memory_hits(
    transaction: Transaction,
    dialect: Dialect,
    scope: int,
    query: str,
    limit: int,
    vector: QueryVector | None = None,
    *,
    by_text: bool = True,
) -> list[FoundVersion]:
    """Live entry versions, best first. Raises RuntimeNotReady as `find` does."""
    found = await find(transaction, dialect, scope, Corpus.MEMORY, query, limit, vector, by_text=by_text)
    rows = await fetch_in(
        transaction,
        "SELECT slot, entry_id, version_id, text FROM memory_version WHERE scope = ? AND slot IN (…)",
        (scope,),
        [document.slot for document in found],
    )
    by_slot = {slot: (entry_id, version_id, text) for slot, entry_id, version_id, text in rows}
    return [FoundVersion(*by_slot[document.slot], document.score, document.by) for document in found]


async def experience_hits(
    transaction: Transaction,
    dialect: Dialect,
    scope: int,
    query: str,
    limit: int,
    vector: QueryVector | None = None,
) -> list[FoundExperience]:
    """Approved Experiences at their head revision, best first."""
    ranked = await find(transaction, dialect, scope, Corpus.EXPERIENCE, query, limit, vector)
    rows = await fetch_in(
        transaction,
        "SELECT h.slot, h.artifact_id, h.revision, r.content FROM artifact_head h JOIN artifact_revision r"
        " ON r.scope = h.scope AND r.family = h.family AND r.artifact_id = h.artifact_id AND r.revision = h.revision"
        " WHERE h.scope = ? AND h.family = 'experience' AND h.slot IN (…)",
        (scope,),
        [document.slot for document in ranked],
    )
    by_slot = {row[0]: row for row in rows}
    found = []
    for document in ranked:
        _, artifact_id, revision, canonical = by_slot[document.slot]
        found.append(FoundExperience(artifact_id, revision, decode_experience(canonical)))
    return found


class _Match(msgspec.Struct):
    """What speaks for one Topic Memory; `by` tells by which rankings its title and summary were found."""

    topic: float = 0.0
    by: tuple[By, ...] = ()
    detail: float = 0.0
    snippet: str | None = None

    @property
    def score(self) -> float:
        return self.topic * _TOPIC_WEIGHT + self.detail * _DETAIL_WEIGHT


async def topic_hits(
    transaction: Transaction,
    dialect: Dialect,
    scope: int,
    query: str,
    limit: int,
    vector: QueryVector | None = None,
) -> tuple[TopicMemorySearchHit, ...]:
    """Topic Memories at their head revision, best first; the snippet is the best piece of the detail that matched.

    Details are searched by text alone: a long one has hundreds of pieces, and an embedding of each at every write would
    cost more than it finds.
    """
    matches = await _topic_matches(transaction, dialect, scope, query, limit, vector)
    best = sorted(matches.items(), key=lambda item: (-round(item[1].score, 6), item[0]))[:limit]
    rows = await fetch_in(
        transaction,
        "SELECT h.artifact_id, h.revision, r.title, r.summary FROM artifact_head h JOIN artifact_revision r"
        " ON r.scope = h.scope AND r.family = h.family AND r.artifact_id = h.artifact_id AND r.revision = h.revision"
        " WHERE h.scope = ? AND h.family = 'topic-memory' AND h.artifact_id IN (…)",
        (scope,),
        [artifact_id for artifact_id, _ in best],
    )
    by_id = {row[0]: row for row in rows}
    hits = []
    for artifact_id, match in best:
        _, revision, title, summary = by_id[artifact_id]
        matched_by = [*(f"topic_{by}" for by in match.by), *(["detail_fts"] if match.detail else [])]
        hits.append(
            TopicMemorySearchHit(
                artifact=Ref(family="topic-memory", artifact_id=artifact_id, revision=revision),
                title=title,
                summary=summary,
                snippet=match.snippet,
                score=min(match.score, 100.0),
                matched_by=tuple(matched_by),  # type: ignore[arg-type]  # some of the four literals
            )
        )
    return tuple(hits)


async def _topic_matches(
    transaction: Transaction, dialect: Dialect, scope: int, query: str, limit: int, vector: QueryVector | None
) -> dict[str, _Match]:
    """Matches by artifact id: by title and summary, and by the best piece of each detail."""
    matches: dict[str, _Match] = {}
    topics = await find(transaction, dialect, scope, Corpus.TOPIC, query, limit * _PIECES_PER_TOPIC, vector)
    heads = await fetch_in(
        transaction,
        "SELECT slot, artifact_id FROM artifact_head WHERE scope = ? AND family = 'topic-memory' AND slot IN (…)",
        (scope,),
        [document.slot for document in topics],
    )
    topic_of = {int(slot): str(artifact_id) for slot, artifact_id in heads}
    for document in topics:
        matches[topic_of[document.slot]] = _Match(topic=document.score, by=document.by)
    pieces = await search_corpus(transaction, scope, Corpus.TOPIC_DETAIL, query, limit * _PIECES_PER_TOPIC)
    rows = await fetch_in(
        transaction,
        "SELECT slot, artifact_id, text FROM topic_piece WHERE scope = ? AND slot IN (…)",
        (scope,),
        [slot for slot, _ in pieces],
    )
    piece_of = {slot: (artifact_id, text) for slot, artifact_id, text in rows}
    for slot, score in pieces:
        artifact_id, text = piece_of[slot]
        match = matches.setdefault(artifact_id, _Match())
        if match.snippet is None:  # pieces come best first
            match.detail, match.snippet = score, text
    return matches
