"""What this server can do."""

from typing import TYPE_CHECKING, get_args

from contracts import limits
from contracts.identity import Family
from contracts.meta import AssemblyCapabilities, Capabilities, LimitRange
from contracts.prepare import PREPARED_CONTEXT_SCHEMA, Show
from service.access import Caller

if TYPE_CHECKING:
    from service.runtime import Runtime

_FAMILY_LIMITS: dict[Family, int] = {
    "memory": limits.MEMORY_LIMIT_MAX,
    "experience": limits.EXPERIENCE_LIMIT_MAX,
    "profile": limits.PROFILE_LIMIT_MAX,
    "topic-memory": limits.TOPIC_MEMORY_LIMIT_MAX,
}


class MetaOperations:
    """Capabilities, for any caller with a valid credential."""

    def __init__(self, runtime: "Runtime", caller: Caller) -> None:
        self._runtime = runtime
        self._caller = caller

    async def capabilities(self) -> Capabilities:
        return Capabilities(
            artifact_families=get_args(Family),
            search_modes=("auto", "fts", "vector", "hybrid") if await self._has_vectors() else ("auto", "fts"),
            context_versions=(PREPARED_CONTEXT_SCHEMA,),
            context_assembly=AssemblyCapabilities(
                formats=("markdown",),
                families={family: LimitRange(min=1, max=most) for family, most in _FAMILY_LIMITS.items()},
                show=get_args(Show),
                max_entries=self._runtime.max_entries,
            ),
        )

    async def _has_vectors(self) -> bool:
        embedder = self._runtime.inference.embedder
        return embedder is not None and await embedder.usable()
