"""Opens the storage that a database URL names."""

from pathlib import Path
from urllib.parse import unquote, urlsplit

from adapters.sql.storage import SqlStorage
from contracts.errors import RuntimeNotReady

SCHEMES = ("sqlite",)


class DatabaseUrlError(ValueError):
    """A database URL that names no storage; the message says what is allowed and never quotes the URL."""


async def open_storage(database_url: str) -> SqlStorage:
    """Open the database; call `migrate` or `check` on it before use.

    `sqlite:///relative/file.db`, `sqlite:////absolute/file.db`; `sqlite+aiosqlite:` is the same. Raises DatabaseUrlError
    for another form, RuntimeNotReady where the database cannot be opened.
    """
    scheme = urlsplit(database_url).scheme.partition("+")[0]
    if scheme == "sqlite":
        return await _open_sqlite(database_url)
    raise DatabaseUrlError(f"must begin with one of: {', '.join(f'{name}://' for name in SCHEMES)}")


async def _open_sqlite(database_url: str) -> SqlStorage:
    from adapters.sqlite.engine import SqliteEngine
    from adapters.sqlite.migrate import SqliteMigrator

    _, separator, rest = database_url.partition(":///")
    name = unquote(rest)
    if not separator or not name or "\0" in name:
        raise DatabaseUrlError("must be sqlite:///file.db or sqlite:////absolute/file.db")
    path = Path(name)
    if not path.parent.is_dir():
        raise RuntimeNotReady("The folder of the database file does not exist; create it.")
    engine = await SqliteEngine.open(path)
    migrator = SqliteMigrator(engine)
    return SqlStorage(engine, migrator, migrator.known)
