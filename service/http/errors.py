"""From errors to answers. The one module that knows both."""

import re
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

import msgspec
import structlog
from litestar import Request, Response
from litestar.enums import MediaType
from litestar.exceptions import HTTPException, MethodNotAllowedException, NotFoundException

from contracts.errors import ContextError, InternalError, MethodNotAllowed, NotFound, RuntimeNotReady

HttpRequest: TypeAlias = Request[Any, Any, Any]
_log = structlog.get_logger("service.http")


def error_bytes(error: ContextError) -> bytes:
    """The body of an error: three keys under `error`."""
    return msgspec.json.encode(error.envelope())


def error_response(error: ContextError) -> Response[bytes]:
    """The answer for an error of the tree."""
    return Response(error_bytes(error), status_code=error.status, media_type=MediaType.JSON, headers=error.headers)


def handle_context_error(_: HttpRequest, error: ContextError) -> Response[bytes]:
    """Errors that operations raise. A dependency's failure is logged with its cause; the caller is not told of it."""
    if error.status >= 500:
        _log.warning("failed", code=error.code, cause=_cause(error))
    return error_response(error)


class AllowedMethods:
    """Which methods a concrete path takes, for 405 answers."""

    def __init__(self, methods: Mapping[str, frozenset[str]]) -> None:
        self._templates = [
            (re.compile(re.sub(r"\{[^}]*\}", "[^/]+", template)), allowed) for template, allowed in methods.items()
        ]

    def refusal(self, path: str) -> ContextError:
        """The error for a method that no operation at this path has."""
        found = [allowed for template, allowed in self._templates if template.fullmatch(path)]
        if not found:
            return NotFound()
        return MethodNotAllowed(headers={"Allow": ", ".join(sorted(frozenset().union(*found)))})


def http_exception_handler(methods: AllowedMethods) -> Callable[[HttpRequest, HTTPException], Response[bytes]]:
    """Litestar's own exceptions: an unknown path, a wrong method, and what else its router refuses."""

    def handle(request: HttpRequest, error: HTTPException) -> Response[bytes]:
        if isinstance(error, NotFoundException):
            return error_response(NotFound())
        if isinstance(error, MethodNotAllowedException):
            return error_response(methods.refusal(request.scope["path"]))
        return handle_unexpected(request, error)

    return handle


def handle_unexpected(_: HttpRequest, error: Exception) -> Response[bytes]:
    """A bug: all is in the log, under the request's id, and nothing in the answer."""
    _log.error("internal error", exc_info=error)
    return error_response(InternalError())


def too_many_requests() -> RuntimeNotReady:
    """The answer when no place became free in time."""
    return RuntimeNotReady("Too many requests are under way; try again.")


def _cause(error: ContextError) -> str | None:
    """The kind of the error underneath; its text may hold what people stored, so it is left out."""
    cause = error.__cause__
    return None if cause is None else type(cause).__name__
