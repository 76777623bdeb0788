"""The error tree. Each leaf carries the stable `code` of the wire and the HTTP status that goes with it.

    ContextError
    ├── CallerError             the request is wrong
    │   ├── MalformedRequest      400   not JSON as the contract wants it
    │   ├── InvalidCursor         400
    │   ├── Unauthorized          401
    │   ├── Forbidden             403
    │   ├── NotFound              404   … ScopeNotFound, ArtifactNotFound, MemoryNotFound, CandidateNotFound
    │   ├── MethodNotAllowed      405
    │   ├── Conflict              409   … RevisionConflict, MemoryEntryInactive, ScopeVersionConflict, …
    │   ├── ContentErased         410
    │   ├── PreconditionFailed    412   ├── PreconditionRequired 428
    │   ├── PayloadTooLarge       413   ├── UnsupportedMediaType 415
    │   └── InvalidRequest        422   … CapabilityNotSupported, InvalidScopeRelationship
    ├── DependencyError         503   something we need failed; the same request may work later
    │   └── RuntimeNotReady, InferenceTimeout, InferenceUnavailable
    └── InternalError           500   we are wrong

A message names the field and the bound, never the caller's value; nothing of a driver, path or query is in it.
"""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from msgspec import Struct


class FieldError(Struct, frozen=True):
    """One broken rule: `loc` is the path from `body`, `path`, `query` or `header` in strings and integers."""

    type: str
    loc: tuple[str | int, ...]
    msg: str


class ErrorBody(Struct, frozen=True, forbid_unknown_fields=True):
    """What went wrong: a stable code, a sentence, and facts or null."""

    code: str
    message: str
    details: dict[str, Any] | None


class ErrorEnvelope(Struct, frozen=True, forbid_unknown_fields=True):
    """The body of every answer that is not a success."""

    error: ErrorBody


class ContextError(Exception):
    """Root of all errors that an operation may answer with. `headers` are added to the HTTP answer."""

    status: ClassVar[int] = 500
    code: ClassVar[str] = "internal_error"
    default_message: ClassVar[str] = "The service failed; the request id identifies this failure in its log."

    def __init__(
        self,
        message: str | None = None,
        *,
        details: Mapping[str, Any] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        self.message = message or self.default_message
        self.details = dict(details) if details is not None else None
        self.headers = dict(headers or {})
        super().__init__(self.message)

    def envelope(self) -> ErrorEnvelope:
        return ErrorEnvelope(ErrorBody(self.code, self.message, self.details))


class CallerError(ContextError):
    """The request is wrong; sending it again unchanged gives the same answer."""


class MalformedRequest(CallerError):
    status = 400
    code = "malformed_request"
    default_message = "The request is not well-formed."


class InvalidCursor(CallerError):
    status = 400
    code = "invalid_cursor"
    default_message = "The cursor is damaged or belongs to another listing; start the listing again without it."


class Unauthorized(CallerError):
    status = 401
    code = "unauthorized"
    default_message = "Send a valid token as Authorization: Bearer <token>."

    def __init__(self) -> None:
        super().__init__(headers={"WWW-Authenticate": "Bearer"})


class Forbidden(CallerError):
    status = 403
    code = "forbidden"
    default_message = (
        "The caller has no permission for this operation on every Scope that it involves;"
        " prepare involves the Context References too."
    )


class NotFound(CallerError):
    status = 404
    code = "not_found"
    default_message = "There is nothing at this path."


class ScopeNotFound(NotFound):
    code = "scope_not_found"
    default_message = "There is no such Scope."


class ArtifactNotFound(NotFound):
    code = "artifact_not_found"
    default_message = "There is no such Artifact or revision in this Scope."


class MemoryNotFound(NotFound):
    code = "memory_not_found"
    default_message = "The citation names no entry version that the cited Memory revision held."


class CandidateNotFound(NotFound):
    code = "candidate_not_found"
    default_message = "There is no such Candidate in this Scope."


class MethodNotAllowed(CallerError):
    status = 405
    code = "method_not_allowed"
    default_message = "This path does not take this method; see the Allow header."


class Conflict(CallerError):
    """The stored state is not what the request expects."""

    status = 409


class RevisionConflict(Conflict):
    code = "revision_conflict"
    default_message = "The head revision is not the one that the request expects; read it again."


class MemoryEntryInactive(Conflict):
    code = "memory_entry_inactive"
    default_message = "The entry was retired and can be neither revised nor retired again."


class ScopeVersionConflict(Conflict):
    code = "scope_version_conflict"
    default_message = "The Scope's version is not the expected one; read it again."


class ScopeIdempotencyConflict(Conflict):
    code = "scope_idempotency_conflict"
    default_message = "This idempotency_key was used with other parameters."


class ScopeAlreadyExists(Conflict):
    code = "scope_already_exists"
    default_message = "A Scope with this scope_id exists."


class CandidateConflict(Conflict):
    code = "candidate_conflict"
    default_message = "The Candidate's version is not the expected one; read it again."

    def __init__(self, *, expected_version: int, current_version: int) -> None:
        super().__init__(details={"expected_version": expected_version, "current_version": current_version})


class CandidateTerminal(Conflict):
    code = "candidate_terminal"
    default_message = "The Candidate was decided and can no longer change."

    def __init__(self, *, status: str) -> None:
        super().__init__(details={"status": status})


class ArtifactAlreadyExists(Conflict):
    code = "artifact_already_exists"
    default_message = "This identity is taken by other content."


class ContentErased(CallerError):
    status = 410
    code = "content_erased"
    default_message = "This content was erased."


class PreconditionFailed(CallerError):
    status = 412
    code = "revision_conflict"
    default_message = "The head revision is not the one that If-Match names; read it again."


class PreconditionRequired(CallerError):
    status = 428
    code = "precondition_required"
    default_message = 'This write needs an If-Match header such as "revision:3", quotes included.'


class PayloadTooLarge(CallerError):
    status = 413
    code = "payload_too_large"
    default_message = "The body is larger than this operation takes."


class UnsupportedMediaType(CallerError):
    status = 415
    code = "unsupported_media_type"
    default_message = "Send the body as application/json without a content encoding."


class InvalidRequest(CallerError):
    """A well-formed request that breaks the contract; `errors` say where."""

    status = 422
    code = "invalid_request"
    default_message = "The request breaks the contract; see details.errors."

    def __init__(self, errors: Sequence[FieldError], message: str | None = None) -> None:
        self.errors = tuple(errors)
        listed = [{"type": e.type, "loc": list(e.loc), "msg": e.msg} for e in self.errors]
        super().__init__(message or _summary(self.errors), details={"errors": listed})

    @classmethod
    def at(cls, *loc: str | int, type: str = "value_error", msg: str) -> "InvalidRequest":
        """One error at `loc`; `loc` starts with body, path, query or header."""
        return cls([FieldError(type, loc, msg)])


class CapabilityNotSupported(CallerError):
    status = 422
    code = "capability_not_supported"
    default_message = "This server is not configured for the requested mode."


class InvalidScopeRelationship(CallerError):
    status = 422
    code = "invalid_scope_relationship"
    default_message = "A Scope named as a reference or parent does not exist or may not be one."


class DependencyError(ContextError):
    """Something this service needs failed; the same request may work later."""

    status = 503


class RuntimeNotReady(DependencyError):
    code = "runtime_not_ready"
    default_message = "The storage cannot serve the request now; try again."

    def __init__(self, message: str | None = None, *, retry_after_s: int = 1) -> None:
        super().__init__(message, headers={"Retry-After": str(retry_after_s)})


class InferenceTimeout(DependencyError):
    code = "inference_timeout"
    default_message = "The inference provider did not answer in time."


class InferenceUnavailable(DependencyError):
    code = "inference_unavailable"
    default_message = "The inference provider cannot be reached."


class InternalError(ContextError):
    """We are wrong: a bug, or an answer of a provider that makes no sense."""


def _summary(errors: Sequence[FieldError]) -> str:
    first = errors[0]
    place = ".".join(str(part) for part in first.loc[1:]) or first.loc[0]
    return f"{place}: {first.msg}"
