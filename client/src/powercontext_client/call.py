"""One request as a value, and how its answer is read. Both clients send the same calls; neither knows an operation."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeVar
from urllib.parse import quote, urlencode

import msgspec

from powercontext_client.errors import ContextClientError, InvalidPrepared, InvalidResponse, error_class

REQUEST_ID_HEADER = "X-PowerContext-Request-ID"
ANSWER_MAX_BYTES = 64 * 1024 * 1024
ERROR_MAX_BYTES = 1024 * 1024
TIMEOUT_MAX_S = 86_400  # a day; beyond it a misread unit is likelier than patience

T = TypeVar("T")


@dataclass(frozen=True)
class Call(Generic[T]):
    """What to send, and `decode`, which makes the answer of a success body or raises. `target` is path and query.

    timeout_s: seconds for the whole call, None for the client's own; see checked_timeout.
    status, max_bytes: the one success of the operation and what its body may have; an error's may have ERROR_MAX_BYTES.
    """

    method: str
    target: str
    decode: Callable[[bytes], T]
    timeout_s: float | None
    body: bytes | None = None
    status: int = 200
    max_bytes: int = ANSWER_MAX_BYTES

    def __post_init__(self) -> None:
        if self.timeout_s is not None:
            checked_timeout(self.timeout_s)


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


def checked_timeout(timeout_s: object) -> None:
    """Raise ValueError unless this is a finite number of seconds above 0 and at most TIMEOUT_MAX_S."""
    # True is an int to Python, and a configuration's mistake here.
    if isinstance(timeout_s, bool) or not (isinstance(timeout_s, int | float) and 0 < timeout_s <= TIMEOUT_MAX_S):
        raise ValueError(f"timeout_s must be above 0 and at most {TIMEOUT_MAX_S} seconds")


class Answer(Generic[T]):
    """An HTTP answer as it comes in: its head, then each part of its body with `add`, then `result`.

    Raises InvalidResponse as soon as it is clear that this is no answer the contract allows; then nothing more of it
    should be read.
    """

    def __init__(self, call: Call[T], status: int, headers: Mapping[str, str]) -> None:
        self._call = call
        self._status = status
        self._content_type = headers.get("Content-Type", "")
        self._request_id = headers.get(REQUEST_ID_HEADER)
        self._max_bytes = call.max_bytes if status == call.status else ERROR_MAX_BYTES
        self._body = bytearray()
        # None was asked for; a few packed bytes could stand for gigabytes.
        if headers.get("Content-Encoding", "identity").strip().lower() not in {"identity", ""}:
            raise self._refused("has a content encoding")

    def add(self, part: bytes) -> None:
        """Take the next part of the body."""
        if len(self._body) + len(part) > self._max_bytes:
            raise self._refused(f"is larger than {self._max_bytes} bytes")
        self._body += part

    def result(self) -> T:
        """What the operation answers. Raises an ApiError for an error answer."""
        if self._content_type.partition(";")[0].strip().lower() != "application/json":
            raise self._refused("is not JSON")
        body = bytes(self._body)
        if self._status != self._call.status:
            raise _error(self._status, self._request_id, body)
        try:
            return self._call.decode(body)
        except InvalidPrepared as refused:
            raise InvalidPrepared(refused.message, status=self._status, request_id=self._request_id) from None
        except (ValueError, RecursionError) as broken:
            raise self._refused("does not have the agreed shape") from broken

    def _refused(self, why: str) -> InvalidResponse:
        message = f"The answer ({self._status}) to {self._call.method} {why}."
        return InvalidResponse(message, status=self._status, request_id=self._request_id)


def _error(status: int, request_id: str | None, body: bytes) -> ContextClientError:
    try:
        error = msgspec.json.decode(body, type=_ErrorEnvelope).error
    except (ValueError, RecursionError):
        return InvalidResponse(f"The answer has the unexpected status {status}.", status=status, request_id=request_id)
    return error_class(status)(
        status=status, code=error.code, message=error.message, details=error.details, request_id=request_id
    )
