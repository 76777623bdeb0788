"""Scopes: create, read, list, replace, delete."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from contracts.errors import FieldError, InvalidRequest
from contracts.scopes import (
    CreateScopeRequest,
    DeletedScope,
    DeleteScopeRequest,
    ReplaceScopeRequest,
    ScopeDescriptor,
    ScopePage,
)
from service.access import Action, Caller

if TYPE_CHECKING:
    from service.runtime import Runtime


class ScopeOperations:
    """Descriptors and Context References. A reference grants nothing, and naming a Scope as one needs read on it."""

    def __init__(self, runtime: "Runtime", caller: Caller) -> None:
        self._scopes = runtime.storage.scopes
        self._authenticator = runtime.authenticator
        self._caller = caller

    async def create(self, request: CreateScopeRequest) -> ScopeDescriptor:
        """Raises ScopeIdempotencyConflict, ScopeAlreadyExists, InvalidScopeRelationship."""
        _check_references(request.context_references)
        self._caller.require_global_admin()
        self._require_named(request)
        return await self._scopes.create(request)

    async def get(self, scope_id: str) -> ScopeDescriptor:
        self._caller.require(Action.READ, scope_id)
        return await self._scopes.get(scope_id)

    async def list(self, query: str, limit: int, cursor: str | None) -> ScopePage:
        """The Scopes that the caller may read, in order of scope_id."""
        items, following = await self._scopes.list(
            visible=self._caller.readable(), query=query, limit=limit, cursor=cursor
        )
        return ScopePage(items=items, next_cursor=following)

    async def replace(self, scope_id: str, request: ReplaceScopeRequest) -> ScopeDescriptor:
        """Raises ScopeVersionConflict, InvalidScopeRelationship."""
        _check_references(request.context_references)
        self._caller.require(Action.ADMINISTER, scope_id)
        self._require_named(request)
        return await self._scopes.replace(scope_id, request)

    async def delete(self, scope_id: str, request: DeleteScopeRequest) -> DeletedScope:
        """Raises ScopeVersionConflict, InvalidScopeRelationship where another Scope names this one."""
        self._caller.require(Action.ADMINISTER, scope_id)
        await self._scopes.delete(scope_id, request.expected_version)
        self._authenticator.forget()  # its grants went with it
        return DeletedScope(scope_id=scope_id)

    def _require_named(self, request: CreateScopeRequest | ReplaceScopeRequest) -> None:
        self._caller.require(Action.READ, *request.context_references)
        if request.parent_scope_id is not None:
            self._caller.require(Action.READ, request.parent_scope_id)


def _check_references(references: Sequence[str]) -> None:
    errors = [
        FieldError("repeated", ("body", "context_references", index), "must not be repeated")
        for index, scope_id in enumerate(references)
        if scope_id in references[:index]
    ]
    if errors:
        raise InvalidRequest(errors)
