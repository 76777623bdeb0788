"""The load generator: a closed loop over keep-alive connections, in a process of its own.

    python -m bench.load

reads one job as a line of JSON from stdin, and writes its result as one line to stdout, until stdin ends. Each
connection sends its next request when the answer to the last is complete; when the time is over it finishes that one,
so a slow server is left without a backlog. Every answer's status is read; one answer of each connection is checked as a
whole.
"""

import asyncio
import re
import subprocess
import sys
import time
from types import TracebackType
from typing import Any, NamedTuple

import msgspec
import uvloop

from bench.figures import percentile
from bench.modes import fault_of

_LENGTH = re.compile(rb"\r\ncontent-length: *(\d+)", re.IGNORECASE)
_CHUNKED = re.compile(rb"\r\ntransfer-encoding: *chunked", re.IGNORECASE)
ANSWER_TIMEOUT_S = 60.0


class Job(msgspec.Struct, frozen=True, kw_only=True):
    """What to send where: `bodies` in turn, over `connections`, for `seconds`."""

    port: int
    path: str
    bodies: list[bytes]
    connections: int
    seconds: float
    expects_empty: bool = False
    checks_answers: bool = True


class Measured(msgspec.Struct, frozen=True, kw_only=True):
    """One run. Times in milliseconds; `faults` are the first wrong answers, none in a run that counts."""

    requests: int
    requests_per_s: float
    p50_ms: float
    p95_ms: float
    p99_ms: float
    answer_bytes: float
    faults: list[str]


class Answer(NamedTuple):
    status: int
    body: bytes


class AnswerReader:
    """Cuts the bytes of one connection into answers; at most one is under way."""

    def __init__(self) -> None:
        self._buffer = bytearray()
        self._head_end = 0
        self._length: int | None = None

    def feed(self, data: bytes) -> Answer | None:
        """The answer that `data` completes, if it does."""
        buffer = self._buffer
        buffer += data
        if not self._head_end:
            self._head_end = buffer.find(b"\r\n\r\n") + 4
            if self._head_end == 3:
                self._head_end = 0
                return None
            found = _LENGTH.search(buffer, 0, self._head_end)
            self._length = int(found[1]) if found else None
        if self._length is None:
            return self._chunked()
        if len(buffer) < self._head_end + self._length:
            return None
        return self._taken(bytes(buffer[self._head_end :]))

    def _chunked(self) -> Answer | None:
        if not _CHUNKED.search(self._buffer, 0, self._head_end):
            raise ValueError("an answer with neither a length nor chunks")
        if not self._buffer.endswith(b"0\r\n\r\n"):
            return None
        body, at = b"", self._head_end
        while True:
            line_end = self._buffer.find(b"\r\n", at)
            if line_end < 0:
                return None
            size = int(self._buffer[at:line_end], 16)
            if size == 0:
                return self._taken(body)
            at = line_end + 2 + size + 2
            if at > len(self._buffer):
                return None
            body += self._buffer[line_end + 2 : at - 2]

    def _taken(self, body: bytes) -> Answer:
        answer = Answer(int(self._buffer[9:12]), body)
        self._buffer.clear()
        self._head_end = 0
        return answer


class _Connection(asyncio.Protocol):
    def __init__(self, run: "_Run") -> None:
        self._run = run
        self._reader = AnswerReader()
        self._sent_at = 0.0
        self._checked = False
        self.done: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def connection_made(self, transport: Any) -> None:
        self._transport = transport
        self._send()

    def _send(self) -> None:
        request = self._run.next_request()
        if request is None:
            self._finish()
            return
        self._sent_at = time.perf_counter()
        self._transport.write(request)

    def data_received(self, data: bytes) -> None:
        try:
            answer = self._reader.feed(data)
        except ValueError as error:
            self._run.faults.append(str(error))
            self._finish()
            return
        if answer is None:
            return
        self._run.took(time.perf_counter() - self._sent_at, answer, whole=not self._checked)
        self._checked = True
        self._send()

    def _finish(self) -> None:
        if not self.done.done():
            self.done.set_result(None)
        self._transport.close()

    def connection_lost(self, exc: Exception | None) -> None:
        if not self.done.done():
            self._run.faults.append("the server closed the connection")
            self.done.set_result(None)


class _Run:
    """The state that the connections of one job share."""

    def __init__(self, job: Job) -> None:
        self._job = job
        head = f"POST {job.path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: "
        self._requests = [f"{head}{len(body)}\r\n\r\n".encode() + body for body in job.bodies]
        self._next = 0
        self._until = time.perf_counter() + job.seconds
        self.latencies: list[float] = []
        self.answer_bytes = 0
        self.faults: list[str] = []

    def next_request(self) -> bytes | None:
        """None when the time is over, or too much is wrong; each connection gets one request at least."""
        if (self._next >= self._job.connections and time.perf_counter() >= self._until) or len(self.faults) > 10:
            return None
        self._next += 1
        return self._requests[(self._next - 1) % len(self._requests)]

    def took(self, seconds: float, answer: Answer, *, whole: bool) -> None:
        self.latencies.append(seconds)
        self.answer_bytes += len(answer.body)
        fault = None
        if self._job.checks_answers and (whole or answer.status != 200):
            fault = fault_of(self._job.expects_empty, answer.status, answer.body)
        elif answer.status != 200:
            fault = f"status {answer.status}: {answer.body[:300]!r}"
        if fault is not None:
            self.faults.append(fault)


async def run(job: Job) -> Measured:
    """Run one job in this process."""
    state = _Run(job)
    loop = asyncio.get_running_loop()
    started = time.perf_counter()
    opened = [
        await loop.create_connection(lambda: _Connection(state), "127.0.0.1", job.port) for _ in range(job.connections)
    ]
    _, late = await asyncio.wait([each.done for _, each in opened], timeout=job.seconds + ANSWER_TIMEOUT_S)
    seconds = time.perf_counter() - started
    if late:
        state.faults.append(f"{len(late)} connections got no answer within {ANSWER_TIMEOUT_S:.0f} s")
    found = sorted(state.latencies) or [0.0]
    return Measured(
        requests=len(state.latencies),
        requests_per_s=len(state.latencies) / seconds,
        p50_ms=percentile(found, 0.50) * 1000,
        p95_ms=percentile(found, 0.95) * 1000,
        p99_ms=percentile(found, 0.99) * 1000,
        answer_bytes=state.answer_bytes / len(found),
        faults=state.faults[:10],
    )


class Generator:
    """The load generator as a child process, ready for one job after the other."""

    def __enter__(self) -> "Generator":
        self._process = subprocess.Popen(
            [sys.executable, "-m", "bench.load"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._process.kill()
        self._process.communicate()

    def measure(self, job: Job) -> Measured:
        """Raises RuntimeError when the generator itself ended."""
        stdin, stdout = self._process.stdin, self._process.stdout
        assert stdin is not None
        assert stdout is not None
        stdin.write(msgspec.json.encode(job).decode() + "\n")
        stdin.flush()
        line = stdout.readline()
        if not line:
            raise RuntimeError("the load generator ended; its message is above")
        return msgspec.json.decode(line, type=Measured)


def _serve() -> None:
    for line in sys.stdin:
        job = msgspec.json.decode(line, type=Job)
        measured = uvloop.run(run(job))
        sys.stdout.write(msgspec.json.encode(measured).decode() + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    _serve()
