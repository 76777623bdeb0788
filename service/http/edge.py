"""The outermost layer of every request: its id, its path, its place among those under way, its line in the log.

Every answer passes here, those of the router and of failed code included, so every answer carries the request id.
"""

import secrets
import time

import structlog
from litestar.enums import ScopeType
from litestar.types import ASGIApp, HTTPScope, Message, Receive, Scope, Send

from contracts.errors import ContextError, InternalError
from service.http.errors import AllowedMethods, error_bytes
from service.http.hosts import refuse_foreign_host
from service.http.paths import canonical_path
from service.http.places import Place, Places
from service.settings import Settings
from service.telemetry import Metrics

REQUEST_ID_HEADER = b"x-powercontext-request-id"
_log = structlog.get_logger("service.access")


def new_request_id() -> str:
    """16 lowercase hexadecimal digits."""
    return secrets.token_hex(8)


class Edge:
    """ASGI around the router."""

    def __init__(
        self, app: ASGIApp, settings: Settings, metrics: Metrics, methods: AllowedMethods, *, own_host: str | None
    ) -> None:
        self._app = app
        self._own_host = own_host
        self._methods = methods
        self._metrics = metrics
        self._places = Places(settings.http_max_concurrent_requests, settings.http_queue_timeout_seconds, metrics)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != ScopeType.HTTP:
            await self._app(scope, receive, send)  # the lifespan; uvicorn is told to speak no WebSocket
            return
        request_id = new_request_id()
        started = time.perf_counter()
        answer = _Answer(send, request_id)
        structlog.contextvars.bind_contextvars(request_id=request_id)
        try:
            await self._serve(scope, receive, answer)
        except ContextError as error:
            await answer.fail(error)
        except Exception:  # noqa: BLE001  # a bug: logged, and answered as 500
            _log.exception("internal error")
            await answer.fail(InternalError())
        finally:
            seconds = time.perf_counter() - started
            operation = str(scope.get("operation", "unknown"))
            self._metrics.answered(operation, answer.status, seconds)
            _log.info(
                "request",
                method=scope["method"] if operation != "unknown" else "?",
                operation=operation,
                status=answer.status,
                ms=round(seconds * 1000, 3),
            )
            structlog.contextvars.unbind_contextvars("request_id")

    async def _serve(self, scope: HTTPScope, receive: Receive, answer: "_Answer") -> None:
        if self._own_host is not None:
            refuse_foreign_host(scope["headers"], self._own_host)
        scope["path"] = canonical_path(scope.get("raw_path") or scope["path"].encode())
        if scope["method"] == "OPTIONS":
            # Litestar would answer by itself. No operation takes it, so no page of another origin may call us.
            raise self._methods.refusal(scope["path"])
        place = Place(self._places)
        scope["place"] = place  # type: ignore[typeddict-unknown-key]  # taken by `operation.answer`
        try:
            await self._app(scope, receive, answer)
        finally:
            place.give_back()


class _Answer:
    """`send` that adds the request id and remembers the status; 0 until an answer began."""

    def __init__(self, send: Send, request_id: str) -> None:
        self._send = send
        self._request_id = request_id.encode()
        self.status = 0

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            message["headers"] = [*message.get("headers", ()), (REQUEST_ID_HEADER, self._request_id)]
        await self._send(message)

    async def fail(self, error: ContextError) -> None:
        """Answer with `error`, unless an answer began already: then the connection can only be dropped."""
        if self.status:
            raise error
        body = error_bytes(error)
        headers = {**error.headers, "Content-Type": "application/json", "Content-Length": str(len(body))}
        await self(
            {
                "type": "http.response.start",
                "status": error.status,
                "headers": [(name.lower().encode(), value.encode()) for name, value in headers.items()],
            }
        )
        await self({"type": "http.response.body", "body": body, "more_body": False})
