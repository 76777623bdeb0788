"""The servers of this project that are measured: the sidecar as its real program, and the floor."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from bench.environments import ROOT
from bench.processes import Server, free_port, running

SIDECAR, SIDECAR_2, FLOOR, PEER = "sidecar", "sidecar, 2 workers", "floor", "peer"
READY_PATH = "/health/ready"
PROGRAM = "from service.cli import main; main(prog_name='powercontext-sidecar')"
"""What the installed script does; the environment that is measured holds the requirements, not the project."""


@contextmanager
def running_sidecar(database: Path, log: Path, *, workers: int = 1, python: str = sys.executable) -> Iterator[Server]:
    """`powercontext-sidecar serve` on the SQLite file `database`, which it sets up when it is new."""
    port = free_port()
    with running(
        SIDECAR if workers == 1 else f"sidecar, {workers} workers",
        [python, "-c", PROGRAM, "serve", "--port", str(port), "--workers", str(workers)],
        port=port,
        ready_path=READY_PATH,
        environment={"PYTHONPATH": str(ROOT), "POWERCONTEXT_SERVER_DATABASE_URL": f"sqlite:///{database}"},
        log=log,
    ) as server:
        yield server


@contextmanager
def running_floor(log: Path, *, python: str = sys.executable) -> Iterator[Server]:
    """The bare handler."""
    port = free_port()
    command = [python, "-m", "bench.floor", str(port)]
    environment = {"PYTHONPATH": str(ROOT)}
    with running(FLOOR, command, port=port, ready_path=READY_PATH, environment=environment, log=log) as server:
        yield server
