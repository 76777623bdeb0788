"""Opens what the settings name, for one command, and closes it again."""

import asyncio
import os
from collections.abc import AsyncIterator, Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TypeVar

from adapters.sql.storage import SqlStorage
from adapters.storage import DatabaseUrlError, open_storage
from service.cli.failure import CommandFailed
from service.inference import opened_inference
from service.runtime import Runtime
from service.settings import Settings, load_settings, variable_of

T = TypeVar("T")


def settings_of_environment(**overrides: object) -> Settings:
    """The settings, with those of `overrides` that are not None in place of the environment's.

    Raises SettingsError.
    """
    chosen = {variable_of(field): str(value) for field, value in overrides.items() if value is not None}
    return load_settings({**os.environ, **chosen})


def make_default_folder(settings: Settings) -> None:
    """The folder of the default database. One that was named by hand is not made: its name may be a mistake."""
    if settings.database_url == Settings().database_url:
        Path("data").mkdir(mode=0o700, exist_ok=True)


@asynccontextmanager
async def opened_storage(settings: Settings) -> AsyncIterator[SqlStorage]:
    """The storage as it is: perhaps without migrations, perhaps of a newer version."""
    try:
        storage = await open_storage(settings.database_url)
    except DatabaseUrlError as error:
        raise CommandFailed(f"{variable_of('database_url')}: {error}") from error
    try:
        yield storage
    finally:
        await storage.close()


def in_storage(work: Callable[[SqlStorage], Awaitable[T]]) -> T:
    """What `work` returns for the opened storage of the settings."""
    settings = settings_of_environment()

    async def run() -> T:
        async with opened_storage(settings) as storage:
            return await work(storage)

    return asyncio.run(run())


@asynccontextmanager
async def opened_runtime(settings: Settings) -> AsyncIterator[Runtime]:
    """The runtime over a database that is ready to serve, acting as its owner. Raises RuntimeNotReady."""
    async with opened_storage(settings) as storage:
        await storage.check()
        with ThreadPoolExecutor(max_workers=1, thread_name_prefix="assembly") as renderer:
            async with opened_inference(settings, storage.vectors) as inference:
                yield Runtime(
                    storage,
                    renderer,
                    max_entries=settings.runtime_context_assembly_max_entries,
                    recall_timeout_s=settings.runtime_recall_timeout_seconds,
                    inference=inference,
                )


def in_runtime(work: Callable[[Runtime], Awaitable[T]]) -> T:
    """What `work` returns for the runtime of the settings."""
    settings = settings_of_environment()

    async def run() -> T:
        async with opened_runtime(settings) as runtime:
            return await work(runtime)

    return asyncio.run(run())


def without_secrets(database_url: str) -> str:
    """The URL without user, password and parameters, to be shown."""
    scheme, separator, rest = database_url.partition("?")[0].partition("://")
    return scheme + separator + (rest if rest.startswith("/") else rest.rpartition("@")[2])
