"""The peer: the published `powercontext` server, in an environment of its own, spoken to over HTTP only."""

import os
import subprocess
import sys
import venv
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from bench.processes import Server, free_port, running

VERSION = "1.4.1"
REQUIREMENT = f"powercontext[builtin,server,cli,client]=={VERSION}"
START_S = 120.0


def installed_peer() -> Path:
    """The environment of the peer, made at the first call; it stays in the user's cache folder."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    folder = cache / "powercontext-sidecar-bench" / f"peer-{VERSION}-py{sys.version_info[0]}.{sys.version_info[1]}"
    done = folder / ".installed"
    if not done.exists():
        venv.create(folder, with_pip=True, clear=True)
        subprocess.run([folder / "bin" / "python", "-m", "pip", "install", "--quiet", REQUIREMENT], check=True)
        done.touch()
    return folder


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
        "peer",
        command,
        port=port,
        ready_path="/health/ready",
        environment=settings,
        log=folder / "peer.log",
        deadline_s=START_S,
    ) as server:
        yield server
