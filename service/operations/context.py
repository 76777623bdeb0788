"""Prepare: from a query to one injection-ready text with exact citations (RFC 1489)."""

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from msgspec import UNSET, UnsetType
from msgspec.structs import replace

from contracts.errors import FieldError, InvalidRequest, RuntimeNotReady
from contracts.identity import Family
from contracts.ports import ResolvedScope
from contracts.prepare import Assembly, ContextPrepareRequest, PreparedContext, Section
from contracts.recalled import Recalled
from service.access import Action, Caller
from service.assembly import assemble
from service.recall import ACROSS_REFERENCES, SEARCHED, recall
from service.validation import checked

if TYPE_CHECKING:
    from service.runtime import Runtime

LEGACY_FAMILIES: tuple[Family, ...] = ("memory", "experience", "topic-memory")
"""What a request without `assembly` recalls (CONTRACT section 5)."""


class ContextOperations:
    """`prepare`, by request or bound to a Scope."""

    def __init__(self, runtime: "Runtime", caller: Caller) -> None:
        self._runtime = runtime
        self._caller = caller

    def for_scope(self, scope_id: str) -> "ScopedContext":
        """Prepare for one Scope from inside the process."""
        return ScopedContext(self, scope_id)

    async def prepare(self, request: ContextPrepareRequest) -> PreparedContext:
        """One text within `request.max_bytes`, or the empty answer.

        Raises InvalidRequest, Forbidden, ScopeNotFound; RuntimeNotReady when a selected source fails or is late.
        """
        families = self._selected(request.assembly)
        self._caller.require(Action.READ, request.scope_id)
        try:
            async with asyncio.timeout(self._runtime.recall_timeout_s):
                resolved = await self._runtime.storage.scopes.resolve(request.scope_id)
                if ACROSS_REFERENCES.intersection(families):
                    self._caller.require(Action.READ, *(reference.scope_id for reference in resolved.references))
                if not families:
                    return _EMPTY
                recalled = await self._recalled(resolved, families, request.query)
        except TimeoutError:
            raise RuntimeNotReady("Recall did not finish before its deadline; try again.") from None
        assembled = await asyncio.get_running_loop().run_in_executor(
            self._runtime.renderer, assemble, recalled, request.assembly, request.max_bytes
        )
        if assembled.content is None:
            return _EMPTY
        return PreparedContext(status="ready", content=assembled.content, content_bytes=assembled.content_bytes)

    async def _recalled(self, resolved: ResolvedScope, families: Sequence[Family], query: str) -> Recalled:
        """What recall finds; the query's vector is made once for all Scopes and families."""
        vector = failure = None
        if SEARCHED.intersection(families):
            vector, failure = await self._runtime.inference.query_vector(query, self._runtime.recall_timeout_s)
        recalled = await recall(self._runtime.sources, resolved, families, query, vector)
        return recalled if failure is None else replace(recalled, embedding_failure=failure)

    def _selected(self, assembly: Assembly | UnsetType) -> tuple[Family, ...]:
        """The families that are read, after the checks that no schema can make. Raises InvalidRequest."""
        if assembly is UNSET:
            return LEGACY_FAMILIES
        errors = [
            *_repeated([_family(section) for section in assembly.sections], "sections", "family"),
            *_repeated(assembly.show, "show"),
        ]
        wanted, most = sum(section.limit for section in assembly.sections), self._runtime.max_entries
        if wanted > most:
            message = f"the limits of all sections together must not be above {most}"
            errors.append(FieldError("limit_sum", ("body", "assembly", "sections"), message))
        if errors:
            raise InvalidRequest(errors)
        return tuple(_family(section) for section in assembly.sections)


class ScopedContext:
    """Prepare for one Scope, with the same checks as HTTP makes (RFC 1489, surfaces)."""

    def __init__(self, operations: ContextOperations, scope_id: str) -> None:
        self._operations = operations
        self._scope_id = scope_id

    async def prepare(self, query: str, *, max_bytes: Any = UNSET, assembly: Any = UNSET) -> PreparedContext:
        """As `POST /v1/context/prepare`. `assembly` is an Assembly or an object like the wire's; omitted means legacy.

        Raises InvalidRequest for everything that HTTP refuses, wrong types and unknown fields included.
        """
        given = {"scope_id": self._scope_id, "query": query, "max_bytes": max_bytes, "assembly": assembly}
        fields = {name: value for name, value in given.items() if value is not UNSET}
        return await self._operations.prepare(checked(fields, ContextPrepareRequest))


_EMPTY = PreparedContext(status="empty", content=None, content_bytes=0)


def _family(section: Section) -> Family:
    family: Family = section.__struct_config__.tag  # type: ignore[assignment]  # the tags are the families
    return family


def _repeated(values: Sequence[str], *path: str) -> list[FieldError]:
    """An error at each value that stood before; `path` is the array and, for objects, the field in it."""
    array, *field = path
    return [
        FieldError("repeated", ("body", "assembly", array, index, *field), "must not be repeated")
        for index, value in enumerate(values)
        if value in values[:index]
    ]
