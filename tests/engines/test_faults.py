"""Servers that die, locks that are held, connections that run out: bounded waits, honest errors, quick recovery."""

import asyncio
import threading
import time
from collections.abc import Coroutine
from typing import Any

import pytest

from adapters.sql.engine import Transaction
from adapters.sql.scopes import lock_scope
from adapters.sql.storage import SqlStorage
from contracts.errors import RuntimeNotReady
from tests.engines.conftest import OpenStorage
from tests.engines.content import found, key_of, new_scope, remember
from tests.engines.servers import DatabaseServer

on_servers = pytest.mark.parametrize(
    "engine",
    [pytest.param("postgres", marks=pytest.mark.postgres), pytest.param("oceanbase", marks=pytest.mark.oceanbase)],
    indirect=True,
)


def hold(seconds: float, started: threading.Event, scope_id: str | None = None) -> Any:
    """A job that keeps its connection, and the Scope's lock where one is named, without awaiting anything of its own."""

    async def job(transaction: Transaction) -> None:
        if scope_id is not None:
            await lock_scope(transaction, " FOR UPDATE", scope_id)
        else:
            await transaction.fetch("SELECT 1")
        started.set()
        await asyncio.sleep(0) if seconds == 0 else None
        time.sleep(seconds)  # noqa: ASYNC251  # a storage job may await its transaction only; it runs on its own thread

    return job


class Elsewhere:
    """Runs a coroutine on a loop in a thread of its own, as another process would."""

    def __init__(self, work: Coroutine[Any, Any, None]) -> None:
        self._thread = threading.Thread(target=lambda: asyncio.run(work))
        self._thread.start()

    def join(self) -> None:
        self._thread.join(30)
        assert not self._thread.is_alive()
