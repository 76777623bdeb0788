"""Hybrid search over HTTP: what is found by words, by vectors and by both; and what is not found any more."""

import sqlite3
from pathlib import Path
from typing import Any

import pytest

from adapters import open_storage
from service.app import create_app
from service.inference import make_missing_vectors, missing_vectors, opened_embedding
from service.settings import Settings
from tests.api.application import assert_error, create_scope
from tests.inference.calls import found, prepare, remember, search
from tests.inference.conftest import Serve, embedding_settings
from tests.inference.provider import Provider

TOPIC = {"title": "Ships", "summary": "How a vessel is kept.", "detail": "Paint it in spring."}
EXPERIENCE = {"situation": "The vessel leaks.", "action": "Pump.", "outcome": "Dry.", "lesson": "Caulk the boat."}


def stored_vectors(path: Path) -> int:
    with sqlite3.connect(path) as connection:
        (count,) = connection.execute("SELECT COUNT(*) FROM embedding").fetchone()
    connection.close()
    return int(count)


async def test_vectors_find_what_shares_no_word_and_words_what_shares_no_subject(
    serve: Serve, embedder: Provider
) -> None:
    async with serve(**embedding_settings(embedder)) as client:
        for text in ("An automobile needs oil", "Grease the winch", "A boat needs wind"):
            await remember(client, text)
        answer = (await search(client, "vehicle winch")).json()
        assert answer["mode"] == "hybrid"
        by = {hit["text"]: hit["matched_by"] for hit in answer["hits"]}
        assert by["An automobile needs oil"] == ["vector"]
        assert by["Grease the winch"][0] == "fts"
        for mode, first in (("vector", "An automobile needs oil"), ("fts", "Grease the winch")):
            answer = (await search(client, "vehicle winch", mode)).json()
            assert (answer["mode"], answer["hits"][0]["text"]) == (mode, first)
            assert {tuple(hit["matched_by"]) for hit in answer["hits"]} == {(mode,)}


async def test_scores_are_from_0_to_1_in_descending_order_and_1_for_the_first_of_both_rankings(
    serve: Serve, embedder: Provider
) -> None:
    async with serve(**embedding_settings(embedder)) as client:
        for text in ("A boat needs wind", "The car has oil", "Storage is full", "The car is parked"):
            await remember(client, text)
        for mode in ("hybrid", "vector", "fts"):
            scores = [hit["score"] for hit in (await search(client, "car parked", mode)).json()["hits"]]
            assert scores == sorted(scores, reverse=True)
            assert all(0 < score <= 1 for score in scores)
        best = (await search(client, "car parked", "hybrid")).json()["hits"][0]
        assert (best["text"], best["score"]) == ("The car is parked", 1.0)
        assert best["matched_by"] == ["fts", "vector"]


async def test_a_query_without_words_finds_nothing_and_an_unknown_scope_asks_no_provider(
    serve: Serve, embedder: Provider
) -> None:
    async with serve(**embedding_settings(embedder)) as client:
        assert (await search(client, "car", "hybrid")).json() == {"memory": None, "mode": None, "hits": []}
        await remember(client, "car")
        assert await found(client, "?!", "hybrid") == []
        asked = len(embedder.asked)
        for mode in ("auto", "hybrid"):
            body = {"scope_id": "unknown", "query": "car", "mode": mode}
            assert_error(await client.post("/v1/memory/search", json=body), 404, "scope_not_found")
        assert len(embedder.asked) == asked


async def test_what_was_superseded_retired_or_erased_has_no_vector_any_more(
    serve: Serve, embedder: Provider, tmp_path: Path
) -> None:
    async with serve(**embedding_settings(embedder)) as client:
        first = await remember(client, "The old car is red")
        await remember(client, "The boat is green")
        revise = {"scope_id": "s", "citation": first, "kind": "fact", "text": "The new automobile is blue"}
        first["memory_ref"]["revision"] = 2
        second = (await client.post("/v1/memory/entries/revise", json=revise)).json()["entry"]["citation"]
        assert stored_vectors(tmp_path / "context.db") == 2
        assert "The old car is red" not in await found(client, "vehicle red", "hybrid")
        assert (await found(client, "vehicle", "vector"))[0] == "The new automobile is blue"

        await client.post("/v1/memory/entries/retire", json={"scope_id": "s", "citation": second})
        assert stored_vectors(tmp_path / "context.db") == 1
        assert await found(client, "vehicle", "vector") == ["The boat is green"]

        third = await remember(client, "A secret vehicle")
        await client.post("/v1/memory/entries/erase", json={"scope_id": "s", "entry_id": third["entry_id"]})
        assert await found(client, "vehicle", "vector") == ["The boat is green"]
        await create_scope(client, "other")
        await remember(client, "car", "other")
        deleted = await client.post("/v1/scopes/other/delete", json={"expected_version": 1})
        assert deleted.status_code == 200
        assert stored_vectors(tmp_path / "context.db") == 1


async def test_a_process_without_a_provider_takes_vectors_out_too(
    serve: Serve, embedder: Provider, tmp_path: Path
) -> None:
    async with serve(**embedding_settings(embedder)) as client:
        citation = await remember(client, "A secret car")
    async with serve() as client:
        await client.post("/v1/memory/entries/erase", json={"scope_id": "s", "entry_id": citation["entry_id"]})
    assert stored_vectors(tmp_path / "context.db") == 0


async def test_experience_and_topic_memory_are_found_by_their_vectors(
    serve: Serve, embedder: Provider, tmp_path: Path
) -> None:
    async with serve(**embedding_settings(embedder)) as client:
        for family, content in (("experience", EXPERIENCE), ("topic-memory", TOPIC)):
            body = {"family": family, "content": content}
            assert (await client.post("/v1/scopes/s/artifacts", json=body)).status_code == 201
        body = {"scope_id": "s", "query": "ship"}
        experiences = (await client.post("/v1/experience/search", json=body)).json()
        assert [hit["content"] for hit in experiences["hits"]] == [EXPERIENCE]
        topics = (await client.post("/v1/topic-memory/search", json=body)).json()
        assert topics["mode"] == "hybrid"
        (hit,) = topics["hits"]
        assert (hit["title"], hit["matched_by"], hit["snippet"]) == ("Ships", ["topic_fts", "topic_vector"], None)
        assert 0 < hit["score"] <= 100
        by_vector = (await client.post("/v1/topic-memory/search", json={**body, "query": "boat"})).json()
        assert by_vector["hits"][0]["matched_by"] == ["topic_vector"]
        assert stored_vectors(tmp_path / "context.db") == 2

        artifact = experiences["hits"][0]["artifact"]["artifact_id"]
        erased = await client.post(f"/v1/scopes/s/artifacts/experience/{artifact}/erase", json={})
        assert erased.status_code == 200
        assert stored_vectors(tmp_path / "context.db") == 1


async def test_a_pending_or_rejected_experience_is_not_found_and_an_approved_one_is(
    serve: Serve, embedder: Provider
) -> None:
    async with serve(**embedding_settings(embedder)) as client:
        proposal = {"scope_id": "s", "proposal": EXPERIENCE}
        candidates = [(await client.post("/v1/experience/propose", json=proposal)).json() for _ in range(2)]
        body = {"scope_id": "s", "query": "ship"}
        assert (await client.post("/v1/experience/search", json=body)).json() == {"hits": []}
        named = [{"scope_id": "s", "candidate_id": each["candidate_id"], "expected_version": 1} for each in candidates]
        await client.post("/v1/artifact-candidates/reject", json={**named[0], "reason": "no"})
        assert (await client.post("/v1/experience/search", json=body)).json() == {"hits": []}
        await client.post("/v1/artifact-candidates/approve", json=named[1])
        assert len((await client.post("/v1/experience/search", json=body)).json()["hits"]) == 1


async def test_one_prepare_asks_for_one_vector_however_many_scopes_it_reads(serve: Serve, embedder: Provider) -> None:
    async with serve(**embedding_settings(embedder)) as client:
        for scope_id in ("r1", "r2"):
            await create_scope(client, scope_id)
            await remember(client, f"An automobile of {scope_id}", scope_id)
        body = {"title": "t", "summary": "s", "context_references": ["r1", "r2"], "expected_version": 1}
        assert (await client.put("/v1/scopes/s", json=body)).status_code == 200
        asked = len(embedder.asked)
        prepared = (await prepare(client, "vehicle", {})).json()
        assert "An automobile of r1" in prepared["content"]
        assert "An automobile of r2" in prepared["content"]
        assert len(embedder.asked) == asked + 1
        await prepare(client, "vehicle", {"sections": []})
        await prepare(client, "vehicle", {"sections": [{"family": "profile", "limit": 1}]})
        assert len(embedder.asked) == asked + 1


async def test_an_import_makes_vectors(serve: Serve, embedder: Provider, tmp_path: Path) -> None:
    lines = "".join(f'{{"type":"memory-entry","kind":"fact","text":"car number {n}"}}\n' for n in range(100))
    async with serve(**embedding_settings(embedder)) as client:
        headers = {"Content-Type": "application/x-ndjson"}
        answer = await client.post("/v1/scopes/s/import", content=lines.encode(), headers=headers)
        assert answer.text.splitlines()[-1] == '{"totals":{"stored":100,"skipped":0,"refused":0}}'
        assert stored_vectors(tmp_path / "context.db") == 100
        assert len(embedder.asked) == 4  # batches of 32


async def test_the_server_says_what_it_can(serve: Serve, embedder: Provider) -> None:
    async with serve() as client:
        assert (await client.get("/v1/capabilities")).json()["search_modes"] == ["auto", "fts"]
        for mode in ("vector", "hybrid"):
            assert_error(await search(client, "car", mode), 422, "capability_not_supported")
    async with serve(**embedding_settings(embedder)) as client:
        assert (await client.get("/v1/capabilities")).json()["search_modes"] == ["auto", "fts", "vector", "hybrid"]
        checks = (await client.get("/health/ready")).json()["checks"]
        assert (checks["embedding_provider"], checks["vectors"]) == ("ok", "ok")


async def test_vectors_of_another_model_or_dimension_are_noticed_and_left_alone_until_reindex(
    serve: Serve, embedder: Provider, database_url: str, tmp_path: Path
) -> None:
    async with serve(**embedding_settings(embedder)) as client:
        await remember(client, "An automobile needs oil")
    for changed in ({"inference_embedding_model": "other"}, {"inference_embedding_dimension": 3}):
        async with serve(**embedding_settings(embedder, **changed)) as client:
            ready = (await client.get("/health/ready")).json()
            assert ready["status"] == "degraded"
            assert "reindex" in ready["checks"]["vectors"]
            assert (await client.get("/v1/capabilities")).json()["search_modes"] == ["auto", "fts"]
            assert_error(await search(client, "car", "hybrid"), 422, "capability_not_supported")
            asked = len(embedder.asked)
            assert (await search(client, "automobile")).json()["mode"] == "fts"
            await remember(client, f"A boat of {changed}")
            assert len(embedder.asked) == asked
    assert stored_vectors(tmp_path / "context.db") == 1

    settings = Settings(database_url=database_url, **embedding_settings(embedder, inference_embedding_model="other"))
    storage = await open_storage(database_url)
    try:
        await storage.check()
        async with opened_embedding(settings) as provider:
            assert await make_missing_vectors(storage, provider) == 3
            assert await missing_vectors(storage) == 0
            assert await make_missing_vectors(storage, provider) == 0
    finally:
        await storage.close()
    async with serve(**embedding_settings(embedder, inference_embedding_model="other")) as client:
        assert (await client.get("/health/ready")).json()["status"] == "ready"
        assert (await found(client, "vehicle", "vector"))[0] == "An automobile needs oil"


async def test_without_a_provider_there_is_no_table_of_vectors(serve: Serve, tmp_path: Path) -> None:
    async with serve() as client:
        await remember(client, "car")
    with pytest.raises(sqlite3.OperationalError, match="no such table"):
        stored_vectors(tmp_path / "context.db")


def test_the_application_opens_no_provider_before_it_starts(database_url: str) -> None:
    settings: dict[str, Any] = {"inference_embedding_base_url": "http://127.0.0.1:9", "inference_embedding_model": "m"}
    create_app(Settings(database_url=database_url, inference_embedding_dimension=4, **settings))
