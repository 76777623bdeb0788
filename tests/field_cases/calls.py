"""The operations as these tests call them: each checks status and form of its answer and returns what counts."""

import json
from collections.abc import Callable, Iterable
from contextlib import AbstractAsyncContextManager
from typing import Any, TypeAlias

import httpx

NDJSON = {"Content-Type": "application/x-ndjson"}
JSON = {"Content-Type": "application/json"}
SCHEMA = "powercontext.prepared-context.v1"
OUTPUTS: tuple[dict[str, Any], ...] = ({"assembly": {}}, {})
"""Options of prepare for the standard text and for the legacy text."""
EMPTY = {"schema": SCHEMA, "status": "empty", "content": None, "content_bytes": 0}

Instance: TypeAlias = Callable[..., AbstractAsyncContextManager[httpx.AsyncClient]]


def memory_section(limit: int) -> dict[str, Any]:
    """An assembly that selects Memory alone."""
    return {"sections": [{"family": "memory", "limit": limit}]}


async def post(client: httpx.AsyncClient, path: str, body: dict[str, Any], status: int = 200) -> dict[str, Any]:
    answer = await client.post(path, json=body)
    assert answer.status_code == status, answer.text
    decoded: dict[str, Any] = answer.json()
    return decoded


async def create_scope(client: httpx.AsyncClient, scope_id: str, **fields: Any) -> dict[str, Any]:
    """The descriptor of a new Scope."""
    body = {"scope_id": scope_id, "title": "t", "summary": "s", "idempotency_key": "of " + scope_id[:200], **fields}
    return await post(client, "/v1/scopes", body, 201)


async def remember(client: httpx.AsyncClient, scope_id: str, text: str, kind: str = "note") -> dict[str, Any]:
    """The Entry that was added."""
    written = await post(client, "/v1/memory/remember", {"scope_id": scope_id, "kind": kind, "text": text})
    assert written["entry"] is not None, "an identical entry was there already"
    entry: dict[str, Any] = written["entry"]
    return entry


async def search(client: httpx.AsyncClient, scope_id: str, query: str, limit: int = 5, **options: Any) -> list[str]:
    """The texts of the hits, the best first."""
    body = {"scope_id": scope_id, "query": query, "limit": limit, **options}
    answer = await post(client, "/v1/memory/search", body)
    assert set(answer) == {"memory", "mode", "hits"}
    for hit in answer["hits"]:
        assert set(hit) == {"citation", "text", "score", "matched_by"}
        assert 0 <= hit["score"] <= 1
    return [hit["text"] for hit in answer["hits"]]


async def prepare(client: httpx.AsyncClient, scope_id: str, query: str, **options: Any) -> str | None:
    """The content; None where nothing was found or fits. Checks the four fields and the byte count."""
    answer = await post(client, "/v1/context/prepare", {"scope_id": scope_id, "query": query, **options})
    assert list(answer) == ["schema", "status", "content", "content_bytes"]
    content: str | None = answer["content"]
    if content is None:
        assert answer == EMPTY
    else:
        assert (answer["schema"], answer["status"]) == (SCHEMA, "ready")
        assert answer["content_bytes"] == len(content.encode()) <= options.get("max_bytes", 8000)
    return content


async def read_entry(client: httpx.AsyncClient, scope_id: str, citation: dict[str, Any]) -> dict[str, Any]:
    """The Entry that a citation names."""
    return await post(client, "/v1/memory/entries/get", {"scope_id": scope_id, "citation": citation})


async def list_entries(client: httpx.AsyncClient, scope_id: str, **options: Any) -> list[dict[str, Any]]:
    answer = await post(client, "/v1/memory/entries/list", {"scope_id": scope_id, **options})
    entries: list[dict[str, Any]] = answer["entries"]
    return entries


async def add_experience(client: httpx.AsyncClient, scope_id: str, proposal: dict[str, str]) -> dict[str, Any]:
    """The Ref of an Experience that was proposed and approved."""
    candidate = await post(client, "/v1/experience/propose", {"scope_id": scope_id, "proposal": proposal}, 201)
    return await approve(client, scope_id, candidate)


async def add_profile(client: httpx.AsyncClient, scope_id: str, content: str) -> dict[str, Any]:
    """The Ref of a Profile that was proposed and approved."""
    candidate = await post(client, "/v1/profile/propose", {"scope_id": scope_id, "content": content}, 201)
    return await approve(client, scope_id, candidate)


async def approve(client: httpx.AsyncClient, scope_id: str, candidate: dict[str, Any]) -> dict[str, Any]:
    body = {"scope_id": scope_id, "candidate_id": candidate["candidate_id"], "expected_version": 1}
    decided = await post(client, "/v1/artifact-candidates/approve", body)
    ref: dict[str, Any] = decided["result_artifact"]
    return ref


def lines_of(objects: Iterable[dict[str, Any]]) -> bytes:
    """NDJSON with everything as raw UTF-8."""
    return b"".join(json.dumps(each, ensure_ascii=False).encode() + b"\n" for each in objects)


def entry_lines(texts: Iterable[str]) -> bytes:
    """Import lines for Memory entries without ids."""
    return lines_of({"type": "memory-entry", "kind": "note", "text": text} for text in texts)


def read_report(answer: httpx.Response) -> tuple[list[dict[str, Any]], dict[str, int]]:
    """The reports of an import in the order of its lines, and the totals, which must be their count."""
    assert answer.status_code == 200, answer.text
    *reports, last = [json.loads(line) for line in answer.content.split(b"\n")[:-1]]
    totals: dict[str, int] = last["totals"]
    statuses = [report["status"] for report in reports]
    assert totals == {status: statuses.count(status) for status in ("stored", "skipped", "refused")}
    assert [report["line"] for report in reports] == sorted({report["line"] for report in reports})
    for report in reports:
        assert set(report) == {"line", "status", "citation", "artifact", "error"}
        if report["status"] == "refused":
            assert report["citation"] is report["artifact"] is None
            assert set(report["error"]) == {"code", "message"}
        else:
            assert report["error"] is None
            assert (report["citation"] is None) != (report["artifact"] is None)
    return reports, totals


async def import_lines(
    client: httpx.AsyncClient, path: str, body: bytes
) -> tuple[list[dict[str, Any]], dict[str, int]]:
    """Import into the Scope whose path is `path`, for example `/v1/scopes/s`."""
    return read_report(await client.post(path + "/import", content=body, headers=NDJSON))


async def export(client: httpx.AsyncClient, path: str) -> bytes:
    answer = await client.get(path + "/export")
    assert answer.status_code == 200, answer.text
    return answer.content


async def digests(client: httpx.AsyncClient, path: str) -> dict[tuple[str, str, int], str]:
    """(family, artifact id, revision) to content digest, of every revision of every Artifact in a Scope."""
    found = {}
    for family in ("memory", "experience", "profile", "topic-memory"):
        heads = (await client.get(f"{path}/artifacts/{family}")).json()["items"]
        for head in heads:
            listed = (await client.get(f"{path}/artifacts/{family}/{head['artifact_id']}/revisions")).json()
            assert listed["next_cursor"] is None
            for each in listed["items"]:
                found[family, each["artifact_id"], each["revision"]] = each["content_digest"]
    return found
