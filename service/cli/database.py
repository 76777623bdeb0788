"""`migrate` and `reindex`: what is done to a database while it is set up or upgraded."""

import asyncio
import sys

import click

from adapters.sql.storage import SqlStorage
from service.cli.failure import CommandFailed
from service.cli.opening import in_storage, make_default_folder, opened_storage, settings_of_environment
from service.inference import make_missing_vectors, opened_embedding


@click.command()
def migrate() -> None:
    """Bring the database's tables up to this version, and say what was applied.

    Safe to repeat, and safe when several processes start at once: each migration runs once. Migrations only go forward;
    make a backup before an upgrade. POWERCONTEXT_SERVER_DATABASE_URL says which database; an SQLite file is made when
    it is missing, its folder only when that is the default, ./data.

    \b
    Example:
      POWERCONTEXT_SERVER_DATABASE_URL=sqlite:////var/lib/powercontext/context.db powercontext-sidecar migrate
    """

    async def work(storage: SqlStorage) -> None:
        applied = await storage.migrate()
        for migration in applied:
            click.echo(f"applied {migration.version:04} {migration.name}")
        if not applied:
            click.echo("nothing to do: the database is current")

    make_default_folder(settings_of_environment())
    in_storage(work)


@click.command()
def reindex() -> None:
    """Build the text index of every Scope anew from the stored texts, and make the vectors that are missing.

    Needed when `serve` or `doctor` says that the index was made by another tokenizer, which may happen with a new
    version of this program or of Python. Each Scope changes over at once, so a running server may go on.

    With an embedding provider configured, also after an outage of it, and after a change of its model or dimension,
    which makes all vectors anew. When the provider fails, run it again: it goes on where it stopped.
    """
    settings = settings_of_environment()

    async def work() -> None:
        async with opened_storage(settings) as storage:
            if await storage.pending_migrations():
                raise CommandFailed("The database lacks migrations; run: powercontext-sidecar migrate")
            documents = await storage.reindex(_show_progress if sys.stderr.isatty() else _show_nothing)
            if sys.stderr.isatty():
                click.echo(err=True)
            click.echo(f"{documents} texts indexed")
            if settings.inference_embedding_model is not None:
                async with opened_embedding(settings) as provider:
                    await storage.check()
                    click.echo(f"{await make_missing_vectors(storage, provider)} vectors made")

    asyncio.run(work())


def _show_progress(done: int, total: int) -> None:
    click.echo(f"\rreindexing: {done} of {total} Scopes", err=True, nl=False)


def _show_nothing(done: int, total: int) -> None:
    pass
