"""Ids in paths: split at `/` first, then each part decoded once, and held to the same rules as in a body."""

from urllib.parse import quote

import httpx
import pytest

from tests.api.application import assert_error, assert_invalid, create_scope

ODD_IDS = [
    "a/b",
    "a%2Fb",
    "a%b",
    "100%",
    "%2e%2e",
    "...",
    "a\nb",
    "line\u2028separator",
    "quote\"and'",
    "a?b#c",
    "a;b=c&d+e",
    " leading and trailing ",
    "x OR y",
    "*",
    "'; --",
    "\\",
    "é" + "e\u0301",
    "𠮷" * 256,
    "\x7f\x01",
    "{scope_id}",
    "artifacts",
    "delete",
    "~._-",
]


def path_of(scope_id: str, *rest: str) -> str:
    return "/".join(["/v1/scopes", quote(scope_id, safe=""), *rest])


@pytest.mark.parametrize("scope_id", ODD_IDS)
async def test_any_scope_id_can_stand_in_a_path(client: httpx.AsyncClient, scope_id: str) -> None:
    await create_scope(client, scope_id)
    assert (await client.get(path_of(scope_id))).json()["scope_id"] == scope_id
    remembered = await client.post("/v1/memory/remember", json={"scope_id": scope_id, "kind": "k", "text": "t"})
    assert remembered.status_code == 200
    head = await client.get(path_of(scope_id, "artifacts", "memory", "memory"))
    assert head.json()["scope_id"] == scope_id
    export = await client.get(path_of(scope_id, "export"))
    assert len(export.content.splitlines()) == 1


async def test_ids_that_differ_only_in_their_encoding_are_different_ids(client: httpx.AsyncClient) -> None:
    await create_scope(client, "a/b")
    assert (await client.get("/v1/scopes/a%2Fb")).json()["scope_id"] == "a/b"
    assert (await client.get("/v1/scopes/a%2fb")).json()["scope_id"] == "a/b"
    assert (await client.get("/v1/scopes/%61%2Fb")).json()["scope_id"] == "a/b"
    assert_error(await client.get("/v1/scopes/a%252Fb"), 404, "scope_not_found")
    assert_error(await client.get("/v1/scopes/a/b"), 404, "not_found")


@pytest.mark.parametrize(
    "part",
    [
        "%",
        "a%",
        "a%2",
        "a%2G",
        "%FF",
        "%C0%AF",
        "%ED%A0%80",
        "%E4%B8",
        "a%00b",
        "%20",
        "%E3%80%80",
        "%2E",
        "%2E%2E",
        "x" * 257,
        "%2e%2E",
    ],
)
async def test_a_part_that_is_no_scope_id_is_422(client: httpx.AsyncClient, part: str) -> None:
    # The URL class would repair some of these, so the path goes out as it is.
    for rest in ("", "/export", "/artifacts/memory", "/artifacts/memory/memory/revisions/1"):
        url = httpx.URL("http://sidecar").copy_with(raw_path=f"/v1/scopes/{part}{rest}".encode())
        assert_invalid(await client.get(url), "path", "scope_id")


@pytest.mark.parametrize("family", ["skill", "Memory", "handoff", "topic_memory", "memory%20"])
async def test_an_unknown_family_is_422(client: httpx.AsyncClient, family: str) -> None:
    assert_invalid(await client.get(f"/v1/scopes/s/artifacts/{family}"), "path", "family")
    assert_invalid(await client.get(f"/v1/scopes/s/artifacts/{family}/x"), "path", "family")


@pytest.mark.parametrize("artifact_id", ["a%20b", "%E6%9F%A5", "a%0A", "x" * 129, "%2E%2E"])
async def test_a_part_that_is_no_artifact_id_is_422(client: httpx.AsyncClient, artifact_id: str) -> None:
    url = httpx.URL("http://sidecar").copy_with(raw_path=f"/v1/scopes/s/artifacts/experience/{artifact_id}".encode())
    assert_invalid(await client.get(url), "path", "artifact_id")


@pytest.mark.parametrize(
    "revision",
    [
        "0",
        "-1",
        "+1",
        "1.0",
        "1e0",
        "x",
        "%20",
        "%D9%A1",
        "0x1",
        "18446744073709551617",
        "9223372036854775808",
        "9" * 5000,
    ],
)
async def test_a_part_that_is_no_revision_is_422(client: httpx.AsyncClient, revision: str) -> None:
    answer = await client.get(f"/v1/scopes/s/artifacts/memory/memory/revisions/{revision}")
    assert_invalid(answer, "path", "revision")


async def test_the_highest_revision_is_looked_for(client: httpx.AsyncClient) -> None:
    answer = await client.get("/v1/scopes/s/artifacts/memory/memory/revisions/9223372036854775807")
    assert_error(answer, 404, "artifact_not_found")


@pytest.mark.parametrize("artifact_id", ["a/b", "a%2Fb", "revisions", "erase", "a?b", "..."])
async def test_any_artifact_id_can_stand_in_a_path(client: httpx.AsyncClient, artifact_id: str) -> None:
    content = {"situation": "s", "action": "a", "outcome": "o", "lesson": "l"}
    line = {"type": "experience", "content": content, "artifact_id": artifact_id}
    report = await client.post(
        "/v1/scopes/s/import",
        content=httpx.Request("POST", "http://x", json=line).content,
        headers={"Content-Type": "application/x-ndjson"},
    )
    assert report.text.splitlines()[-1] == '{"totals":{"stored":1,"skipped":0,"refused":0}}'
    path = f"/v1/scopes/s/artifacts/experience/{quote(artifact_id, safe='')}"
    for suffix in ("", "/revisions/1"):
        assert (await client.get(path + suffix)).json()["artifact_id"] == artifact_id
    listed = await client.get(path + "/revisions")
    assert [item["artifact_id"] for item in listed.json()["items"]] == [artifact_id]
