"""An inference provider on a real socket that answers as it is told: rightly, wrongly, slowly or not at all.

Its embeddings have four dimensions, one for each of the subjects below, by the words that stand in a text; two texts
without a common word are near each other when they share a subject.
"""

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any, TypeAlias

DIMENSION = 4
SUBJECTS = (
    ("car", "automobile", "vehicle"),
    ("ship", "boat", "vessel"),
    ("database", "postgres", "storage"),
)

Body: TypeAlias = bytes
Answer: TypeAlias = Callable[[dict[str, Any]], Any]


def embedding(text: str) -> list[float]:
    """How often each subject is named, and a little of what all texts have in common."""
    words = text.lower().split()
    return [float(sum(words.count(word) for word in subject)) for subject in SUBJECTS] + [0.1]


def embeddings(request: dict[str, Any]) -> dict[str, Any]:
    """What a provider answers that works, its items in no particular order."""
    items = [
        {"object": "embedding", "index": index, "embedding": embedding(text)}
        for index, text in enumerate(request["input"])
    ]
    return {"object": "list", "data": items[::-1], "model": request["model"], "usage": {"total_tokens": 1}}


class Provider:
    """What it answers next, and what it was asked: (path, headers in lower case, body)."""

    def __init__(self, answer: Answer) -> None:
        self.answer = answer
        self.fault: Fault | None = None
        self.asked: list[tuple[str, dict[str, str], dict[str, Any]]] = []
        self.url = ""
        self._server: asyncio.Server | None = None
        self._connections: set[asyncio.Task[None]] = set()

    async def start(self) -> None:
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0)
        self.url = f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}/v1"

    async def stop(self) -> None:
        """From now on connections are refused."""
        if self._server is not None:
            self._server.close()
            self._server = None
        for connection in self._connections:
            connection.cancel()
        await asyncio.gather(*self._connections, return_exceptions=True)

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connection = asyncio.create_task(self._serve(reader, writer))
        self._connections.add(connection)
        connection.add_done_callback(self._connections.discard)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError):
                while await self._answered(reader, writer):
                    pass
        finally:
            writer.transport.abort()

    async def _answered(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        """Whether the connection may serve another request."""
        head = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
        headers = dict(line.lower().split(": ", 1) for line in head[1:] if line)
        request = json.loads(await reader.readexactly(int(headers["content-length"])))
        self.asked.append((head[0].split(" ")[1], headers, request))
        answer = self.answer(request)
        if self.fault is not None:
            await self.fault(writer, answer)
            writer.close()
            await writer.wait_closed()
            return False
        writer.write(response(json.dumps(answer).encode()))
        await writer.drain()
        return True


Fault: TypeAlias = Callable[[asyncio.StreamWriter, Any], Any]


def response(body: Body, status: str = "200 OK", *headers: str, kind: str = "application/json") -> bytes:
    """One HTTP response."""
    lines = [f"HTTP/1.1 {status}", f"Content-Type: {kind}", f"Content-Length: {len(body)}", *headers, "", ""]
    return "\r\n".join(lines).encode() + body


def sends(body: Body, status: str = "200 OK", *headers: str, kind: str = "application/json") -> Fault:
    """Answers with this."""

    async def fault(writer: asyncio.StreamWriter, answer: Any) -> None:
        writer.write(response(body, status, *headers, kind=kind))
        await writer.drain()

    return fault


def changes(change: Callable[[Any], Any]) -> Fault:
    """Answers with what `change` makes of the right answer."""

    async def fault(writer: asyncio.StreamWriter, answer: Any) -> None:
        changed = change(answer)
        writer.write(response(changed if isinstance(changed, bytes) else json.dumps(changed).encode()))
        await writer.drain()

    return fault


async def hangs(writer: asyncio.StreamWriter, answer: Any) -> None:
    """Takes the request and says nothing."""
    await asyncio.sleep(30)


async def drips(writer: asyncio.StreamWriter, answer: Any) -> None:
    """Never pauses long enough for a timeout between two reads."""
    writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 100000\r\n\r\n")
    for _ in range(3000):
        writer.write(b" ")
        await writer.drain()
        await asyncio.sleep(0.01)


async def resets(writer: asyncio.StreamWriter, answer: Any) -> None:
    """Ends the connection without an answer."""
    writer.transport.abort()


async def breaks_off(writer: asyncio.StreamWriter, answer: Any) -> None:
    """Ends the connection in the middle of the body."""
    whole = response(json.dumps(answer).encode())
    writer.write(whole[: len(whole) - 5])
    await writer.drain()


async def never_ends(writer: asyncio.StreamWriter, answer: Any) -> None:
    """Sends without a length until the other side has had enough."""
    writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n[")
    for _ in range(2000):
        writer.write(b"0," * 50_000)
        await writer.drain()


@asynccontextmanager
async def provider(answer: Answer) -> AsyncIterator[Provider]:
    """A provider that works."""
    made = Provider(answer)
    await made.start()
    try:
        yield made
    finally:
        await made.stop()


def results(picks: Sequence[Any]) -> Answer:
    """A `/rerank` endpoint of Cohere's form that picks these, the scores against the order."""
    listed = [{"index": pick, "relevance_score": place / 100} for place, pick in enumerate(picks)]
    return lambda _: {"id": "x", "results": listed}


def says(content: Any) -> Answer:
    """A chat model that says this."""
    return lambda _: {"choices": [{"index": 0, "message": {"role": "assistant", "content": content}}]}
