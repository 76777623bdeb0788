"""`backup`: a copy of an SQLite database while it is served."""

from pathlib import Path

import click

from adapters.sql.storage import SqlStorage
from adapters.sqlite.backup import BackupFailed, back_up
from adapters.sqlite.engine import SqliteEngine
from service.cli.failure import CommandFailed, visible
from service.cli.opening import in_storage


@click.command()
@click.argument("file", metavar="FILE", type=click.Path(path_type=Path))
def backup(file: Path) -> None:
    """Copy the SQLite database into FILE, while servers go on reading and writing.

    FILE must not exist; it appears when the copy is complete and its integrity is checked. It holds everything that was
    acknowledged before the command began, tokens' hashes included. To restore it, stop the server and put it in the
    place of the database; docs/operate/backup.md has the commands. PostgreSQL and OceanBase have backups of their own.

    \b
    Example:
      powercontext-sidecar backup "backup-$(date +%F).db"
    """

    async def work(storage: SqlStorage) -> None:
        if not isinstance(storage.engine, SqliteEngine):
            raise CommandFailed("only an SQLite database is copied; use pg_dump, the cluster's backup, or export")
        if await storage.is_new():
            raise CommandFailed("the database is empty; POWERCONTEXT_SERVER_DATABASE_URL says which one it is")
        try:
            size = await back_up(storage.engine, file)
        except BackupFailed as error:
            raise CommandFailed(str(error)) from error
        click.echo(f"{visible(str(file))}: {size} bytes, integrity checked")

    in_storage(work)
