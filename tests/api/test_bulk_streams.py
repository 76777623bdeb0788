"""What imports and exports may take of the server: places, turns of the loop, and work for a client that left."""

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import httpx

from service.operations import bulk
from tests.api.application import Serve, create_scope

NDJSON = {"Content-Type": "application/x-ndjson"}


def entries(number: int, start: int = 0) -> bytes:
    lines = ({"type": "memory-entry", "kind": "k", "text": f"entry {n}"} for n in range(start, start + number))
    return b"".join(json.dumps(line).encode() + b"\n" for line in lines)


async def imported(client: httpx.AsyncClient, content: Any) -> tuple[list[dict[str, Any]], dict[str, int]]:
    answer = await client.post("/v1/scopes/s/import", content=content, headers=NDJSON)
    assert answer.status_code == 200, answer.text
    *reports, summary = [json.loads(line) for line in answer.content.splitlines()]
    return reports, summary["totals"]


async def places_taken(client: httpx.AsyncClient) -> float:
    """By others than the request that asks."""
    metrics = (await client.get("/metrics")).text
    (line,) = [line for line in metrics.splitlines() if line.startswith("powercontext_requests_under_way ")]
    return float(line.split()[1]) - 1


async def test_an_import_of_rubbish_ends_with_a_line_that_says_so(client: httpx.AsyncClient) -> None:
    reports, totals = await imported(client, b"{\n" * 150_000 + entries(1))
    *lines, last = reports
    assert [report["line"] for report in lines] == list(range(1, 100_001))
    assert {report["error"]["code"] for report in lines} == {"malformed_request"}
    assert (last["line"], last["status"], last["error"]["code"]) == (100_001, "refused", "invalid_request")
    assert "100000 lines were refused" in last["error"]["message"]
    assert totals == {"stored": 0, "skipped": 0, "refused": 100_001}


async def test_fewer_bad_lines_than_the_bound_do_not_stop_the_rest(client: httpx.AsyncClient) -> None:
    _, totals = await imported(client, b"{\n" * 30_000 + entries(1))
    assert totals == {"stored": 1, "skipped": 0, "refused": 30_000}


async def test_bad_lines_leave_other_requests_their_turn(client: httpx.AsyncClient) -> None:
    """While a body of bad lines, which is all there at once, is refused, the loop comes round for every 50 lines."""
    turns = 0

    async def count() -> None:
        nonlocal turns
        while True:
            await asyncio.sleep(0)
            turns += 1

    counting = asyncio.create_task(count())
    _, totals = await imported(client, b"{\n" * 5_000)
    counting.cancel()
    assert totals["refused"] == 5_000
    assert turns >= 5_000 // bulk.DECODED_AT_ONCE


async def test_an_import_holds_no_place_while_it_waits_for_its_client(serve: Serve) -> None:
    async with serve(http_max_concurrent_requests=1, http_queue_timeout_seconds=0) as client:
        await create_scope(client, "s")
        served: list[int] = []

        async def slow() -> AsyncIterator[bytes]:
            for start in (0, 500, 1000):
                yield entries(500, start)
                await asyncio.sleep(0.3)
                served.append((await client.get("/v1/scopes/s")).status_code)

        _, totals = await imported(client, slow())
        assert served == [200, 200, 200]
        assert totals["stored"] == 1500
        assert await places_taken(client) == 0


class Reader:
    """The server's side of a client that takes the first page and nothing more until `resume`."""

    def __init__(self) -> None:
        self.pages: list[bytes] = []
        self.began, self.resume, self.gone = asyncio.Event(), asyncio.Event(), asyncio.Event()
        self._asked = False

    async def receive(self) -> dict[str, Any]:
        if self._asked:
            await self.gone.wait()
            return {"type": "http.disconnect"}
        self._asked = True
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(self, message: dict[str, Any]) -> None:
        if message.get("body"):
            self.pages.append(message["body"])
            self.began.set()
            await self.resume.wait()


async def export(client: httpx.AsyncClient, reader: Reader) -> None:
    app: Any = client._transport.app  # type: ignore[attr-defined]
    path = "/v1/scopes/s/export"
    scope = {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": "GET",
        "scheme": "http",
        "path": path,
        "raw_path": path.encode(),
        "query_string": b"",
        "headers": [],
        "server": ("sidecar", 80),
        "client": ("c", 1),
        "root_path": "",
        "state": {},
    }
    await app(scope, reader.receive, reader.send)


async def test_an_export_that_is_not_read_holds_no_place_and_goes_on_when_it_is(serve: Serve) -> None:
    async with serve(http_max_concurrent_requests=1, http_queue_timeout_seconds=0) as client:
        await create_scope(client, "s")
        await imported(client, entries(3000))
        reader = Reader()
        exporting = asyncio.create_task(export(client, reader))
        async with asyncio.timeout(20):
            await reader.began.wait()
            assert (await client.get("/v1/scopes/s")).status_code == 200
            reader.resume.set()
            await exporting
        assert len(reader.pages) > 1
        assert len(b"".join(reader.pages).splitlines()) == 3000
        assert await places_taken(client) == 0


async def test_an_export_ends_when_its_client_left(client: httpx.AsyncClient) -> None:
    await imported(client, entries(3000))
    reader = Reader()
    exporting = asyncio.create_task(export(client, reader))
    async with asyncio.timeout(20):
        await reader.began.wait()
        reader.gone.set()
        await asyncio.sleep(0.01)
        reader.resume.set()
        await exporting
    assert len(reader.pages) == 1
    assert await places_taken(client) == 0
