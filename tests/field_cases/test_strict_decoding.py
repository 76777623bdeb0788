"""Strict decoding where the state of a whole server counts. Single fields are in tests/unit and tests/api."""

import json
from typing import Any

import httpx
import pytest

from tests.field_cases.calls import JSON, NDJSON, create_scope, list_entries, post, read_report, remember
from tests.field_cases.conftest import Start

DEEP = {
    "arrays": b"[" * 20_000 + b"]" * 20_000,
    "objects in a field": b'{"scope_id":"s","query":"q","assembly":' + b'{"a":' * 5000 + b"1" + b"}" * 5000 + b"}",
    "unclosed arrays": b"[" * 500_000,
}
HUGE = ["19933688932870350000", "18446744073709551616", "18446744073709559616", "-9223372036854775809"]


async def test_deep_nesting_never_ends_the_process(program: Start, over_socket: httpx.AsyncClient) -> None:
    """R54."""
    process = program()
    await create_scope(over_socket, "s")
    for body in DEEP.values():
        for path in ("/v1/context/prepare", "/v1/memory/remember"):
            answer = await over_socket.post(path, content=body, headers=JSON)
            assert answer.status_code == 400
            assert set(answer.json()["error"]) == {"code", "message", "details"}
            assert answer.json()["error"]["code"] == "malformed_request"
            assert len(answer.headers["X-PowerContext-Request-ID"]) == 16
        imported = await over_socket.post("/v1/scopes/s/import", content=body, headers=NDJSON)
        (report,), totals = read_report(imported)
        assert (report["line"], report["error"]["code"], totals["refused"]) == (1, "malformed_request", 1)
    assert process.poll() is None
    await remember(over_socket, "s", "served as before")


@pytest.mark.parametrize("number", HUGE)
async def test_an_integer_out_of_range_is_refused_and_never_wraps(client: httpx.AsyncClient, number: str) -> None:
    """R57."""
    entry = await remember(client, "s", "first")
    experience = json.dumps({"family": "experience", "artifact_id": "e", "revision": 0}).replace("0", number)
    cite = json.dumps(entry["citation"]).replace('"revision": 1', f'"revision": {number}')
    for path, fields, loc in [
        ("/v1/context/prepare", f'"query":"q","max_bytes":{number}', ["max_bytes"]),
        ("/v1/memory/remember", f'"kind":"k","text":"t","expected_revision":{number}', ["expected_revision"]),
        ("/v1/memory/changes", f'"since_revision":{number}', ["since_revision"]),
        ("/v1/memory/search", f'"query":"q","limit":{number}', ["limit"]),
        ("/v1/memory/entries/list", f'"limit":{number}', ["limit"]),
        ("/v1/memory/entries/get", f'"citation":{cite}', ["citation", "memory_ref", "revision"]),
        ("/v1/memory/entries/retire", f'"citation":{cite}', ["citation", "memory_ref", "revision"]),
        ("/v1/experience/get", f'"artifact":{experience}', ["artifact", "revision"]),
        ("/v1/scopes/s/delete", f'"expected_version":{number}', ["expected_version"]),
    ]:
        scope = "" if path.endswith("/delete") else '"scope_id":"s",'
        answer = await client.post(path, content="{" + scope + fields + "}", headers=JSON)
        assert answer.status_code == 422, (path, answer.text)
        assert [error["loc"] for error in answer.json()["error"]["details"]["errors"]] == [["body", *loc]]
    assert [each["text"] for each in await list_entries(client, "s")] == ["first"]


async def test_a_revision_in_a_path_is_an_integer_in_range(client: httpx.AsyncClient) -> None:
    """R57: 18446744073709551617 is 1 when cut to 64 bits, and revision 1 exists."""
    await remember(client, "s", "first")
    path = "/v1/scopes/s/artifacts/memory/memory/revisions/"
    assert (await client.get(path + "1")).status_code == 200
    for number in ("18446744073709551617", *HUGE, "0", "1.0", "+1", "%201", "1x", "9" * 5000):
        answer = await client.get(path + number)
        assert answer.status_code == 422, number
        assert answer.json()["error"]["details"]["errors"][0]["loc"] == ["path", "revision"]


UNKNOWN_FIELDS: list[tuple[str, dict[str, Any], list[str | int]]] = [
    ("/v1/memory/search", {"query": "q", "filters": {"scope_id": "b"}}, ["filters"]),
    (
        "/v1/context/prepare",
        {"query": "q", "assembly": {"sections": [{"family": "memory", "limit": 1, "scope": "b"}]}},
        ["assembly", "sections", 0, "scope"],
    ),
    ("/v1/context/prepare", {"query": "q", "assembly": {"sort_by": "score"}}, ["assembly", "sort_by"]),
    ("/v1/context/prepare", {"query": "q", "assembly": {"min_confidence": 0.5}}, ["assembly", "min_confidence"]),
    ("/v1/context/prepare", {"query": "q", "assembly": {"Format": "markdown"}}, ["assembly", "Format"]),
    ("/v1/context/prepare", {"query": "q", "Assembly": {}}, ["Assembly"]),
    ("/v1/memory/remember", {"kind": "k", "text": "t", "source_refs": []}, ["source_refs"]),
    (
        "/v1/experience/propose",
        {"proposal": {"situation": "s", "action": "a", "outcome": "o", "lesson": "l", "confidence": 1}},
        ["proposal", "confidence"],
    ),
]


async def test_an_unknown_field_is_refused_at_every_depth(client: httpx.AsyncClient) -> None:
    """R60."""
    for path, fields, loc in UNKNOWN_FIELDS:
        refused = await post(client, path, {"scope_id": "s", **fields}, 422)
        assert [error["loc"] for error in refused["error"]["details"]["errors"]] == [["body", *loc]]


async def test_a_query_parameter_names_no_scope(client: httpx.AsyncClient) -> None:
    """R60: on every POST that reads."""
    for path in (
        "/v1/context/prepare",
        "/v1/memory/search",
        "/v1/experience/search",
        "/v1/topic-memory/search",
    ):
        answer = await client.post(path + "?scope_id=b", json={"scope_id": "s", "query": "q"})
        assert answer.status_code == 422
        assert answer.json()["error"]["details"]["errors"][0]["loc"] == ["query", "scope_id"]
