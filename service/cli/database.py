"""`migrate` and `reindex`: what is done to a database while it is set up or upgraded."""

import sys

import click

from adapters.sql.storage import SqlStorage
from service.cli.failure import CommandFailed
from service.cli.opening import in_storage


@click.command()
def migrate() -> None:
    """Bring the database's tables up to this version, and say what was applied.

    Safe to repeat, and safe when several processes start at once: each migration runs once. Migrations only go forward;
    make a backup before an upgrade. POWERCONTEXT_SERVER_DATABASE_URL says which database; an SQLite file is made when
    it is missing, its folder is not.

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

    in_storage(work)


@click.command()
def reindex() -> None:
    """Build the text index of every Scope anew from the stored texts, which stay as they are.

    Needed when `serve` or `doctor` says that the index was made by another tokenizer, which may happen with a new
    version of this program or of Python. Each Scope changes over at once, so a running server may go on.
    """

    async def work(storage: SqlStorage) -> int:
        if await storage.pending_migrations():
            raise CommandFailed("The database lacks migrations; run: powercontext-sidecar migrate")
        documents = await storage.reindex(_show_progress if sys.stderr.isatty() else _show_nothing)
        if sys.stderr.isatty():
            click.echo(err=True)
        return documents

    click.echo(f"{in_storage(work)} texts indexed")


def _show_progress(done: int, total: int) -> None:
    click.echo(f"\rreindexing: {done} of {total} Scopes", err=True, nl=False)


def _show_nothing(done: int, total: int) -> None:
    pass
