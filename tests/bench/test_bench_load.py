"""The load generator counts what it was told to send, and takes no wrong answer for a right one."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import pytest

from bench.figures import median, percentile
from bench.load import Answer, AnswerReader, Job, Measured, run
from bench.modes import DEFAULT_MODE, EMPTY_MODE, Mode, fault_of

TEXT = "x" * 500
READY = json.dumps({"schema": "s", "status": "ready", "content": TEXT, "content_bytes": 500}).encode()
EMPTY = json.dumps({"schema": "s", "status": "empty", "content": None, "content_bytes": 0}).encode()


def answered(body: bytes, status: int = 200) -> bytes:
    return f"HTTP/1.1 {status} X\r\ncontent-length: {len(body)}\r\n\r\n".encode() + body


@asynccontextmanager
async def serving(answer: Callable[[bytes], bytes]) -> AsyncIterator[int]:
    """A server that answers each request by its body; the port."""

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                length = int(head.rpartition(b"Content-Length: ")[2])
                writer.write(answer(await reader.readexactly(length)))
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()

    server = await asyncio.start_server(talk, "127.0.0.1", 0)
    async with server:
        yield server.sockets[0].getsockname()[1]


async def measured(answer: Callable[[bytes], bytes], *, connections: int = 1, seconds: float = 0.05) -> Measured:
    async with serving(answer) as port:
        bodies = [b"first", b"second"]
        return await run(Job(port=port, path="/", bodies=bodies, connections=connections, seconds=seconds))


async def test_bodies_are_sent_in_turn_over_every_connection() -> None:
    seen: list[bytes] = []

    def answer(body: bytes) -> bytes:
        seen.append(body)
        return answered(READY)

    found = await measured(answer, connections=3)
    assert found.faults == []
    assert found.requests == len(seen) >= 3
    assert abs(seen.count(b"first") - seen.count(b"second")) <= 1
    assert found.answer_bytes == len(READY)


async def test_every_connection_is_answered_once_even_when_the_time_is_over_before() -> None:
    found = await measured(lambda _: answered(READY), connections=4, seconds=0)
    assert (found.requests, found.faults) == (4, [])


async def test_a_status_that_is_not_200_is_a_fault_whenever_it_comes() -> None:
    answers = iter([200, 200, 503])
    found = await measured(lambda _: answered(READY, next(answers, 200)))
    assert len(found.faults) == 1
    assert "503" in found.faults[0]


async def test_a_connection_that_the_server_closes_is_a_fault() -> None:
    async with serving(lambda _: b"HTTP/1.1 200 X\r\n\r\n") as port:
        found = await run(Job(port=port, path="/", bodies=[b"x"], connections=1, seconds=0.05))
    assert len(found.faults) == 1


@pytest.mark.parametrize("step", [1, 7, 10_000], ids=lambda step: f"by-{step}")
@pytest.mark.parametrize(
    "sent",
    [answered(READY), b"HTTP/1.1 200 X\r\ntransfer-encoding: chunked\r\n\r\n5\r\nab\r\nc\r\n2\r\n0\r\r\n0\r\n\r\n"],
    ids=["with-length", "chunked"],
)
def test_answers_are_cut_at_their_end_however_they_arrive(sent: bytes, step: int) -> None:
    reader = AnswerReader()
    body = READY if sent.endswith(READY) else b"ab\r\nc0\r"
    for _ in range(2):
        pieces = [sent[at : at + step] for at in range(0, len(sent), step)]
        found = [reader.feed(piece) for piece in pieces]
        assert found == [*[None] * (len(pieces) - 1), Answer(200, body)]


@pytest.mark.parametrize(
    ("mode", "status", "body"),
    [
        (DEFAULT_MODE, 503, READY),
        (DEFAULT_MODE, 200, b"not JSON"),
        (DEFAULT_MODE, 200, b"[]"),
        (DEFAULT_MODE, 200, EMPTY),
        (DEFAULT_MODE, 200, READY.replace(b"500", b"499")),
        (DEFAULT_MODE, 200, READY.replace(TEXT.encode(), b"x" * 399).replace(b"500", b"399")),
        (EMPTY_MODE, 200, READY),
    ],
    ids=["status", "no-json", "no-object", "empty", "wrong-count", "too-short", "not-empty"],
)
def test_an_answer_that_is_not_plausible_has_a_fault(mode: Mode, status: int, body: bytes) -> None:
    assert fault_of(mode.is_empty, status, body) is not None


def test_plausible_answers_have_no_fault() -> None:
    assert fault_of(DEFAULT_MODE.is_empty, 200, READY) is None
    assert fault_of(EMPTY_MODE.is_empty, 200, EMPTY) is None


def test_percentiles_are_samples_by_nearest_rank() -> None:
    ordered = [float(value) for value in range(1, 101)]
    assert [percentile(ordered, share) for share in (0.5, 0.95, 0.99, 1)] == [50, 95, 99, 100]
    assert percentile([7.0], 0.5) == 7


def test_the_median_of_an_even_number_is_the_mean_of_the_middle_two() -> None:
    assert (median([3, 1, 2]), median([4, 1, 3, 2])) == (2, 2.5)
