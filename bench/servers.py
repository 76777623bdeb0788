"""The servers of this project that are measured: the sidecar as its real program, and the floor."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from bench.processes import Server, free_port, running

SIDECAR, SIDECAR_2, FLOOR, PEER = "sidecar", "sidecar, 2 workers", "floor", "peer"
READY_PATH = "/health/ready"


@contextmanager
def running_sidecar(database: Path, log: Path, *, workers: int = 1) -> Iterator[Server]:
    """`powercontext-sidecar serve` on the SQLite file `database`, which it sets up when it is new."""
    port = free_port()
    program = Path(sys.executable).with_name("powercontext-sidecar")
    with running(
        SIDECAR if workers == 1 else f"sidecar, {workers} workers",
        [str(program), "serve", "--port", str(port), "--workers", str(workers)],
        port=port,
        ready_path=READY_PATH,
        environment={"POWERCONTEXT_SERVER_DATABASE_URL": f"sqlite:///{database}"},
        log=log,
    ) as server:
        yield server


@contextmanager
def running_floor(log: Path) -> Iterator[Server]:
    """The bare handler."""
    port = free_port()
    command = [sys.executable, "-m", "bench.floor", str(port)]
    with running(FLOOR, command, port=port, ready_path=READY_PATH, environment={}, log=log) as server:
        yield server
