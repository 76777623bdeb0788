"""A runtime over a real SQLite file, without HTTP."""

from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from adapters import open_storage
from adapters.sql.storage import SqlStorage
from contracts.scopes import CreateScopeRequest
from service.runtime import Runtime


@pytest.fixture
async def storage(tmp_path: Path) -> AsyncIterator[SqlStorage]:
    opened = await open_storage(f"sqlite:///{tmp_path}/test.db")
    await opened.migrate()
    yield opened
    await opened.close()


@pytest.fixture
async def runtime(storage: SqlStorage) -> AsyncIterator[Runtime]:
    """Two Scopes: `current` references `other`."""
    with ThreadPoolExecutor(1) as renderer:
        runtime = Runtime(storage, renderer)
        for scope_id, references in (("other", ()), ("current", ("other",))):
            await runtime.scopes.create(
                CreateScopeRequest(
                    title="t", summary="s", idempotency_key=scope_id, scope_id=scope_id, context_references=references
                )
            )
        yield runtime
