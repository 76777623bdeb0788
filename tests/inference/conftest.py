"""The application over SQLite with providers on real sockets."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any, TypeAlias, cast

import httpx
import pytest

from service import inference
from service.app import create_app
from service.settings import Settings
from tests.api.application import create_scope, lifespan, migrated
from tests.inference.provider import DIMENSION, Provider, embeddings, provider

Serve: TypeAlias = Callable[..., AbstractAsyncContextManager[httpx.AsyncClient]]
Post: TypeAlias = Callable[..., Awaitable[dict[str, Any]]]
TIMEOUT_S = 1.5
"""Of the stub provider: above any pause of a long test run (collecting garbage alone takes half a second), below the
share of the recall deadline that a provider may take."""


@pytest.fixture
async def database_url(tmp_path: Path) -> str:
    return await migrated(tmp_path / "context.db")


@pytest.fixture
async def serve(database_url: str) -> Serve:
    """A context manager from settings to a client; the Scope `s` is there."""

    @asynccontextmanager
    async def serving(**settings: Any) -> AsyncIterator[httpx.AsyncClient]:
        app = create_app(Settings(database_url=database_url, **settings))
        transport = httpx.ASGITransport(cast("Any", app), raise_app_exceptions=False)
        async with lifespan(app), httpx.AsyncClient(transport=transport, base_url="http://sidecar") as client:
            await create_scope(client, "s")
            yield client

    return serving


@pytest.fixture
async def embedder() -> AsyncIterator[Provider]:
    async with provider(embeddings) as running:
        yield running


@pytest.fixture(autouse=True)
def _no_rest(monkeypatch: pytest.MonkeyPatch) -> None:
    """A provider is asked again at once after a failure; one test is about the rest itself."""
    monkeypatch.setattr(inference, "REST_S", 0.0)


def embedding_settings(running: Provider, **others: Any) -> dict[str, Any]:
    """The settings of the stub provider."""
    return {
        "inference_embedding_base_url": running.url,
        "inference_embedding_model": "stub",
        "inference_embedding_dimension": DIMENSION,
        "inference_embedding_api_key": "k3y",
        "inference_embedding_timeout_seconds": TIMEOUT_S,
        **others,
    }
