"""The peer: the published `powercontext` server, in an environment of its own, spoken to over HTTP only."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from bench.processes import Server, free_port, running
from bench.servers import PEER, READY_PATH

START_S = 120.0


@contextmanager
def running_peer(environment: Path, folder: Path) -> Iterator[Server]:
    """The peer on an SQLite database in `folder`; it serves 0.2.0, 1.0.0 and 1.4.1 alike."""
    home = folder / "peer"
    home.mkdir()
    port = free_port()
    settings = {
        "POWERCONTEXT_SERVER_DATABASE_KIND": "sqlite",
        "POWERCONTEXT_SERVER_DATABASE_URL": f"sqlite+aiosqlite:///{home / 'peer.db'}",
        "POWERCONTEXT_SERVER_HTTP_PORT": str(port),
    }
    # A file, because 0.2.0 cannot be told to leave the .env of the working directory alone in another way, and with
    # a file heeds nothing else.
    file = home / "settings.env"
    file.write_text("".join(f"{name}={value}\n" for name, value in settings.items()))
    command = [str(environment / "bin" / "powercontext"), "server", "run", "--env-file", str(file)]
    with running(
        PEER,
        command,
        port=port,
        ready_path=READY_PATH,
        environment={"POWERCONTEXT_HOME": str(home)},
        log=folder / "peer.log",
        deadline_s=START_S,
    ) as server:
        yield server
