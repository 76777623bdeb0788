"""The program as a process of its own, as deployments run it."""

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Final, NamedTuple, TypeAlias

import pytest

ROOT: Final = Path(__file__).parents[2]
PROGRAM: Final = [sys.executable, "-c", "from service.cli import main; main(prog_name='powercontext-sidecar')"]
TOKEN: Final = 'a"token\\of-tests'


class Sidecar(NamedTuple):
    """A server that answers."""

    address: str
    port: int
    process: "subprocess.Popen[bytes]"

    def kill(self) -> None:
        """End it as a crash would."""
        self.process.send_signal(signal.SIGKILL)
        self.process.wait(10)


Serve: TypeAlias = Callable[..., AbstractContextManager[Sidecar]]


def environment(database: Path, **settings: str) -> dict[str, str]:
    """That of a process that works on `database`."""
    named = {f"POWERCONTEXT_SERVER_{name.upper()}": value for name, value in settings.items()}
    url = {"POWERCONTEXT_SERVER_DATABASE_URL": f"sqlite:///{database}", "PYTHONPATH": str(ROOT)}
    return {**os.environ, **url, **named}


@contextmanager
def serving(database: Path, **settings: str) -> Iterator[Sidecar]:
    """`serve --migrate` until the end of the block."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port: int = listener.getsockname()[1]
    with (database.parent / "sidecar.log").open("ab") as log:
        process = subprocess.Popen(
            [*PROGRAM, "serve", "--migrate"],
            env=environment(database, http_port=str(port), **settings),
            stdout=log,
            stderr=log,
        )
    try:
        _wait_for(process, port)
        yield Sidecar(f"http://127.0.0.1:{port}", port, process)
    finally:
        process.terminate()
        process.wait(20)


@pytest.fixture(scope="session")
def closed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sidecar]:
    """A server that wants a token; one for all tests, so they leave it as it was."""
    with serving(tmp_path_factory.mktemp("closed") / "context.db", auth_token=TOKEN) as sidecar:
        yield sidecar


def _wait_for(process: "subprocess.Popen[bytes]", port: int) -> None:
    give_up = time.monotonic() + 30
    while process.poll() is None and time.monotonic() < give_up:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.05)
    raise AssertionError(f"the server did not start, exit code {process.poll()}")
