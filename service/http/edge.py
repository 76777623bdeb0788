"""The outermost layer of every request: its id, its path, its place in the queue, its line in the log.

Every answer passes here, those of the router and of failed code included, so every answer carries the request id.
"""

import asyncio
import secrets
import time

import structlog
from litestar.enums import ScopeType
from litestar.types import ASGIApp, HTTPScope, Message, Receive, Scope, Send

from contracts.errors import ContextError, InternalError
from service.http.errors import AllowedMethods, error_bytes, too_many_requests
from service.http.paths import canonical_path
from service.settings import Settings
from service.telemetry import Metrics

REQUEST_ID_HEADER = b"x-powercontext-request-id"
_ALWAYS_SERVED = ("/health/live", "/health/ready")
_log = structlog.get_logger("service.access")


def new_request_id() -> str:
    """16 lowercase hexadecimal digits."""
    return secrets.token_hex(8)


class Edge:
    """ASGI around the router."""

    def __init__(self, app: ASGIApp, settings: Settings, metrics: Metrics, methods: AllowedMethods) -> None:
        self._app = app
        self._methods = methods
        self._metrics = metrics
        self._places = asyncio.Semaphore(settings.http_max_concurrent_requests)
        self._queue_timeout_s = settings.http_queue_timeout_seconds

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
        scope["path"] = canonical_path(scope.get("raw_path") or scope["path"].encode())
        if (
            scope["method"] == "OPTIONS"
        ):  # Litestar would answer by itself; no operation takes it, so no page may call us
            raise self._methods.refusal(scope["path"])
        if scope["path"] in _ALWAYS_SERVED:
            await self._app(scope, receive, answer)
            return
        try:
            async with asyncio.timeout(self._queue_timeout_s):
                await self._places.acquire()
        except TimeoutError:
            raise too_many_requests() from None
        self._metrics.under_way.inc()
        try:
            await self._app(scope, receive, answer)
        finally:
            self._metrics.under_way.dec()
            self._places.release()


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
