"""Opens the storage that a database URL names."""

from pathlib import Path
from typing import Final
from urllib.parse import unquote

from adapters.sql.address import DatabaseUrlError, parse_address
from adapters.sql.storage import SqlStorage
from contracts.errors import RuntimeNotReady

__all__ = ["SCHEMES", "DatabaseUrlError", "open_storage"]

CONNECTIONS: Final = 4
"""Connections to a server: what a sidecar on two cores keeps busy."""

_ENGINES: Final = {
    "sqlite": "sqlite",
    "sqlite+aiosqlite": "sqlite",
    "postgresql": "postgres",
    "postgres": "postgres",
    "postgresql+asyncpg": "postgres",
    "oceanbase": "oceanbase",
    "mysql+aoceanbase": "oceanbase",
}
SCHEMES: Final = tuple(_ENGINES)


async def open_storage(database_url: str, *, connections: int = CONNECTIONS) -> SqlStorage:
    """Open the database; call `migrate` or `check` on it before use.

    `sqlite:///relative/file.db`, `sqlite:////absolute/file.db`, `postgresql://user:password@host:port/database`,
    `oceanbase://user@tenant:password@host:port/database`. connections: at most so many to a server; SQLite has its own
    number. Raises DatabaseUrlError for another form or a driver that is not installed, RuntimeNotReady where the
    database cannot be opened.
    """
    scheme, separator, _ = database_url.partition(":")
    engine = _ENGINES.get(scheme.lower()) if separator else None
    if engine == "sqlite":
        return await _open_sqlite(database_url)
    if engine == "postgres":
        return await _open_postgres(database_url, connections)
    if engine == "oceanbase":
        return await _open_oceanbase(database_url, connections)
    raise DatabaseUrlError("must begin with sqlite:///, postgresql:// or oceanbase://")


async def _open_sqlite(database_url: str) -> SqlStorage:
    from adapters.sqlite.engine import SqliteEngine  # noqa: PLC0415  # as the others
    from adapters.sqlite.migrate import SqliteMigrator  # noqa: PLC0415  # as the others

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


async def _open_postgres(database_url: str, connections: int) -> SqlStorage:
    address = parse_address(database_url, default_port=5432, options=("host", "sslmode", "sslrootcert"))
    modes = ("disable", "allow", "prefer", "require", "verify-ca", "verify-full")
    if address.options.get("sslmode", "prefer") not in modes:
        raise DatabaseUrlError(f"must have one of these as sslmode: {', '.join(modes)}")
    try:
        from adapters.postgres.engine import PostgresEngine  # noqa: PLC0415  # its driver is an extra
        from adapters.postgres.migrate import PostgresMigrator  # noqa: PLC0415  # its driver is an extra
    except ModuleNotFoundError as error:
        raise _lacks_driver(error, "asyncpg", "postgres") from error
    engine = await PostgresEngine.open(address, connections)
    migrator = PostgresMigrator(engine)
    return SqlStorage(engine, migrator, migrator.known)


async def _open_oceanbase(database_url: str, connections: int) -> SqlStorage:
    address = parse_address(database_url, default_port=2881, options=("charset",))
    if address.options.get("charset", "utf8mb4") != "utf8mb4":
        raise DatabaseUrlError("must have utf8mb4 as charset, or none")
    try:
        from adapters.oceanbase.engine import OceanBaseEngine  # noqa: PLC0415  # its driver is an extra
        from adapters.oceanbase.migrate import OceanBaseMigrator  # noqa: PLC0415  # its driver is an extra
    except ModuleNotFoundError as error:
        raise _lacks_driver(error, "pymysql", "oceanbase") from error
    engine = await OceanBaseEngine.open(address, connections)
    migrator = OceanBaseMigrator(engine)
    return SqlStorage(engine, migrator, migrator.known)


def _lacks_driver(error: ModuleNotFoundError, driver: str, extra: str) -> Exception:
    """What to install; any other module that is missing is a broken installation and stays as it is."""
    if error.name != driver:
        return error
    return DatabaseUrlError(
        f"names a database whose driver is not installed; run: pip install 'powercontext-sidecar[{extra}]'"
    )
