"""A sidecar of this repository as a process of its own."""

import contextlib
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from powercontext_client import ContextClient, ContextClientError, TransportError

ROOT = Path(__file__).resolve().parents[2]
# The client's own environments (make client-test) hold no server.
PYTHON = os.environ.get("POWERCONTEXT_SIDECAR_PYTHON") or sys.executable
START_TIMEOUT_S = 60
ENDED = "the sidecar ended; see sidecar.log"


@contextlib.contextmanager
def running_sidecar(folder: Path, *, command: Sequence[str] = ("serve", "--migrate"), **settings: str) -> Iterator[str]:
    """The base URL of an empty sidecar on a free port, its database and log in `folder`.

    command: what starts it; with `demo` it holds the sample, as it does with `make run`.
    settings: names without POWERCONTEXT_SERVER_ and their values. With HTTP_UDS it listens there instead.
    """
    with socket.socket() as reserved:
        reserved.bind(("127.0.0.1", 0))
        port = reserved.getsockname()[1]
    wanted = {"DATABASE_URL": f"sqlite:///{folder}/sidecar.db", "HTTP_PORT": str(port), **settings}
    environment = {**os.environ, **{f"POWERCONTEXT_SERVER_{name}": value for name, value in wanted.items()}}
    program = [PYTHON, "-c", "from service.cli import main; main()", *command]
    with (folder / "sidecar.log").open("wb") as log:
        process = subprocess.Popen(program, cwd=ROOT, env=environment, stdout=log, stderr=subprocess.STDOUT)
        try:
            url, uds = f"http://127.0.0.1:{port}", settings.get("HTTP_UDS")
            # httpcore leaves a socket to the garbage collector, with a warning, when it finds none at the path.
            while uds is not None and not Path(uds).exists():
                assert process.poll() is None, ENDED
                time.sleep(0.05)
            with ContextClient(url, unix_socket=uds) as client:
                _wait_until_it_answers(process, client)
            yield url
        finally:
            process.terminate()
            process.wait(30)


def _wait_until_it_answers(process: "subprocess.Popen[bytes]", client: ContextClient) -> None:
    deadline = time.monotonic() + START_TIMEOUT_S
    while True:
        try:
            client.get_capabilities()
        except TransportError:
            assert process.poll() is None, ENDED
            assert time.monotonic() < deadline, "the sidecar did not start; see sidecar.log"
            time.sleep(0.05)
        except ContextClientError:
            return  # it answers, if only that a token is needed
        else:
            return
