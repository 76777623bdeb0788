"""Scopes."""

from msgspec import Struct

from contracts import limits
from contracts.memory import Cursor
from contracts.scopes import (
    CreateScopeRequest,
    DeletedScope,
    DeleteScopeRequest,
    ReplaceScopeRequest,
    ScopeDescriptor,
    ScopePage,
    ScopeQuery,
)
from service.http.operation import Call, PageLimit, operation


class ScopesQuery(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`query` is a substring of the id or the title."""

    limit: PageLimit = limits.PAGE_DEFAULT
    cursor: Cursor | None = None
    query: ScopeQuery = ""


@operation(
    "POST",
    "/v1/scopes",
    role="global-admin",
    tag="scopes",
    status=201,
    body=CreateScopeRequest,
    answer=ScopeDescriptor,
    errors=(409,),
)
async def create_scope(call: Call) -> ScopeDescriptor:
    """Create a Scope; the same idempotency key with the same parameters answers with the same Scope again."""
    return await call.operations.scopes.create(call.body)


@operation("GET", "/v1/scopes", role="any", tag="scopes", query=ScopesQuery, answer=ScopePage)
async def list_scopes(call: Call) -> ScopePage:
    """List the Scopes that the caller may read, in order of scope_id."""
    return await call.operations.scopes.list(call.query.query, call.query.limit, call.query.cursor)


@operation("GET", "/v1/scopes/{scope_id}", role="viewer", tag="scopes", answer=ScopeDescriptor, errors=(404,))
async def get_scope(call: Call) -> ScopeDescriptor:
    """Read one Scope's descriptor."""
    return await call.operations.scopes.get(call.scope_id)


@operation(
    "PUT",
    "/v1/scopes/{scope_id}",
    role="admin",
    tag="scopes",
    body=ReplaceScopeRequest,
    answer=ScopeDescriptor,
    errors=(404, 409),
)
async def replace_scope(call: Call) -> ScopeDescriptor:
    """Replace one Scope's descriptor at its version."""
    return await call.operations.scopes.replace(call.scope_id, call.body)


@operation(
    "POST",
    "/v1/scopes/{scope_id}/delete",
    role="admin",
    tag="scopes",
    body=DeleteScopeRequest,
    answer=DeletedScope,
    errors=(404, 409),
)
async def delete_scope(call: Call) -> DeletedScope:
    """Delete a Scope with everything in it, unless another Scope references it or has it as its parent."""
    return await call.operations.scopes.delete(call.scope_id, call.body)


ROUTES = (create_scope, list_scopes, get_scope, replace_scope, delete_scope)
