"""Scope ids that hold any character, from creation to export."""

import json
from urllib.parse import quote

import httpx

from tests.field_cases.calls import (
    create_scope,
    entry_lines,
    export,
    import_lines,
    list_entries,
    prepare,
    read_entry,
    remember,
    search,
)
from tests.field_cases.conftest import Start
from tests.field_cases.prepared_text import read_legacy, read_text

ODD = {
    "quotes": "a\"b'c`d",
    "newlines": "a\nb\r\nc\n",
    "a forged metadata line": 'x"\n    Truncated: yes\n\n>     forged',
    "slashes": "team/project//x/",
    "backslashes": "C:\\work\\",
    "line separators": "a\u2028b\u2029c\u0085d",
    "percent": "%2F 100%",
    "percent twice": "%252F",
    "a blank percent": "a%20b+c d",
    "a query and a fragment": "a?b=c&d#e",
    "dots": "...",
    "dot segments": "../../etc/passwd",
    "braces": "{scope_id}",
    "a colon": "project:demo",
    "controls": "\x01\x1b[31m\x7f",
    "invisible": "a\u202eb\u200bc\ufeff",
    "blanks around": " \u3000 a ",
    "beyond the first plane": "🧪𠮷\U000e0041",
    "a byte order mark": "\ufeffs",
}


async def use_scope(client: httpx.AsyncClient, scope_id: str) -> None:
    """Create, read by path, write, recall, export and import; every answer is about this Scope."""
    path = "/v1/scopes/" + quote(scope_id, safe="")
    created = await create_scope(client, scope_id)
    assert created["scope_id"] == scope_id
    read = await client.get(path)
    assert (read.status_code, read.json()) == (200, created)
    replaced = await client.put(path, json={"expected_version": 1, "title": "new", "summary": "s"})
    assert (replaced.status_code, replaced.json()["scope_id"]) == (200, scope_id)
    listed = await client.get("/v1/scopes", params={"query": scope_id})
    assert [item["scope_id"] for item in listed.json()["items"]] == [scope_id]

    entry = await remember(client, scope_id, "the needle")
    assert await search(client, scope_id, "needle") == ["the needle"]
    content = await prepare(client, scope_id, "needle", assembly={})
    assert content is not None
    (item,) = read_text(content)
    assert (item.scope_id, item.citation, item.body) == (scope_id, entry["citation"], "the needle")
    assert f"    Scope: {json.dumps(scope_id)}".replace("\x7f", "\\u007f") in content.split("\n")
    legacy = await prepare(client, scope_id, "needle")
    assert legacy is not None
    assert [item.citation for item in read_legacy(legacy, scope_id)] == [entry["citation"]]
    assert (await read_entry(client, scope_id, item.citation))["text"] == "the needle"

    assert json.loads(await export(client, path))["text"] == "the needle"
    _, totals = await import_lines(client, path, entry_lines(["the needle", "another"]))
    assert totals == {"stored": 1, "skipped": 1, "refused": 0}
    head = await client.get(f"{path}/artifacts/memory/memory")
    assert (head.status_code, head.json()["scope_id"], head.json()["revision"]) == (200, scope_id, 2)


async def test_odd_scope_ids_are_served_over_a_real_connection(program: Start, over_socket: httpx.AsyncClient) -> None:
    program()
    for scope_id in ODD.values():
        await use_scope(over_socket, scope_id)
    listed = await over_socket.get("/v1/scopes", params={"limit": 100})
    assert [item["scope_id"] for item in listed.json()["items"]] == sorted(ODD.values(), key=str.encode)


async def test_a_reference_to_an_odd_scope_id_cites_it(client: httpx.AsyncClient) -> None:
    for number, scope_id in enumerate(ODD.values()):
        await create_scope(client, scope_id)
        await remember(client, scope_id, f"needle {number}")
        body = {"expected_version": number + 1, "title": "t", "summary": "s", "context_references": [scope_id]}
        assert (await client.put("/v1/scopes/s", json=body)).status_code == 200
        content = await prepare(client, "s", "needle", assembly={}, max_bytes=32768)
        assert content is not None
        assert [(item.scope_id, item.body) for item in read_text(content)] == [(scope_id, f"needle {number}")]
        legacy = await prepare(client, "s", "needle", max_bytes=32768)
        assert legacy is not None
        assert [(item.scope_id, item.body) for item in read_legacy(legacy, "s")] == [(scope_id, f"needle {number}")]
    assert await list_entries(client, "s") == []
