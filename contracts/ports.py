"""Ports: what the service needs from storage, one Protocol per capability.

All methods raise `contracts.errors`: ScopeNotFound where a named Scope does not exist, RuntimeNotReady where the
storage cannot answer. A failure is never an empty result. Every write is durable when its method returns, and
every read sees one snapshot.
"""

from collections.abc import AsyncIterator, Sequence
from typing import Literal, Protocol, TypeAlias

from msgspec import Struct

from contracts.access import Grant, Principal, TokenItem
from contracts.artifacts import Artifact, ArtifactContent, ArtifactItem, ExperienceSearchHit, TopicMemorySearchHit
from contracts.bulk import ImportLine, LineReport
from contracts.identity import Cite, Ref, SourceRef
from contracts.memory import Entry, MemoryChangesResponse, MemorySearchHit, MemoryWrite
from contracts.recalled import ExperienceGroup, MemoryGroup, ProfileSnapshot, TopicMemoryHit
from contracts.review import Candidate
from contracts.scopes import CreateScopeRequest, ReplaceScopeRequest, ScopeDescriptor


class ScopeKey(Struct, frozen=True):
    """A Scope that exists: the storage's own key and the caller's id."""

    key: int
    scope_id: str


class ResolvedScope(Struct, frozen=True):
    """A Scope and its direct Context References, in order."""

    scope: ScopeKey
    references: tuple[ScopeKey, ...]


Vector: TypeAlias = Sequence[float]
"""An embedding of unit length."""


class VectorSpace(Struct, frozen=True):
    """Where vectors can be compared: those that one model made, of one dimension."""

    model: str
    dimension: int


class QueryVector(Struct, frozen=True):
    """The embedding of a query; storage whose vectors are of another space leaves it out of account."""

    space: VectorSpace
    values: tuple[float, ...]


class MemoryRecall(Protocol):
    """Ranked live Memory entries of one Scope."""

    async def recall(self, scope: ScopeKey, query: str, limit: int, vector: QueryVector | None = None) -> MemoryGroup:
        """At most `limit` hits, best first, and the head revision of the same snapshot.

        With the query's vector, text ranking and vector ranking are fused.
        """
        ...


class ExperienceRecall(Protocol):
    """Ranked approved Experiences of one Scope at their head revisions."""

    async def recall(
        self, scope: ScopeKey, query: str, limit: int, vector: QueryVector | None = None
    ) -> ExperienceGroup:
        """At most `limit` hits, best first."""
        ...


class ProfileRecall(Protocol):
    """The formal Profile of one Scope; not searched."""

    async def head(self, scope: ScopeKey) -> ProfileSnapshot | None:
        """The head snapshot, None where the Scope has none."""
        ...


class TopicMemoryRecall(Protocol):
    """Ranked Topic Memories of one Scope."""

    async def recall(
        self, scope: ScopeKey, query: str, limit: int, vector: QueryVector | None = None
    ) -> tuple[TopicMemoryHit, ...]:
        """At most `limit` hits, best first, each with the matching piece of its detail or None."""
        ...


class EmbeddingProvider(Protocol):
    """Makes vectors of texts."""

    @property
    def space(self) -> VectorSpace: ...

    async def embed(self, texts: Sequence[str]) -> tuple[Vector, ...]:
        """One vector for each text, in their order.

        Raises InferenceTimeout, InferenceUnavailable, InternalError for an answer that makes no sense.
        """
        ...


class Reranker(Protocol):
    """Orders texts by how well they answer a query."""

    async def rerank(self, query: str, texts: Sequence[str]) -> tuple[int, ...]:
        """Positions in `texts`, best first, as they were answered: some may be missing, repeated or out of range.

        Raises InferenceTimeout, InferenceUnavailable, InternalError for an answer that cannot be parsed.
        """
        ...


EmbeddedFamily: TypeAlias = Literal["memory", "experience", "topic-memory"]


class Unembedded(Struct, frozen=True):
    """A live text that has no vector."""

    family: EmbeddedFamily
    slot: int
    text: str


class VectorStore(Protocol):
    """Vectors of live Memory entries, Experiences and Topic Memories (title and summary)."""

    async def prepare(self, space: VectorSpace) -> bool:
        """Whether the storage holds vectors of `space`; one that never held any is made ready for it.

        Raises RuntimeNotReady where the database cannot store vectors.
        """
        ...

    async def reset(self, space: VectorSpace) -> None:
        """Drop all vectors unless they are of `space`, and make the storage ready for it."""
        ...

    async def holds(self, space: VectorSpace) -> bool:
        """Whether the storage's vectors are of `space`."""
        ...

    async def newest_unembedded(self, scope_id: str, limit: int) -> tuple[Unembedded, ...]:
        """At most `limit` texts of each family written after the newest that has a vector, newest first."""
        ...

    def unembedded(self, scope_id: str) -> AsyncIterator[tuple[Unembedded, ...]]:
        """Every live text of the Scope that has no vector, in batches."""
        ...

    async def add(self, scope_id: str, space: VectorSpace, embedded: Sequence[tuple[Unembedded, Vector]]) -> None:
        """Store vectors, but not of a text that is live no longer, nor where the storage is of another space."""
        ...


class ScopeStore(Protocol):
    """Scope descriptors and Context References."""

    async def resolve(self, scope_id: str) -> ResolvedScope:
        """The Scope with its references."""
        ...

    async def create(self, request: CreateScopeRequest) -> ScopeDescriptor:
        """Create, or give the Scope that the same key and parameters created.

        Raises ScopeIdempotencyConflict, ScopeAlreadyExists, InvalidScopeRelationship.
        """
        ...

    async def get(self, scope_id: str) -> ScopeDescriptor: ...

    async def replace(self, scope_id: str, request: ReplaceScopeRequest) -> ScopeDescriptor:
        """Raises ScopeVersionConflict, InvalidScopeRelationship."""
        ...

    async def list(
        self, *, visible: frozenset[str] | None, query: str, limit: int, cursor: str | None
    ) -> tuple[tuple[ScopeDescriptor, ...], str | None]:
        """Scopes in byte order of scope_id and the next cursor; `visible` None means all. Raises InvalidCursor."""
        ...

    async def delete(self, scope_id: str, expected_version: int) -> None:
        """Remove the Scope with all it holds. Raises ScopeVersionConflict, InvalidScopeRelationship."""
        ...


class MemoryStore(Protocol):
    """The Memory of a Scope: writes that make revisions, exact reads, search."""

    async def remember(
        self, scope_id: str, *, kind: str, text: str, reason: str | None, expected_revision: int | None
    ) -> MemoryWrite:
        """Add an entry unless an identical one is active. Raises RevisionConflict."""
        ...

    async def revise(self, scope_id: str, citation: Cite, *, kind: str, text: str, reason: str | None) -> MemoryWrite:
        """Raises MemoryNotFound, MemoryEntryInactive, RevisionConflict."""
        ...

    async def retire(self, scope_id: str, citation: Cite, *, reason: str | None) -> MemoryWrite:
        """Raises MemoryNotFound, MemoryEntryInactive, RevisionConflict."""
        ...

    async def get(self, scope_id: str, citation: Cite) -> Entry:
        """Raises MemoryNotFound, ContentErased."""
        ...

    async def entries(
        self, scope_id: str, *, include_inactive: bool, limit: int | None, cursor: str | None
    ) -> tuple[Ref | None, tuple[Entry, ...], str | None]:
        """The head, entries in order of entry id (all of them when `limit` is None), the next cursor."""
        ...

    async def search(
        self, scope_id: str, query: str, limit: int, vector: QueryVector | None = None, *, by_text: bool = True
    ) -> tuple[Ref | None, tuple[MemorySearchHit, ...]]:
        """The head and hits of one snapshot: by text, with a vector by both fused or, unless `by_text`, by it alone.

        Raises RuntimeNotReady when a search by the vector alone finds vectors of another space.
        """
        ...

    async def changes(self, scope_id: str, since_revision: int | None) -> MemoryChangesResponse:
        """Raises InvalidRequest when `since_revision` is above the head."""
        ...

    async def erase(self, scope_id: str, entry_id: str, reason: str | None) -> tuple[Ref, int]:
        """Erase every version of an entry; the head and the number of versions erased now. Raises MemoryNotFound."""
        ...


class ArtifactStore(Protocol):
    """Experience, Profile and Topic Memory as revisions, and the Memory manifest as an Artifact."""

    async def create(self, scope_id: str, content: ArtifactContent) -> Artifact:
        """Raises ArtifactAlreadyExists (a Profile that is there)."""
        ...

    async def replace(self, scope_id: str, artifact_id: str, content: ArtifactContent, expected: int) -> Artifact:
        """The next revision. Raises ArtifactNotFound, PreconditionFailed."""
        ...

    async def read(self, scope_id: str, family: str, artifact_id: str, revision: int | None) -> Artifact:
        """One revision, the head when None. Raises ArtifactNotFound, ContentErased."""
        ...

    async def revisions(
        self, scope_id: str, family: str, artifact_id: str, *, limit: int, cursor: str | None
    ) -> tuple[tuple[ArtifactItem, ...], str | None]:
        """Newest first. Raises ArtifactNotFound, InvalidCursor."""
        ...

    async def heads(
        self, scope_id: str, family: str, *, limit: int, cursor: str | None
    ) -> tuple[tuple[ArtifactItem, ...], str | None]:
        """In order of artifact id. Raises InvalidCursor."""
        ...

    async def search_experience(
        self, scope_id: str, query: str, limit: int, vector: QueryVector | None = None
    ) -> tuple[ExperienceSearchHit, ...]: ...

    async def search_topic_memory(
        self, scope_id: str, query: str, limit: int, vector: QueryVector | None = None
    ) -> tuple[TopicMemorySearchHit, ...]: ...

    async def erase(self, scope_id: str, family: str, artifact_id: str, reason: str | None) -> int:
        """Erase the content of every revision; how many lost it now. Raises ArtifactNotFound."""
        ...


class Proposal(Struct, frozen=True, kw_only=True):
    """What a Candidate holds besides its review state."""

    content: ArtifactContent
    source_refs: tuple[SourceRef, ...] = ()
    artifact_refs: tuple[Ref, ...] = ()
    memory_citations: tuple[Cite, ...] = ()
    target: Ref | None = None
    reason: str | None = None


class CandidateStore(Protocol):
    """Candidates and their decision. Returned Candidates have `permissions` None; the service fills them."""

    async def propose(self, scope_id: str, proposal: Proposal) -> Candidate:
        """Raises ArtifactNotFound, MemoryNotFound for a target, reference or citation that does not exist."""
        ...

    async def list(
        self, scope_id: str, *, status: str, family: str | None, limit: int, cursor: str | None
    ) -> tuple[tuple[Candidate, ...], str | None]: ...

    async def get(self, scope_id: str, candidate_id: str) -> Candidate: ...

    async def approve(self, scope_id: str, candidate_id: str, expected_version: int) -> Candidate:
        """Raises CandidateNotFound, CandidateTerminal, CandidateConflict, RevisionConflict (target moved)."""
        ...

    async def reject(self, scope_id: str, candidate_id: str, expected_version: int, reason: str) -> Candidate: ...

    async def revise(
        self, scope_id: str, candidate_id: str, expected_version: int, proposal: Proposal, *, keep_citations: bool
    ) -> Candidate: ...


class BulkStore(Protocol):
    """Import and export of a Scope."""

    async def import_batch(self, scope_id: str, lines: Sequence[tuple[int, ImportLine]]) -> tuple[LineReport, ...]:
        """Store numbered lines in one transaction; reports in the same order, durable when returned."""
        ...

    def export(self, scope_id: str) -> AsyncIterator[tuple[ImportLine, ...]]:
        """Every stored revision in order, in batches; one consistent Memory head for the whole export."""
        ...


class AccessStore(Protocol):
    """Tokens by the SHA-256 of their secret, and grants."""

    async def authenticate(self, digest: bytes) -> tuple[Principal, tuple[Grant, ...]] | None:
        """The principal and grants of a token that is not revoked, else None."""
        ...

    async def create_token(self, digest: bytes, principal: Principal, grants: Sequence[Grant]) -> TokenItem: ...

    async def tokens(self, *, limit: int, cursor: str | None) -> tuple[tuple[TokenItem, ...], str | None]: ...

    async def revoke(self, token_id: str) -> TokenItem:
        """The revoked token; revoking again keeps the first time. Raises NotFound."""
        ...

    async def add_grant(self, principal_id: str, grant: Grant) -> None: ...

    async def remove_grant(self, principal_id: str, grant: Grant) -> bool: ...

    async def grants(self, principal_id: str | None) -> tuple[tuple[str, Grant], ...]:
        """(principal id, grant) pairs in order, of one principal or of all."""
        ...


class StorageHealth(Protocol):
    """Whether the storage can serve; each check as a sentence."""

    async def check(self) -> dict[str, str]:
        """Check name to `ok` or to what is wrong and what to do. Never raises."""
        ...


class Storage(Protocol):
    """All ports of one opened database."""

    @property
    def scopes(self) -> ScopeStore: ...
    @property
    def memory(self) -> MemoryStore: ...
    @property
    def artifacts(self) -> ArtifactStore: ...
    @property
    def candidates(self) -> CandidateStore: ...
    @property
    def bulk(self) -> BulkStore: ...
    @property
    def access(self) -> AccessStore: ...
    @property
    def vectors(self) -> VectorStore: ...
    @property
    def health(self) -> StorageHealth: ...
    @property
    def memory_recall(self) -> MemoryRecall: ...
    @property
    def experience_recall(self) -> ExperienceRecall: ...
    @property
    def profile_recall(self) -> ProfileRecall: ...
    @property
    def topic_memory_recall(self) -> TopicMemoryRecall: ...

    async def close(self) -> None: ...
