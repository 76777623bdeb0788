"""`serve` and `demo`."""

import asyncio
import signal
import socket
from types import FrameType

import click

from service.cli.failure import CommandFailed
from service.cli.opening import (
    make_default_folder,
    opened_runtime,
    opened_storage,
    settings_of_environment,
    without_secrets,
)
from service.demo import has_sample, import_sample, show_sample
from service.http.server import BindError
from service.http.server import serve as serve_http
from service.settings import Settings, check_bind, variable_of


@click.command()
@click.option("--host", help="Address to listen on; POWERCONTEXT_SERVER_HTTP_HOST (127.0.0.1).")
@click.option("--port", type=int, help="POWERCONTEXT_SERVER_HTTP_PORT (8000).")
@click.option("--uds", type=click.Path(dir_okay=False), help="A Unix socket instead; POWERCONTEXT_SERVER_HTTP_UDS.")
@click.option("--workers", type=click.IntRange(1, 64), default=1, show_default=True, help="Processes that serve.")
@click.option("--migrate", "migrate_first", is_flag=True, help="Apply missing migrations before serving.")
def serve(host: str | None, port: int | None, uds: str | None, workers: int, migrate_first: bool) -> None:
    """Serve the HTTP API until SIGTERM or Ctrl-C; requests under way are finished.

    A new database is set up. One that is not ready (of an older or newer version, damaged, read-only) is refused at
    once, with what to do about it. One worker is enough for most hosts.

    \b
    Example:
      powercontext-sidecar serve --port 8080
    """
    settings = settings_of_environment(http_host=host, http_port=port, http_uds=uds)
    check_bind(settings)
    make_default_folder(settings)
    asyncio.run(_require_servable(settings, migrate_first=migrate_first))
    _serve(settings, workers, f"serving on {_where(settings)}, access {settings.effective_access_mode}; Ctrl-C stops")


@click.command()
def demo() -> None:
    """Serve a sample project memory from ./data on 127.0.0.1:8000, with requests to paste.

    The first start makes ./data, migrates the database and imports the sample; later ones find it there. A database
    that holds Scopes already is served as it is. Settings count too: for another port,
    POWERCONTEXT_SERVER_HTTP_PORT=8080.
    """
    settings = settings_of_environment()
    check_bind(settings)
    _require_free_port(settings)
    make_default_folder(settings)
    asyncio.run(_introduce(settings))
    _serve(settings, 1, f"\nServing on {_where(settings)}, all operations under /docs. Ctrl-C stops.")


async def _introduce(settings: Settings) -> None:
    """Make the demo's database ready and say what is in it. Repeating changes nothing."""
    async with opened_storage(settings) as storage:
        applied = await storage.migrate()
    click.echo(f"database: {without_secrets(settings.database_url)}, {len(applied)} migration(s) applied")
    async with opened_runtime(settings) as runtime:
        stored = await import_sample(runtime)
        click.echo(f"sample: {stored} lines imported" if stored else "sample: not imported, the database has Scopes")
        if await has_sample(runtime):
            await show_sample(
                runtime,
                click.echo,
                base_url=_base_url(settings),
                unix_socket=settings.http_uds,
                with_token=settings.effective_access_mode == "enforced",
            )


def _where(settings: Settings) -> str:
    """Where the server is reached, for a person."""
    return f"the Unix socket {settings.http_uds}" if settings.http_uds else _base_url(settings)


def _base_url(settings: Settings) -> str:
    if settings.http_uds:
        return "http://localhost"
    host = f"[{settings.http_host}]" if ":" in settings.http_host else settings.http_host
    return f"http://{host}:{settings.http_port}"


async def _require_servable(settings: Settings, *, migrate_first: bool) -> None:
    """Raises RuntimeNotReady unless the database can be read and written by this version."""
    async with opened_storage(settings) as storage:
        if migrate_first or await storage.is_new():
            for migration in await storage.migrate():
                click.echo(f"applied {migration.version:04} {migration.name}")
        await storage.check()
        await storage.health.probe_write()


def _require_free_port(settings: Settings) -> None:
    """Before anything is said about a server that could not start. Raises CommandFailed."""
    if settings.http_uds:
        return
    with socket.socket(socket.AF_INET6 if ":" in settings.http_host else socket.AF_INET) as probe:
        probe.settimeout(1)
        if probe.connect_ex((settings.http_host, settings.http_port)) == 0:
            raise CommandFailed(
                f"port {settings.http_port} of {settings.http_host} is taken; stop the other server,"
                f" or set another port: {variable_of('http_port')}=8080"
            )


def _serve(settings: Settings, workers: int, announcement: str) -> None:
    """Say that the address is taken and serve until SIGTERM or Ctrl-C, both of which end with exit code 0."""
    # Uvicorn raises the signal that stopped it once more after its shutdown; left to its default, SIGTERM would then
    # kill the process before the Unix socket is removed.
    signal.signal(signal.SIGTERM, _leave)
    try:
        serve_http(settings, workers, bound=lambda: click.echo(announcement))
    except KeyboardInterrupt:
        return
    except BindError as error:
        raise CommandFailed(str(error)) from error


def _leave(signum: int, frame: FrameType | None) -> None:
    raise SystemExit(0)
