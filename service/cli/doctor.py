"""`doctor`: everything that must be right before the service can serve, one line each."""

import asyncio
import sys
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import NamedTuple

import click

from adapters.sql.storage import SqlStorage
from contracts.errors import ContextError, RuntimeNotReady
from service.cli.failure import CommandFailed, visible
from service.cli.opening import opened_storage, settings_of_environment, without_secrets
from service.inference import REINDEX, missing_vectors, opened_embedding
from service.settings import Settings, SettingsError, check_bind


class Finding(NamedTuple):
    """One line: what was looked at, whether it is in order, and what was seen or has to be done."""

    name: str
    ok: bool
    said: str


@click.command()
def doctor() -> None:
    """Check settings, database and exposure, and say what to do about every problem.

    One line for each check, beginning with ok or problem. The exit code is 1 when there is a problem. Secrets are never
    printed. May run beside a server.
    """

    async def work() -> bool:
        healthy = True
        # Closed here when printing fails: only a running event loop can close what the generator has opened.
        async with aclosing(_findings()) as findings:
            async for finding in findings:
                click.echo(f"{'ok' if finding.ok else 'problem':<9}{finding.name:<15}{visible(finding.said)}")
                healthy = healthy and finding.ok
        return healthy

    if not asyncio.run(work()):
        sys.exit(1)


async def _findings() -> AsyncGenerator[Finding, None]:
    """Stops at the first thing that keeps the following ones from being looked at."""
    try:
        settings = settings_of_environment()
    except SettingsError as error:
        yield Finding("configuration", False, str(error))
        return
    yield Finding("configuration", True, "every setting is known and within its bounds")
    yield _access(settings)
    place = without_secrets(settings.database_url)
    name = "database"
    try:
        async with opened_storage(settings) as storage:
            yield Finding(name, True, f"{place} opens")
            name = "migrations"
            if pending := await storage.pending_migrations():
                raise RuntimeNotReady(f"{len(pending)} to apply; run: powercontext-sidecar migrate")
            yield Finding(name, True, "all applied")
            name = "text index"
            await storage.check()
            yield Finding(name, True, "made by the tokenizer of this version")
            name = "writes"
            await storage.health.probe_write()
            yield Finding(name, True, "the database takes them")
            name = "embedding"
            async with aclosing(_embedding(settings, storage)) as findings:
                async for finding in findings:
                    yield finding
    except (CommandFailed, ContextError) as error:
        yield Finding(name, False, f"{place}: {error.message}")


async def _embedding(settings: Settings, storage: SqlStorage) -> AsyncGenerator[Finding, None]:
    """Whether an embedding provider that is configured answers, and the stored vectors are all there and its own."""
    if settings.inference_embedding_model is None:
        return
    async with opened_embedding(settings) as provider:
        await storage.vectors.prepare(provider.space)
        await provider.embed(["doctor"])
        yield Finding("embedding", True, "the provider answers with vectors of the configured dimension")
        if not await storage.vectors.holds(provider.space):
            yield Finding("vectors", False, REINDEX)
        elif missing := await missing_vectors(storage):
            yield Finding("vectors", False, f"{missing} texts have none; run: powercontext-sidecar reindex")
        else:
            yield Finding("vectors", True, "every text has one")


def _access(settings: Settings) -> Finding:
    """Whether strangers can reach the service without a token."""
    where = settings.http_uds or f"{settings.http_host} port {settings.http_port}"
    try:
        check_bind(settings)
    except SettingsError as error:
        return Finding("access", False, str(error))
    if settings.allow_remote_without_access_control:
        return Finding("access", True, f"{settings.effective_access_mode} on {where}, remote use allowed explicitly")
    return Finding("access", True, f"{settings.effective_access_mode} on {where}")
