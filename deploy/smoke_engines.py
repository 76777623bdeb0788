"""Runs smoke.sh against a fresh sidecar on each storage engine, without a container; leaves nothing behind.

    python deploy/smoke_engines.py [sqlite] [postgres] [oceanbase]

Exit code 1 when a check failed on any engine.
"""

import os
import secrets
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from tests.engines.servers import OceanBaseServer, PostgresServer  # noqa: E402  # needs the path above

SERVERS = {"postgres": PostgresServer, "oceanbase": OceanBaseServer}
ENGINES = ("sqlite", *SERVERS)
START_WITHIN_S = 60.0
STOP_WITHIN_S = 20.0
PREFIX = "POWERCONTEXT_SERVER_"


@contextmanager
def database(engine: str, folder: Path) -> Iterator[str]:
    """The URL of an empty database that vanishes afterwards."""
    if engine == "sqlite":
        yield f"sqlite:///{folder}/context.db"
        return
    server = SERVERS[engine]()
    try:
        server.start()
        yield server.create_database("smoke")
    finally:
        server.remove()


@contextmanager
def sidecar(database_url: str, token: str, log: Path) -> Iterator[str]:
    """The address of a sidecar that is ready. Raises RuntimeError when it does not start, or does not end in peace."""
    port = _free_port()
    settings = {"DATABASE_URL": database_url, "AUTH_TOKEN": token, "HTTP_PORT": str(port)}
    others = {name: value for name, value in os.environ.items() if not name.startswith(PREFIX)}
    program = [sys.executable, "-c", "from service.cli import main; main()", "serve", "--migrate"]
    with log.open("wb") as output:
        process = subprocess.Popen(  # noqa: S603  # this program
            program,
            cwd=ROOT,
            env=others | {PREFIX + name: value for name, value in settings.items()},
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
        )
        try:
            _wait_until_it_listens(process, port, log)
            yield f"http://127.0.0.1:{port}"
        finally:
            process.terminate()
            code = process.wait(STOP_WITHIN_S)
    if code != 0:
        raise RuntimeError(f"the sidecar ended with exit code {code}; its log ends:\n{_end_of(log)}")


def smoke(engine: str) -> bool:
    """Whether all checks passed on this engine."""
    sys.stdout.write(f"== {engine}\n")
    sys.stdout.flush()
    token = secrets.token_urlsafe(24)
    with tempfile.TemporaryDirectory(prefix="powercontext-smoke-") as folder:
        log = Path(folder) / "sidecar.log"
        with database(engine, Path(folder)) as url, sidecar(url, token, log) as address:
            environment = os.environ | {"POWERCONTEXT_TOKEN": token}
            done = subprocess.run([ROOT / "deploy" / "smoke.sh", address], env=environment, check=False)  # noqa: S603  # a script beside this one
        if done.returncode != 0:
            sys.stdout.write(f"the sidecar's log ends:\n{_end_of(log)}\n")
        return done.returncode == 0


def _end_of(log: Path) -> str:
    return log.read_text(errors="replace")[-4000:]


def _wait_until_it_listens(process: "subprocess.Popen[bytes]", port: int, log: Path) -> None:
    give_up = time.monotonic() + START_WITHIN_S
    while process.poll() is None and time.monotonic() < give_up:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.1)
    raise RuntimeError(f"the sidecar did not start; its log ends:\n{_end_of(log)}")


def _free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port: int = listener.getsockname()[1]
        return port


def main(chosen: list[str]) -> int:
    """The exit code."""
    if unknown := [name for name in chosen if name not in ENGINES]:
        sys.stderr.write(f"not an engine: {', '.join(unknown)}; known are {', '.join(ENGINES)}\n")
        return 2
    results = {engine: smoke(engine) for engine in chosen or ENGINES}
    for engine, passed in results.items():
        sys.stdout.write(f"{engine}: {'passed' if passed else 'FAILED'}\n")
    return 0 if all(results.values()) else 1


def _leave(signum: int, frame: FrameType | None) -> None:
    """As Ctrl-C does, let what was started be ended."""
    sys.exit(128 + signum)


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, _leave)
    sys.exit(main(sys.argv[1:]))
