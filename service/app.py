"""The composition root: the one place that opens things, and closes them in reverse."""

import os
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AsyncExitStack, asynccontextmanager

from litestar import Litestar
from litestar.datastructures import State
from litestar.exceptions import HTTPException

from adapters import open_storage
from contracts.errors import ContextError
from contracts.ports import Storage
from service.http.edge import Edge
from service.http.errors import AllowedMethods, handle_context_error, handle_unexpected, http_exception_handler
from service.http.openapi import declared_operations, document
from service.http.protocol import SidecarProtocol
from service.http.routes import ROUTES
from service.inference import opened_inference
from service.runtime import Runtime
from service.settings import Settings, load_settings
from service.telemetry import Metrics, configure_logging


def create_app(settings: Settings, *, storage: Storage | None = None, own_host: str | None = None) -> Edge:
    """The ASGI application. Opens `settings.database_url` at startup, unless an opened `storage` is given, and closes
    what it opened. With `own_host`, requests whose Host names another machine are refused.

    Startup raises RuntimeNotReady when the database cannot be opened or lacks migrations.
    """
    metrics = Metrics()

    @asynccontextmanager
    async def lifespan(app: Litestar) -> AsyncIterator[None]:
        async with AsyncExitStack() as stack:
            opened = storage if storage is not None else await _opened(settings, stack)
            inference = await stack.enter_async_context(
                opened_inference(settings, opened.vectors, metrics.inference_failed)
            )
            # One thread: rendering takes tens of microseconds and holds the GIL, so a second one would only wait.
            renderer = stack.enter_context(ThreadPoolExecutor(1, thread_name_prefix="assemble"))
            app.state.runtime = Runtime(
                opened,
                renderer,
                max_entries=settings.runtime_context_assembly_max_entries,
                recall_timeout_s=settings.runtime_recall_timeout_seconds,
                access_mode=settings.effective_access_mode,
                static_token=settings.auth_token,
                inference=inference,
            )
            yield

    operations = declared_operations(ROUTES)
    paths = {operation.path for operation in operations}
    methods = AllowedMethods(
        {path: frozenset(each.method for each in operations if each.path == path) for path in paths}
    )
    app = Litestar(
        route_handlers=list(ROUTES),
        lifespan=[lifespan],
        openapi_config=None,
        state=State({"settings": settings, "metrics": metrics, "document": document()}),
        exception_handlers={
            ContextError: handle_context_error,
            HTTPException: http_exception_handler(methods),
            Exception: handle_unexpected,
        },
        logging_config=None,
    )
    return Edge(app, settings, metrics, methods, own_host=own_host)


async def _opened(settings: Settings, stack: AsyncExitStack) -> Storage:
    storage = await open_storage(settings.database_url)
    stack.push_async_callback(storage.close)
    await storage.check()
    return storage


def from_environment() -> Edge:
    """The application of a worker process, which finds its settings in the environment."""
    settings = load_settings(os.environ)
    configure_logging(settings.log_level)
    SidecarProtocol.head_timeout_s = settings.http_header_timeout_seconds
    open_to_all = settings.http_uds is not None or settings.allow_remote_without_access_control
    guarded = settings.effective_access_mode == "disabled" and not open_to_all
    return create_app(settings, own_host=settings.http_host if guarded else None)
