"""The real program, serving one SQLite file on a Unix socket."""

import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import httpx

from tests.http_contract.api import Api

ROOT = Path(__file__).parents[2]
PROGRAM = [sys.executable, "-W", "error", "-c", "from service.cli import main; main(prog_name='powercontext-sidecar')"]
ADMIN_TOKEN = "admin-token-of-the-tests"


class Sidecar:
    """One process. Several may share a database; each has its own socket and its own log."""

    def __init__(self, folder: Path, database: Path, name: str = "s", **settings: str) -> None:
        self.database = database
        self._socket = folder / name
        self._log = folder / f"{name}.log"
        self._settings = {"DATABASE_URL": f"sqlite:///{database}", "HTTP_UDS": str(self._socket), **settings}
        self._clients: list[httpx.Client] = []
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> "Sidecar":
        """Returns once it answers."""
        self._socket.unlink(missing_ok=True)
        with self._log.open("ab") as log:
            self.process = subprocess.Popen(
                [*PROGRAM, "serve", "--migrate"], env=self._environment(), stdout=log, stderr=log, cwd=self._log.parent
            )
        deadline = time.monotonic() + 30
        while not self._listens():
            assert self.process.poll() is None, self.log()
            assert time.monotonic() < deadline, f"the server did not begin to serve: {self.log()}"
            time.sleep(0.02)
        assert self.http().get("/health/live").status_code == 200
        return self

    def run(self, *arguments: str) -> str:
        """What a command of the program prints, run on the same database."""
        done = subprocess.run(
            [*PROGRAM, *arguments], env=self._environment(), capture_output=True, text=True, timeout=30, check=True
        )
        return done.stdout

    def http(self, timeout_s: float = 30) -> httpx.Client:
        """A client of its own, closed with the process."""
        client = httpx.Client(
            transport=httpx.HTTPTransport(uds=str(self._socket), limits=httpx.Limits(max_connections=64)),
            base_url="http://sidecar",
            timeout=timeout_s,
            trust_env=False,
        )
        self._clients.append(client)
        return client

    def api(self, token: str | None = None) -> Api:
        """The operations as the holder of `token` sees them."""
        return Api(self.http(), token)

    def connection(self) -> socket.socket:
        """A bare connection, for what an HTTP client would not do."""
        connection = socket.socket(socket.AF_UNIX)
        connection.settimeout(20)
        connection.connect(str(self._socket))
        return connection

    def log(self) -> str:
        return self._log.read_text(encoding="utf-8", errors="replace")

    def stop(self, how: signal.Signals = signal.SIGTERM) -> int:
        """End the process; its exit status."""
        assert self.process is not None
        self.process.send_signal(how)
        return self.process.wait(30)

    def close(self) -> None:
        """Whatever the test left: no process and no connection."""
        for client in self._clients:
            client.close()
        if self.process is not None and self.process.poll() is None:
            self.process.kill()
            self.process.wait(10)

    def _listens(self) -> bool:
        with socket.socket(socket.AF_UNIX) as probe:
            return probe.connect_ex(str(self._socket)) == 0

    def _environment(self) -> dict[str, str]:
        named = {f"POWERCONTEXT_SERVER_{name}": value for name, value in self._settings.items()}
        return {**os.environ, "PYTHONPATH": str(ROOT), **named}
