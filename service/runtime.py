"""The runtime: all operations of the service in process, over the ports of one opened storage.

HTTP is thin over this. In-process use is the owner's and may do everything:

    prepared = await runtime.context.for_scope("project:demo").prepare("How is the client regenerated?")
"""

from concurrent.futures import Executor
from typing import Literal

from contracts import limits
from contracts.access import AccessMode
from contracts.meta import Readiness
from contracts.ports import QueryVector, Storage
from service.access import ANONYMOUS, Authenticator, Caller
from service.inference import Inference
from service.operations.access import AccessOperations
from service.operations.artifacts import (
    ArtifactOperations,
    ExperienceOperations,
    ProfileOperations,
    TopicMemoryOperations,
)
from service.operations.bulk import BulkOperations
from service.operations.candidates import CandidateOperations
from service.operations.context import ContextOperations
from service.operations.memory import MemoryOperations
from service.operations.meta import MetaOperations
from service.operations.scopes import ScopeOperations
from service.recall import RecallSources

RECALL_TIMEOUT_DEFAULT_S = 5.0


class Operations:
    """All rooms of the service, as one caller sees them."""

    __slots__ = ("_caller", "_runtime")

    def __init__(self, runtime: "Runtime", caller: Caller) -> None:
        self._runtime = runtime
        self._caller = caller

    @property
    def context(self) -> ContextOperations:
        return ContextOperations(self._runtime, self._caller)

    @property
    def scopes(self) -> ScopeOperations:
        return ScopeOperations(self._runtime, self._caller)

    @property
    def memory(self) -> MemoryOperations:
        return MemoryOperations(self._runtime, self._caller)

    @property
    def experience(self) -> ExperienceOperations:
        return ExperienceOperations(self._runtime, self._caller)

    @property
    def profile(self) -> ProfileOperations:
        return ProfileOperations(self._runtime, self._caller)

    @property
    def topic_memory(self) -> TopicMemoryOperations:
        return TopicMemoryOperations(self._runtime, self._caller)

    @property
    def candidates(self) -> CandidateOperations:
        return CandidateOperations(self._runtime, self._caller)

    @property
    def artifacts(self) -> ArtifactOperations:
        return ArtifactOperations(self._runtime, self._caller)

    @property
    def bulk(self) -> BulkOperations:
        return BulkOperations(self._runtime, self._caller)

    @property
    def access(self) -> AccessOperations:
        return AccessOperations(self._runtime, self._caller)

    @property
    def meta(self) -> MetaOperations:
        return MetaOperations(self._runtime, self._caller)


class Runtime(Operations):
    """The operations of the owner, and what all operations share.

    `renderer` runs assembly, one thread is enough; `sources` may leave families out, which then have no candidates.
    """

    __slots__ = ("authenticator", "inference", "max_entries", "recall_timeout_s", "renderer", "sources", "storage")

    def __init__(
        self,
        storage: Storage,
        renderer: Executor,
        *,
        max_entries: int = limits.ASSEMBLY_MAX_ENTRIES_DEFAULT,
        recall_timeout_s: float = RECALL_TIMEOUT_DEFAULT_S,
        access_mode: AccessMode = "disabled",
        static_token: str | None = None,
        inference: Inference | None = None,
        sources: RecallSources | None = None,
    ) -> None:
        super().__init__(self, ANONYMOUS)
        self.storage = storage
        self.renderer = renderer
        self.max_entries = max_entries
        self.recall_timeout_s = recall_timeout_s
        self.inference = inference or Inference()
        self.authenticator = Authenticator(storage.access, access_mode, static_token)
        self.sources = sources or RecallSources(
            memory=storage.memory_recall,
            experience=storage.experience_recall,
            profile=storage.profile_recall,
            topic_memory=storage.topic_memory_recall,
            reranker=self.inference.reranker,
        )

    def acting_as(self, caller: Caller) -> Operations:
        """The same operations with the permissions of `caller`."""
        return Operations(self, caller)

    async def searching_vector(self, scope_id: str, query: str) -> QueryVector | None:
        """The vector of a query that is searched with one if it can be had. Raises ScopeNotFound."""
        if self.inference.embedder is None:
            return None
        # No provider is asked about a Scope that does not exist.
        await self.storage.scopes.resolve(scope_id)
        vector, _ = await self.inference.query_vector(query, self.recall_timeout_s)
        return vector

    async def readiness(self) -> Readiness:
        """Not ready while the database cannot be read, degraded while anything else is wrong."""
        checks = await self.storage.health.check()
        if checks["database"] == "ok":
            checks |= await self.inference.checks()
        wrong = {name for name, said in checks.items() if said != "ok"}
        status: Literal["ready", "degraded", "not_ready"] = "degraded" if wrong else "ready"
        if wrong & {"database", "migrations"}:
            status = "not_ready"
        return Readiness(status=status, checks={"embedding_provider": "none configured", **checks})
