"""Identities are compared as bytes, and what is stored comes back as it was given."""

import itertools
from typing import Any
from urllib.parse import quote

import httpx
import pytest

from tests.field_cases.calls import (
    add_experience,
    add_profile,
    create_scope,
    digests,
    export,
    import_lines,
    list_entries,
    memory_section,
    post,
    prepare,
    read_entry,
    remember,
    search,
)
from tests.field_cases.conftest import Start
from tests.field_cases.prepared_text import read_text

PLACE = "→ 部署 📅 𠮷野家 \U0001f9d1\u200d\U0001f4bb"
HAN = "\U00020bb7"


async def test_ids_kinds_and_texts_that_differ_in_case_differ(client: httpx.AsyncClient) -> None:
    """R34."""

    def asked(key: str, title: str) -> dict[str, Any]:
        return {"idempotency_key": key, "title": title, "summary": "s"}

    first = await post(client, "/v1/scopes", asked("Job-1", "A"), 201)
    second = await post(client, "/v1/scopes", asked("job-1", "B"), 201)
    assert first["scope_id"] != second["scope_id"]
    assert (first["title"], second["title"]) == ("A", "B")
    assert await post(client, "/v1/scopes", asked("Job-1", "A"), 201) == first
    conflict = await post(client, "/v1/scopes", asked("Job-1", "B"), 409)
    assert conflict["error"]["code"] == "scope_idempotency_conflict"

    written = [("Rule", "T"), ("rule", "T"), ("rule", "Deploy first"), ("rule", "deploy first")]
    for kind, text in written:
        await remember(client, "s", text, kind=kind)
    listed = await list_entries(client, "s")
    assert sorted((entry["kind"], entry["text"]) for entry in listed) == sorted(written)


SAME_BUT_FOR = {
    "case": ("Project", "project"),
    "accents": ("cafe", "caf\u00e9"),
    "the normal form": ("r\u00e9", "re\u0301"),
    "a blank at the end": ("s ", "s  "),
    "width": ("ａ", "a"),
    "which emoji": ("🧪", "🍣"),
    "sharp s": ("ß", "ss"),
    "the Turkish i": ("ı", "i"),
    "a character of no width": ("ab", "a\u200bb"),
}


async def test_scope_ids_that_a_collation_merges_are_scopes_apart(client: httpx.AsyncClient) -> None:
    for scope_id in itertools.chain(*SAME_BUT_FOR.values()):
        await create_scope(client, scope_id)
        await remember(client, scope_id, f"needle of {scope_id!a}")
    for scope_id in itertools.chain(*SAME_BUT_FOR.values()):
        assert await search(client, scope_id, "needle") == [f"needle of {scope_id!a}"]
        read = await client.get("/v1/scopes/" + quote(scope_id, safe=""))
        assert read.json()["scope_id"] == scope_id


async def serve_long_ids(client: httpx.AsyncClient) -> None:
    """All of R35 on one server."""
    one, two = HAN * 256, HAN * 255 + "\U00020bb6"
    created = await create_scope(client, two, title=HAN * 256, summary=HAN * 2000, idempotency_key="two")
    await create_scope(client, one, context_references=[two], idempotency_key="one")
    await remember(client, one, "needle of one")
    await remember(client, two, "needle of two")
    assert await search(client, one, "needle") == ["needle of one"]
    assert await search(client, two, "needle") == ["needle of two"]
    content = await prepare(client, one, "needle", max_bytes=32768, assembly=memory_section(8))
    assert content is not None
    assert [(item.scope_id, item.body) for item in read_text(content)] == [
        (one, "needle of one"),
        (two, "needle of two"),
    ]
    assert content.split("\n").count('    Scope: "' + "\\ud842\\udfb7" * 256 + '"') == 1
    read = await client.get("/v1/scopes/" + quote(two))
    assert (read.status_code, read.json()) == (200, created)
    assert (len(read.json()["title"]), len(read.json()["summary"])) == (256, 2000)


async def test_a_scope_id_of_256_four_byte_characters_is_served(client: httpx.AsyncClient) -> None:
    """R35."""
    await serve_long_ids(client)
    body = {"title": "t", "summary": "s", "idempotency_key": "three", "scope_id": HAN * 257}
    refused = await post(client, "/v1/scopes", body, 422)
    assert refused["error"]["details"]["errors"][0]["loc"] == ["body", "scope_id"]
    by_path = await client.get("/v1/scopes/" + quote(HAN * 257))
    assert by_path.status_code == 422
    assert by_path.json()["error"]["details"]["errors"][0]["loc"] == ["path", "scope_id"]


@pytest.mark.parametrize("field", ["title", "summary"])
async def test_a_title_and_a_summary_are_bound_in_characters(client: httpx.AsyncClient, field: str) -> None:
    """R35."""
    most = {"title": 256, "summary": 2000}[field]
    body = {"title": "t", "summary": "s", "idempotency_key": "k", field: HAN * (most + 1)}
    refused = await post(client, "/v1/scopes", body, 422)
    assert refused["error"]["details"]["errors"][0]["loc"] == ["body", field]


async def test_the_longest_scope_id_goes_through_a_real_request_line(
    program: Start, over_socket: httpx.AsyncClient
) -> None:
    """R35: percent-encoded, the id is 3072 bytes of the path."""
    program()
    await serve_long_ids(over_socket)


EXPERIENCE = {"situation": PLACE, "action": PLACE, "outcome": PLACE, "lesson": PLACE}
TOPIC = {"title": PLACE, "summary": PLACE, "detail": PLACE}


async def test_every_family_gives_back_its_text_byte_for_byte_and_carries_its_digest_over(
    client: httpx.AsyncClient,
) -> None:
    """R36."""
    entry = await remember(client, "s", "before")
    revise = {"scope_id": "s", "citation": entry["citation"], "kind": PLACE, "text": PLACE, "reason": PLACE}
    revised = (await post(client, "/v1/memory/entries/revise", revise))["entry"]
    experience = await add_experience(client, "s", EXPERIENCE)
    profile = await add_profile(client, "s", PLACE)
    added = await client.post("/v1/scopes/s/artifacts", json={"family": "topic-memory", "content": TOPIC})
    assert added.status_code == 201

    read = await read_entry(client, "s", revised["citation"])
    assert (read["kind"], read["text"]) == (PLACE, PLACE)
    read = await post(client, "/v1/experience/get", {"scope_id": "s", "artifact": experience})
    assert read["content"] == EXPERIENCE
    read = (await client.get(f"/v1/scopes/s/artifacts/profile/profile/revisions/{profile['revision']}")).json()
    assert read["content"]["content"] == PLACE + "\n"
    topic = {"family": "topic-memory", "artifact_id": added.json()["artifact_id"], "revision": 1}
    read = await post(client, "/v1/topic-memory/get", {"scope_id": "s", "artifact": topic})
    assert {name: read[name] for name in TOPIC} == TOPIC

    await create_scope(client, "copy")
    exported = await export(client, "/v1/scopes/s")
    _, totals = await import_lines(client, "/v1/scopes/copy", exported)
    assert totals == {"stored": 5, "skipped": 0, "refused": 0}
    before = await digests(client, "/v1/scopes/s")
    assert {family for family, _, _ in before} == {"memory", "experience", "profile", "topic-memory"}
    assert await digests(client, "/v1/scopes/copy") == before
    assert await export(client, "/v1/scopes/copy") == exported

    for scope_id in ("s", "copy"):
        for word in ("𠮷野家", "部署"):
            assert await search(client, scope_id, word) == [PLACE]
            for path in ("/v1/experience/search", "/v1/topic-memory/search"):
                assert len((await post(client, path, {"scope_id": scope_id, "query": word}))["hits"]) == 1
