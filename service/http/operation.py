"""One operation of the contract: what it declares, and the way of every request through it.

A route declares its path, role, body, query and answers once; the router, the strict decoder and the OpenAPI document
all read that declaration. Litestar decodes leniently and answers in its own words, so handlers take the request from
here instead of Litestar's injected parameters.
"""

from collections.abc import Awaitable, Callable
from typing import Annotated, Any, Literal, TypeAlias
from urllib.parse import parse_qsl

import msgspec
from litestar import Response
from litestar.enums import MediaType
from litestar.handlers import HTTPRouteHandler
from msgspec import Meta, Struct

from contracts import limits
from contracts.access import Principal
from contracts.errors import FieldError, InvalidRequest
from contracts.identity import Family, PrintableId, Revision, ScopeId
from contracts.memory import Cursor
from service.access import Caller
from service.http.body import JSON_TYPE, check_media_type, read_body
from service.http.errors import HttpRequest
from service.http.paths import convert_text, path_value
from service.http.places import Place
from service.runtime import Operations, Runtime
from service.settings import Settings
from service.validation import NAME_MAX_CHARS, decode_json

NeededRole: TypeAlias = Literal["none", "any", "viewer", "contributor", "reviewer", "admin", "global-admin"]
"""`none` needs no credential, `any` a valid one, `global-admin` the role admin on every Scope."""

PATH_KINDS: dict[str, Any] = {
    "scope_id": ScopeId,
    "family": Family,
    "artifact_id": PrintableId,
    "revision": Revision,
}
"""What the parts of a path are."""


PageLimit: TypeAlias = Annotated[int, Meta(ge=1, le=limits.PAGE_MAX)]


NOBODY = Caller(Principal(type="service", id="anonymous"), ())
"""The caller of an operation that needs no credential: whatever is sent, it may do nothing else."""


class NoQuery(Struct, frozen=True, forbid_unknown_fields=True):
    """An operation without query parameters."""


class PageQuery(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Query parameters of a listing."""

    limit: PageLimit = limits.PAGE_DEFAULT
    cursor: Cursor | None = None


class Operation(Struct, frozen=True, kw_only=True):
    """The declaration. `errors` are the statuses that it answers beside those that every operation has, `takes` and
    `sends` the headers that mean something to it.
    """

    operation_id: str
    method: Literal["GET", "POST", "PUT"]
    path: str
    role: NeededRole
    tag: str
    status: int
    body: Any = None
    body_type: str = JSON_TYPE
    answer: Any = None
    answer_type: str = JSON_TYPE
    query: type[Struct] = NoQuery
    errors: tuple[int, ...] = ()
    takes: tuple[str, ...] = ()
    sends: tuple[str, ...] = ()
    summary: str = ""


class Call(Struct):
    """One request, decoded: what a route works with."""

    request: HttpRequest
    caller: Caller
    operations: Operations
    path: dict[str, Any]
    query: Any
    body: Any

    @property
    def scope_id(self) -> str:
        """The Scope in the path."""
        scope_id: str = self.path["scope_id"]
        return scope_id

    @property
    def place(self) -> Place:
        """The request's place among those under way."""
        return _place(self.request)


Route: TypeAlias = Callable[[Call], Awaitable[Any]]


def operation(
    method: Literal["GET", "POST", "PUT"], path: str, *, role: NeededRole, tag: str, status: int = 200, **declared: Any
) -> Callable[[Route], HTTPRouteHandler]:
    """Declare a route: its function's name is the operation id, its docstring the summary."""

    def declare(route: Route) -> HTTPRouteHandler:
        declaration = Operation(
            operation_id=route.__name__,
            method=method,
            path=path,
            role=role,
            tag=tag,
            status=status,
            summary=(route.__doc__ or "").strip(),
            **declared,
        )

        async def handle(request: HttpRequest) -> Response[Any]:
            return await answer(declaration, route, request)

        template = path.replace("}", ":str}")
        return HTTPRouteHandler(
            path=template,
            http_method=method,
            status_code=status,
            name=route.__name__,
            opt={"operation": declaration},
            include_in_schema=False,
            request_max_body_size=None,
        )(handle)

    return declare


async def answer(declared: Operation, route: Route, request: HttpRequest) -> Response[Any]:
    """The way of a request, in the contract's order: credential, media type and size, syntax, shape, and then, beside a
    bounded number of others, the runtime's own checks of semantics, permission, existence and state.
    """
    runtime: Runtime = request.app.state.runtime
    settings: Settings = request.app.state.settings
    request.scope["operation"] = declared.operation_id  # type: ignore[typeddict-unknown-key]  # for log and metrics
    if declared.role == "none":
        caller = NOBODY
    else:
        caller = await runtime.authenticator.authenticate(request.headers.get("authorization"))
    body = None
    if declared.body is not None:
        check_media_type(request, declared.body_type)
        if declared.body_type == JSON_TYPE:
            data = await read_body(request, settings.http_max_body_bytes, settings.http_body_timeout_seconds)
            body = decode_json(data, declared.body)
    if declared.role != "none":  # health and documents are always served
        await _place(request).take()
    path = {name: path_value(name, part, PATH_KINDS[name]) for name, part in request.path_params.items()}
    query = _decode_query(request.scope["query_string"], declared.query)
    call = Call(request, caller, runtime.acting_as(caller), path, query, body)
    result = await route(call)
    if isinstance(result, Response):
        return result
    return Response(msgspec.json.encode(result), status_code=declared.status, media_type=MediaType.JSON)


def _place(request: HttpRequest) -> Place:
    place: Place = request.scope["place"]  # type: ignore[typeddict-item]  # from `edge`
    return place


def _decode_query(raw: bytes, kind: type[Struct]) -> Struct:
    """Query parameters as strict as a body's fields: unknown, repeated and illegal ones are refused by name."""
    if not raw and kind is NoQuery:
        return kind()
    try:
        pairs = parse_qsl(raw.decode(), keep_blank_values=True, errors="strict", max_num_fields=100)
    except ValueError:
        raise InvalidRequest.at("query", msg="must be percent-encoded UTF-8 of at most 100 parameters") from None
    fields = {field.name: field for field in msgspec.structs.fields(kind)}
    values: dict[str, Any] = {}
    errors = []
    for name, text in pairs:
        loc = ("query", name[:NAME_MAX_CHARS])
        if name not in fields:
            errors.append(FieldError("extra_forbidden", loc, "is not a parameter of this operation"))
        elif name in values:
            errors.append(FieldError("repeated", loc, "must not be repeated"))
        else:
            values[name] = convert_text(text, fields[name].type, *loc)
    if errors:
        raise InvalidRequest(errors)
    return kind(**values)
