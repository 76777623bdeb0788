"""The index and what it was made from agree at once, on every instance, and the service says truthfully what it can."""

import httpx
import pytest

from tests.field_cases.calls import (
    OUTPUTS,
    Instance,
    create_scope,
    entry_lines,
    import_lines,
    post,
    prepare,
    read_entry,
    remember,
    search,
)

OLD, NEW, OTHER = "the needle is red", "the needle is blue", "the needle has an eye"


async def test_what_was_retired_or_replaced_is_gone_at_once_on_every_instance(instance: Instance) -> None:
    """R16."""
    async with instance() as one, instance() as two:
        await create_scope(one, "s")
        retired = await remember(one, "s", OTHER)
        entry = await remember(one, "s", OLD)
        assert await contains(one, two, OTHER)
        assert await contains(one, two, OLD)

        head = entry["citation"]["memory_ref"]
        await post(
            one, "/v1/memory/entries/retire", {"scope_id": "s", "citation": {**retired["citation"], "memory_ref": head}}
        )
        assert not await contains(one, two, OTHER)
        assert await contains(one, two, OLD)

        citation = (await post(two, "/v1/memory/entries/list", {"scope_id": "s"}))["entries"][0]["citation"]
        body = {"scope_id": "s", "citation": citation, "kind": "note", "text": NEW}
        await post(two, "/v1/memory/entries/revise", body)
        assert not await contains(one, two, OLD)
        assert await contains(one, two, NEW)

        for client in (one, two):
            assert (await read_entry(client, "s", retired["citation"]))["text"] == OTHER
            assert (await read_entry(client, "s", entry["citation"]))["text"] == OLD


async def contains(one: httpx.AsyncClient, two: httpx.AsyncClient, text: str) -> bool:
    """Whether every way of recall on both instances, which must agree, gives `text`."""
    given = []
    for client in (one, two):
        given.append(text in await search(client, "s", "needle"))
        given += [text in (await prepare(client, "s", "needle", **options) or "") for options in OUTPUTS]
    assert len(set(given)) == 1
    return given[0]


async def test_without_an_embedding_provider_the_service_offers_and_serves_text_search_alone(
    client: httpx.AsyncClient,
) -> None:
    """R18."""
    modes = (await client.get("/v1/capabilities")).json()["search_modes"]
    assert modes == ["auto", "fts"]
    texts = [f"needle number {number}" for number in range(15)]
    _, totals = await import_lines(client, "/v1/scopes/s", entry_lines(texts))
    assert totals == {"stored": 15, "skipped": 0, "refused": 0}
    for mode in modes:
        answer = await post(
            client, "/v1/memory/search", {"scope_id": "s", "query": "needle", "limit": 50, "mode": mode}
        )
        assert answer["mode"] == "fts"
        assert sorted(hit["text"] for hit in answer["hits"]) == sorted(texts)
        assert {tuple(hit["matched_by"]) for hit in answer["hits"]} == {("fts",)}
    ready = await client.get("/health/ready")
    assert (ready.status_code, ready.json()["status"]) == (200, "ready")
    checks = ready.json()["checks"]
    assert {name for name, text in checks.items() if text == "ok"} == {"database", "migrations", "writes"}
    assert checks["embedding_provider"] == "none configured"


@pytest.mark.parametrize("mode", ["vector", "hybrid"])
async def test_a_mode_that_needs_vectors_is_refused_and_not_answered_empty(
    client: httpx.AsyncClient, mode: str
) -> None:
    """R18; in a Scope without Memory too."""
    body = {"scope_id": "s", "query": "needle", "mode": mode}
    without_memory = await post(client, "/v1/memory/search", body, 422)
    await remember(client, "s", "needle")
    with_memory = await post(client, "/v1/memory/search", body, 422)
    for answer in (without_memory, with_memory):
        assert answer["error"]["code"] == "capability_not_supported"
