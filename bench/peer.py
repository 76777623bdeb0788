"""The peer: the published `powercontext` server, in an environment of its own, spoken to over HTTP only."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from bench.processes import Server, free_port, running
from bench.servers import PEER, READY_PATH

START_S = 120.0


@contextmanager
def running_peer(environment: Path, folder: Path) -> Iterator[Server]:
    """The peer on an SQLite database in `folder`."""
    home = folder / "peer"
    home.mkdir()
    port = free_port()
    settings = {
        "POWERCONTEXT_SERVER_DATABASE_KIND": "sqlite",
        "POWERCONTEXT_SERVER_DATABASE_URL": f"sqlite+aiosqlite:///{home / 'peer.db'}",
        "POWERCONTEXT_SERVER_HTTP_PORT": str(port),
        "POWERCONTEXT_HOME": str(home),
    }
    command = [str(environment / "bin" / "powercontext"), "server", "run", "--no-env-file"]
    with running(
        PEER,
        command,
        port=port,
        ready_path=READY_PATH,
        environment=settings,
        log=folder / "peer.log",
        deadline_s=START_S,
    ) as server:
        yield server
