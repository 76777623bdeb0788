"""What can go wrong, as one small tree. No message ever holds the token, a header or the text that was sent.

ContextClientError
├── TransportError          no answer: refused, broken off, no such socket
│   └── RequestTimeout      no whole answer within the call's timeout
├── InvalidResponse         an answer that is not what the contract says
│   └── InvalidPrepared     a prepared text that must not be injected
└── ApiError                an error answer of the service
    ├── Unauthorized 401    ├── Forbidden 403    ├── NotFound 404
    ├── Conflict 409 and 412    ├── InvalidRequest 422    └── Unavailable 503
"""

from typing import Any


class ContextClientError(Exception):
    """Root of everything this package raises for a call; a wrong argument is a ValueError instead."""


class TransportError(ContextClientError):
    """No answer came. A write may have been carried out nevertheless."""


class RequestTimeout(TransportError):
    """No whole answer came within the call's timeout."""


class InvalidResponse(ContextClientError):
    """An answer came that is not what the contract says; `status` is None when no HTTP answer is at hand."""

    def __init__(self, message: str, *, status: int | None = None, request_id: str | None = None) -> None:
        self.message = message
        self.status = status
        self.request_id = request_id
        super().__init__(message)


class InvalidPrepared(InvalidResponse):
    """The prepared text breaks a rule of the four fields or of the budget; nothing of it may be injected."""


class ApiError(ContextClientError):
    """The service answered with an error: its HTTP status, stable code, sentence, facts or None, and request id."""

    def __init__(
        self, *, status: int, code: str, message: str, details: dict[str, Any] | None, request_id: str | None
    ) -> None:
        self.status = status
        self.code = code
        self.message = message
        self.details = details
        self.request_id = request_id
        super().__init__(f"{status} {code}: {message} (request {request_id or 'without an id'})")


class Unauthorized(ApiError):
    """The token is missing, unknown or revoked."""


class Forbidden(ApiError):
    """The caller has no permission; whether the Scope exists is not told."""


class NotFound(ApiError):
    """There is no such Scope, Artifact, entry version, Candidate or path."""


class Conflict(ApiError):
    """The stored state is not what the request expects."""


class InvalidRequest(ApiError):
    """The request breaks the contract; `details["errors"]` says where."""


class Unavailable(ApiError):
    """The service cannot serve the request now; the same request may work later."""


_BY_STATUS: dict[int, type[ApiError]] = {
    401: Unauthorized,
    403: Forbidden,
    404: NotFound,
    409: Conflict,
    412: Conflict,
    422: InvalidRequest,
    503: Unavailable,
}


def error_class(status: int) -> type[ApiError]:
    """The leaf for an HTTP status, ApiError itself for one without a leaf."""
    return _BY_STATUS.get(status, ApiError)
