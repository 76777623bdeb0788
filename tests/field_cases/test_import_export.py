"""Import and export as NDJSON: what a line is, what survives an interruption, and what a large file costs."""

import asyncio
import json
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.field_cases.calls import (
    NDJSON,
    Instance,
    create_scope,
    digests,
    entry_lines,
    export,
    import_lines,
    lines_of,
    list_entries,
    post,
    read_report,
    search,
)
from tests.field_cases.conftest import Start

MIB = 2**20


def line(text: str, **fields: Any) -> bytes:
    """One import line without its line end."""
    return json.dumps({"type": "memory-entry", "kind": "k", "text": text, **fields}, ensure_ascii=False).encode()


async def test_lines_end_at_lf_alone_and_a_bom_and_blank_lines_do_no_harm(client: httpx.AsyncClient) -> None:
    """R49."""
    odd = "a\u2028b\u2029c\u0085d\fe"
    second = line(odd)
    assert "\u2028".encode() in second
    assert b"\\f" in second
    body = b"\xef\xbb\xbf" + line("first") + b"\n" + second + b"\n\n" + line("third") + b"\r\n \t\r\n" + line("last")
    reports, totals = await import_lines(client, "/v1/scopes/s", body)
    assert totals == {"stored": 4, "skipped": 0, "refused": 0}
    assert [report["line"] for report in reports] == [1, 2, 4, 6]
    assert {entry["text"] for entry in await list_entries(client, "s")} == {"first", odd, "third", "last"}

    exported = await export(client, "/v1/scopes/s")
    assert exported.count(b"\n") == 4
    await create_scope(client, "copy")
    await import_lines(client, "/v1/scopes/copy", exported)
    assert await digests(client, "/v1/scopes/copy") == await digests(client, "/v1/scopes/s")
    assert await export(client, "/v1/scopes/copy") == exported


@pytest.mark.parametrize("body", [b"", b"\n\n \r\n", b"\xef\xbb\xbf", b"\xef\xbb\xbf\n"])
async def test_a_file_without_a_line_stores_nothing(client: httpx.AsyncClient, body: bytes) -> None:
    assert await import_lines(client, "/v1/scopes/s", body) == ([], {"stored": 0, "skipped": 0, "refused": 0})
    assert await export(client, "/v1/scopes/s") == b""


async def test_each_bad_line_is_reported_by_its_number_and_the_others_are_stored(client: httpx.AsyncClient) -> None:
    """R50."""
    lines = [line(f"good line {number}") for number in range(1, 2001)]
    lines[9:16] = [
        b'{"type":"memory-entry","kind":"k","text":"\xff\xfe"}',
        b"{",
        b"[]",
        b'{"unknown":1}',
        line("x" * 9000),
        b'{"type":"memory-entry","kind":"k","text":"\\ud800"}',
        line("y" * (5 * MIB)),
    ]
    reports, totals = await import_lines(client, "/v1/scopes/s", b"\n".join(lines))
    assert totals == {"stored": 1993, "skipped": 0, "refused": 7}
    refused = {report["line"]: report["error"]["code"] for report in reports if report["status"] == "refused"}
    assert refused == {
        10: "malformed_request",
        11: "malformed_request",
        12: "invalid_request",
        13: "invalid_request",
        14: "invalid_request",
        15: "malformed_request",
        16: "payload_too_large",
    }
    assert (await export(client, "/v1/scopes/s")).count(b"\n") == 1993


async def test_an_import_that_says_it_is_over_64_mib_is_413_before_it_is_read(client: httpx.AsyncClient) -> None:
    """R50."""

    taken: list[bytes] = []

    async def pieces() -> AsyncIterator[bytes]:
        for number in range(100):
            taken.append(line(f"{number}"))
            yield taken[-1] + b"\n"

    headers = NDJSON | {"Content-Length": str(64 * MIB + 1)}
    answer = await client.post("/v1/scopes/s/import", content=pieces(), headers=headers)
    assert (answer.status_code, taken) == (413, [])
    assert answer.json()["error"]["code"] == "payload_too_large"


async def test_an_import_without_length_that_passes_the_limit_ends_with_one_refused_line(instance: Instance) -> None:
    """What came before the limit may be stored; the totals say how much."""

    async def pieces() -> AsyncIterator[bytes]:
        for number in range(100):
            yield line(f"{number} " + "x" * 50) + b"\n"

    async with instance(http_max_import_bytes=4096) as client:
        await create_scope(client, "s")
        reports, totals = read_report(await client.post("/v1/scopes/s/import", content=pieces(), headers=NDJSON))
        assert totals["refused"] == 1
        assert reports[-1]["error"]["code"] == "payload_too_large"
        assert len(await list_entries(client, "s")) == totals["stored"]


async def send_half(socket_path: Path, body: bytes, reported: int) -> tuple[asyncio.StreamWriter, set[str]]:
    """Send half of an import, wait until `reported` lines are reported; the connection, and the ids stored so far."""
    reader, writer = await asyncio.open_unix_connection(str(socket_path))
    writer.write(
        b"POST /v1/scopes/s/import HTTP/1.1\r\nHost: sidecar\r\nContent-Type: application/x-ndjson\r\n"
        b"Content-Length: %d\r\n\r\n" % len(body)
    )
    writer.write(body[: len(body) // 2])
    await writer.drain()
    seen = b""
    while seen.count(b'"status"') < reported:
        piece = await reader.read(65536)
        assert piece, seen
        seen += piece
    reports = [json.loads(each) for each in seen.split(b"\n") if each.startswith(b'{"line"') and each.endswith(b"}")]
    return writer, {report["citation"]["entry_id"] for report in reports}


@pytest.mark.parametrize(
    "n_lines", [pytest.param(1500, id="1500"), pytest.param(5000, id="5000", marks=pytest.mark.slow)]
)
async def test_an_interrupted_import_is_finished_by_sending_the_file_again(
    program: Start, over_socket: httpx.AsyncClient, socket_path: Path, n_lines: int
) -> None:
    """R51: cut half-way, then killed half-way, then sent twice more."""
    body = entry_lines(f"line {number} about deploying" for number in range(n_lines))
    process = program()
    await create_scope(over_socket, "s")
    writer, durable = await send_half(socket_path, body, 500)
    writer.close()
    await writer.wait_closed()
    writer, more = await send_half(socket_path, body, 500)
    durable |= more
    process.kill()
    process.wait(10)
    writer.close()

    program()
    _, second = await import_lines(over_socket, "/v1/scopes/s", body)
    assert second["refused"] == 0
    assert second["stored"] + second["skipped"] == n_lines
    assert second["skipped"] >= len(durable) >= 500
    head = (await over_socket.get("/v1/scopes/s/artifacts/memory/memory")).headers["etag"]
    _, third = await import_lines(over_socket, "/v1/scopes/s", body)
    assert third == {"stored": 0, "skipped": n_lines, "refused": 0}
    assert (await over_socket.get("/v1/scopes/s/artifacts/memory/memory")).headers["etag"] == head

    exported = [json.loads(each) for each in (await export(over_socket, "/v1/scopes/s")).split(b"\n")[:-1]]
    assert len(exported) == len({each["text"] for each in exported}) == n_lines
    assert durable <= {each["entry_id"] for each in exported}


async def test_a_client_may_read_the_reports_after_it_has_sent_everything(
    program: Start, over_socket: httpx.AsyncClient, socket_path: Path
) -> None:
    """Most HTTP clients do. The reports fill the connection meanwhile; who has stopped sending too is dropped."""
    program("from service.http import protocol; protocol.UNREAD_S = 0.5")
    await create_scope(over_socket, "s")
    lines = entry_lines(f"line {number}" for number in range(4000)).split(b"\n")
    reader, writer = await asyncio.open_unix_connection(str(socket_path), limit=1024)
    writer.write(
        b"POST /v1/scopes/s/import HTTP/1.1\r\nHost: sidecar\r\nConnection: close\r\n"
        b"Content-Type: application/x-ndjson\r\nTransfer-Encoding: chunked\r\n\r\n"
    )
    for start in range(0, len(lines), 500):
        piece = b"\n".join([*lines[start : start + 500], b""])
        writer.write(b"%x\r\n%s\r\n" % (len(piece), piece))
        await writer.drain()
        await asyncio.sleep(0.2)
    writer.write(b"0\r\n\r\n")
    answer = await reader.read()
    writer.close()
    assert answer.endswith(b"0\r\n\r\n")
    assert b'{"totals":{"stored":4000,"skipped":0,"refused":0}}' in answer


def status_mib(pid: int, name: str) -> float:
    """A figure of /proc/<pid>/status in MiB."""
    for row in Path(f"/proc/{pid}/status").read_text(encoding="ascii").splitlines():
        if row.startswith(name + ":"):
            return int(row.split()[1]) / 1024
    raise AssertionError(f"no {name}")


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="reads /proc")
@pytest.mark.parametrize(
    ("mib", "growth_mib"),
    [
        pytest.param(4, 60, id="4 MiB"),
        pytest.param(60, 200, id="60 MiB", marks=[pytest.mark.slow, pytest.mark.timeout(900)]),
    ],
)
async def test_a_large_file_takes_bounded_memory_and_others_are_served_meanwhile(
    program: Start, over_socket: httpx.AsyncClient, mib: int, growth_mib: int
) -> None:
    """R50."""
    process = program()
    await create_scope(over_socket, "s")
    await create_scope(over_socket, "other")
    await import_lines(over_socket, "/v1/scopes/other", entry_lines(["the needle"]))
    words = ["deploy", "canary", "rollback", "机房", "空调", "检修", "the", "queue", "before", "traffic", "moves"]
    before = status_mib(process.pid, "VmRSS")

    n_lines = mib * MIB // 8000

    async def file() -> AsyncIterator[bytes]:
        for number in range(n_lines):
            text = " ".join([str(number), *words[number % 7 :], *words] * 60)
            yield lines_of(
                [{"type": "memory-entry", "kind": "k", "text": text.encode()[:7900].decode(errors="ignore")}]
            )

    importing = asyncio.create_task(
        over_socket.post("/v1/scopes/s/import", content=file(), headers=NDJSON, timeout=900)
    )
    waits = []
    while not importing.done():
        begin = time.perf_counter()
        assert await search(over_socket, "other", "needle") == ["the needle"]
        waits.append(time.perf_counter() - begin)
        await asyncio.sleep(0.05)
    _, totals = read_report(importing.result())
    assert totals == {"stored": n_lines, "skipped": 0, "refused": 0}
    assert status_mib(process.pid, "VmHWM") - before < growth_mib
    assert len(waits) >= 3
    assert max(waits) < 5  # seconds; the default deadline of a recall


async def test_import_carries_a_history_over_exactly(client: httpx.AsyncClient) -> None:
    first = (await post(client, "/v1/memory/remember", {"scope_id": "s", "kind": "k", "text": "one"}))["entry"]
    body = {"scope_id": "s", "citation": first["citation"], "kind": "k", "text": "two", "reason": "why"}
    second = (await post(client, "/v1/memory/entries/revise", body))["entry"]
    await post(client, "/v1/memory/remember", {"scope_id": "s", "kind": "k", "text": "three"})
    head = {**second["citation"], "memory_ref": {**second["citation"]["memory_ref"], "revision": 3}}
    await post(client, "/v1/memory/entries/retire", {"scope_id": "s", "citation": head})
    await create_scope(client, "copy")
    exported = await export(client, "/v1/scopes/s")
    _, totals = await import_lines(client, "/v1/scopes/copy", exported)
    assert totals == {"stored": 3, "skipped": 0, "refused": 0}
    assert await export(client, "/v1/scopes/copy") == exported
    for citation, text in ((first["citation"], "one"), (second["citation"], "two"), (head, "two")):
        for scope_id in ("s", "copy"):
            read = await post(client, "/v1/memory/entries/get", {"scope_id": scope_id, "citation": citation})
            assert (read["text"], read["state"]) == (text, "inactive")
    assert await search(client, "copy", "one two three") == ["three"]
    _, again = await import_lines(client, "/v1/scopes/copy", exported)
    assert again == {"stored": 0, "skipped": 3, "refused": 0}
