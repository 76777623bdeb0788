"""One request as a value, and how its answer is read. Both clients send the same calls; neither knows an operation."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar
from urllib.parse import quote, urlencode

import msgspec

from powercontext_client.errors import ContextClientError, InvalidPrepared, InvalidResponse, error_class

REQUEST_ID_HEADER = "X-PowerContext-Request-ID"

T = TypeVar("T")


@dataclass(frozen=True)
class Call(Generic[T]):
    """What to send, and `decode`, which makes the answer of a success body or raises. `target` is path and query.

    timeout_s: seconds for the whole call, None for the client's own. `status` is the one success of the operation.
    """

    method: str
    target: str
    decode: Callable[[bytes], T]
    timeout_s: float | None
    body: bytes | None = None
    status: int = 200


class _Error(msgspec.Struct, frozen=True):
    code: str
    message: str
    details: dict[str, Any] | None = None


class _ErrorEnvelope(msgspec.Struct, frozen=True):
    error: _Error


def json_body(**fields: Any) -> bytes:
    """The JSON object of the fields that are not None: the contract takes null and absent for the same."""
    return msgspec.json.encode({name: value for name, value in fields.items() if value is not None})


def as_type(expected: type[T]) -> Callable[[bytes], T]:
    """A decoder of JSON bodies of this shape; fields that it does not know are ignored."""
    return msgspec.json.Decoder(expected).decode


def path(*parts: str | int) -> str:
    """The parts percent-encoded each by itself and joined, so that `/` and `%` in an id stay one part.

    `.` and `..` are written as `%2E`: taken literally, a client or proxy would walk the path with them.
    Raises ValueError for an empty part, which would name another operation.
    """
    if "" in parts:
        raise ValueError("an id in a path must not be empty")
    encoded = (quote(str(part), safe=":") for part in parts)
    return "/" + "/".join(part.replace(".", "%2E") if part in {".", ".."} else part for part in encoded)


def url_query(**fields: str | int | None) -> str:
    """`?` and the fields that are not None, a space as `%20`; nothing when all are None."""
    present = {name: value for name, value in fields.items() if value is not None}
    return "?" + urlencode(present, quote_via=quote) if present else ""


def read_answer(call: Call[T], status: int, content_type: str, request_id: str | None, body: bytes) -> T:
    """What the operation answers, from the parts of an HTTP answer.

    Raises an ApiError for an error answer and InvalidResponse for anything the contract does not say.
    """
    if content_type.partition(";")[0].strip().lower() != "application/json":
        raise InvalidResponse(f"The answer ({status}) is not JSON.", status=status, request_id=request_id)
    if status == call.status:
        try:
            return call.decode(body)
        except InvalidPrepared as refused:
            raise InvalidPrepared(refused.message, status=status, request_id=request_id) from None
        except (ValueError, RecursionError) as broken:
            raise InvalidResponse(
                f"The answer to {call.method} does not have the agreed shape.", status=status, request_id=request_id
            ) from broken
    raise _error(status, request_id, body)


def _error(status: int, request_id: str | None, body: bytes) -> ContextClientError:
    try:
        error = msgspec.json.decode(body, type=_ErrorEnvelope).error
    except (ValueError, RecursionError):
        return InvalidResponse(f"The answer has the unexpected status {status}.", status=status, request_id=request_id)
    return error_class(status)(
        status=status, code=error.code, message=error.message, details=error.details, request_id=request_id
    )
