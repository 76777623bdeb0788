"""Servers as child processes: started, waited for, measured through /proc, ended."""

import http.client
import os
import signal
import socket
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import msgspec

POLL_S = 0.002
STOP_S = 15.0
_TICKS_PER_S = os.sysconf("SC_CLK_TCK")
_KIB_PER_MIB = 1024


class StartError(Exception):
    """A server that did not begin to serve; the message ends with what it wrote."""


class Usage(msgspec.Struct, frozen=True):
    """What a process and its children have taken so far."""

    cpu_s: float
    rss_mib: float


class Server:
    """One running server. `ready_s` is the time from starting its process to its first 200."""

    def __init__(self, name: str, port: int, process: subprocess.Popen[bytes], ready_s: float) -> None:
        self.name = name
        self.port = port
        self.ready_s = ready_s
        self._process = process

    def usage(self) -> Usage:
        """CPU seconds and resident MiB of the whole tree. Memory that workers share is counted for each."""
        cpu_s = rss_kib = 0.0
        for pid in _tree(self._process.pid):
            try:
                fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
                status = Path(f"/proc/{pid}/status").read_text()
            except OSError:
                continue  # it has ended meanwhile
            cpu_s += (int(fields[11]) + int(fields[12])) / _TICKS_PER_S
            rss_kib += sum(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmRSS:"))
        return Usage(cpu_s, rss_kib / _KIB_PER_MIB)


@contextmanager
def running(
    name: str,
    command: Sequence[str],
    *,
    port: int,
    ready_path: str,
    environment: Mapping[str, str],
    log: Path,
    deadline_s: float = 30.0,
) -> Iterator[Server]:
    """The server that `command` starts, once `ready_path` answers 200. What it writes goes to the file `log`.

    Raises StartError when it ends or the deadline passes before that.
    """
    with log.open("wb") as output:
        started = time.perf_counter()
        process = subprocess.Popen(
            command, env={**_own_environment(), **environment}, stdout=output, stderr=output, start_new_session=True
        )
        try:
            _wait(process, port, ready_path, started + deadline_s, log)
            yield Server(name, port, process, time.perf_counter() - started)
        finally:
            _stop(process)


def free_port() -> int:
    """A TCP port of 127.0.0.1 on which nobody listens."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def _own_environment() -> dict[str, str]:
    """Without what a developer has set for Python and for servers of the same family."""
    return {name: value for name, value in os.environ.items() if not name.startswith(("POWERCONTEXT_", "PYTHON"))}


def _wait(process: subprocess.Popen[bytes], port: int, path: str, until: float, log: Path) -> None:
    while time.perf_counter() < until:
        if process.poll() is not None:
            raise StartError(f"the server ended with {process.returncode}: {_end_of(log)}")
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
        try:
            connection.request("GET", path)
            if connection.getresponse().status == http.HTTPStatus.OK:
                return
        except (OSError, http.client.HTTPException):
            pass  # it does not listen yet
        finally:
            connection.close()
        time.sleep(POLL_S)
    raise StartError(f"the server did not answer in time: {_end_of(log)}")


def _end_of(log: Path) -> str:
    return log.read_bytes()[-2000:].decode(errors="replace")


def _stop(process: subprocess.Popen[bytes]) -> None:
    if process.poll() is None:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(STOP_S)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)  # its own session, so this reaches its workers and nobody else
    process.wait()


def _tree(root: int) -> list[int]:
    found, todo = [], [root]
    while todo:
        pid = todo.pop()
        found.append(pid)
        for children in Path(f"/proc/{pid}/task").glob("*/children"):
            try:
                todo += map(int, children.read_text().split())
            except OSError:
                continue  # the thread has ended meanwhile
    return found
