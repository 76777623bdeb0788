"""How these tests run the program: in the process where its output is all that counts, else as a process of its own."""

import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import httpx
import pytest
from click.testing import CliRunner, Result

from service.cli import main

Run = Callable[..., Result]
Spawn = Callable[..., "subprocess.CompletedProcess[str]"]
Start = Callable[..., tuple["subprocess.Popen[str]", httpx.Client]]

PROGRAM = [sys.executable, "-W", "error", "-c", "from service.cli import main; main(prog_name='powercontext-sidecar')"]
ROOT = Path(__file__).parents[2]


def environment(**settings: str) -> dict[str, str]:
    """That of a process of its own."""
    named = {f"POWERCONTEXT_SERVER_{name.upper()}": value for name, value in settings.items()}
    return {**os.environ, "PYTHONPATH": str(ROOT), **named}


@pytest.fixture
def database(tmp_path: Path) -> Path:
    return tmp_path / "context.db"


@pytest.fixture
def run(database: Path) -> Run:
    """Run a command on the test's database: `run("scope", "list", input=…, auth_token=…)`."""

    def run_command(*arguments: str, input: bytes | str | None = None, **settings: str) -> Result:
        variables = {f"POWERCONTEXT_SERVER_{name.upper()}": value for name, value in settings.items()}
        url = {"POWERCONTEXT_SERVER_DATABASE_URL": f"sqlite:///{database}"}
        # An exception other than an exit is a defect of the program: it must reach the test.
        return CliRunner(env=url | variables).invoke(main, arguments, input=input, catch_exceptions=False)

    return run_command


@pytest.fixture
def demo_scope(run: Run) -> str:
    """A migrated database with one empty Scope; its id."""
    assert run("migrate").exit_code == 0
    assert run("scope", "create", "project:demo", "--title", "Demo", "--summary", "A demo").exit_code == 0
    return "project:demo"


@pytest.fixture
def spawn(database: Path, tmp_path: Path) -> Spawn:
    """Run a command as a process of its own, in an empty folder, for at most 20 seconds."""

    def run_process(
        *arguments: str, prefix: Sequence[str] = (), database: Path = database, **settings: str
    ) -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            [*prefix, *PROGRAM, *arguments],
            cwd=tmp_path,
            env=environment(**{"database_url": f"sqlite:///{database}"} | settings),
            capture_output=True,
            text=True,
            timeout=20,
            check=False,
        )

    return run_process


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Start a command that serves, in the test's folder; the process, and a client once the server answers.

    `uds` is the Unix socket to connect to, in place of the port.
    """
    processes: list[subprocess.Popen[str]] = []
    clients: list[httpx.Client] = []

    def start_server(
        *arguments: str, uds: str | None = None, **settings: str
    ) -> tuple["subprocess.Popen[str]", httpx.Client]:
        port = settings.setdefault("http_port", str(free_port()))
        process = subprocess.Popen(
            [*PROGRAM, *arguments],
            cwd=tmp_path,
            env=environment(**settings),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        processes.append(process)
        transport = None if uds is None else httpx.HTTPTransport(uds=str(tmp_path / uds))
        client = httpx.Client(base_url=f"http://127.0.0.1:{port}", transport=transport, timeout=20)
        clients.append(client)
        address = ("127.0.0.1", int(port)) if uds is None else str(tmp_path / uds)
        deadline = time.monotonic() + 20
        while not listens(address):
            if process.poll() is not None or time.monotonic() > deadline:
                process.kill()
                raise AssertionError(f"the server did not start: {process.communicate()}")
            time.sleep(0.05)
        assert client.get("/health/live").status_code == 200
        return process, client

    yield start_server
    for client in clients:
        client.close()
    for process in processes:
        process.kill()
        process.communicate()


def listens(address: tuple[str, int] | str) -> bool:
    """Whether a connection is taken at a port or a Unix socket."""
    with socket.socket(socket.AF_UNIX if isinstance(address, str) else socket.AF_INET) as probe:
        return probe.connect_ex(address) == 0


def free_port() -> int:
    """A port that nothing listens on now."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port: int = listener.getsockname()[1]
        return port
