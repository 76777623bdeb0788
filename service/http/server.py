"""Runs the application under uvicorn: one process, or several that share one socket."""

import os
import socket
import stat
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import uvicorn
from uvicorn.supervisors import Multiprocess

from service.http.protocol import SidecarProtocol
from service.settings import Settings, check_bind
from service.telemetry import configure_logging

KEEP_ALIVE_S = 30
BACKLOG = 2048


class BindError(Exception):
    """The address cannot be listened on; the message says why and what to do."""


def serve(settings: Settings, workers: int = 1, *, bound: Callable[[], None] | None = None) -> None:
    """Serve until SIGTERM or SIGINT; requests under way are finished within the shutdown timeout.

    `bound` is called once the address is taken, before the first request is answered.
    Raises SettingsError for an address that access control forbids, BindError for one that cannot be had.
    """
    configure_logging(settings.log_level)
    check_bind(settings)
    listener = _bind(settings)
    if bound is not None:
        bound()
    config = uvicorn.Config(
        "service.app:from_environment",
        factory=True,
        loop="uvloop",
        http=SidecarProtocol,
        ws="none",
        lifespan="on",
        log_level="warning",
        log_config=None,  # ours stays in place
        access_log=False,
        server_header=False,
        proxy_headers=False,  # no answer and no log line says where a request came from
        workers=workers,
        timeout_keep_alive=KEEP_ALIVE_S,
        timeout_graceful_shutdown=settings.http_shutdown_timeout_seconds,
        reset_contextvars=True,
    )
    try:
        if workers > 1:
            Multiprocess(config, [listener]).run()
        else:
            uvicorn.Server(config).run(sockets=[listener])
    finally:
        listener.close()
        if settings.http_uds is not None:
            Path(settings.http_uds).unlink(missing_ok=True)


def _bind(settings: Settings) -> socket.socket:
    return _bind_unix(settings.http_uds) if settings.http_uds is not None else _bind_tcp(settings)


def _bind_tcp(settings: Settings) -> socket.socket:
    family = socket.AF_INET6 if ":" in settings.http_host else socket.AF_INET
    listener = socket.socket(family)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((settings.http_host, settings.http_port))
        listener.listen(BACKLOG)
    except OSError as error:
        listener.close()
        raise BindError(
            f"cannot listen on {settings.http_host} port {settings.http_port}: {os.strerror(error.errno or 0)};"
            " choose another port or stop what uses it"
        ) from error
    listener.set_inheritable(True)
    return listener


def _bind_unix(path: str) -> socket.socket:
    """A socket that its owner and group may connect to. A socket that nobody serves any more is replaced."""
    with suppress(FileNotFoundError):
        if not stat.S_ISSOCK(Path(path).stat().st_mode):
            raise BindError(f"cannot listen on {path}: a file that is no socket is there")
        if _is_served(path):
            raise BindError(f"cannot listen on {path}: another process serves it")
        Path(path).unlink()
    listener = socket.socket(socket.AF_UNIX)
    before = os.umask(0o117)
    try:
        listener.bind(path)
        listener.listen(BACKLOG)
    except OSError as error:
        listener.close()
        raise BindError(f"cannot listen on {path}: {os.strerror(error.errno or 0)}") from error
    finally:
        os.umask(before)
    listener.set_inheritable(True)
    return listener


def _is_served(path: str) -> bool:
    with socket.socket(socket.AF_UNIX) as probe:
        try:
            probe.connect(path)
        except OSError:
            return False
        return True
