"""Whatever an embedding provider does, no request gives a wrong or an empty answer because of it."""

import asyncio
import json
import logging
import math
from typing import Any

import httpx
import pytest
import structlog

from adapters.embedding import OpenAIEmbedding
from adapters.inference import inference_client
from contracts.errors import ContextError
from contracts.ports import VectorSpace
from service import inference
from tests.api.application import assert_error
from tests.inference.calls import failures, found, prepare, remember, search
from tests.inference.conftest import TIMEOUT_S, Serve, embedding_settings
from tests.inference.provider import (
    DIMENSION,
    Fault,
    Provider,
    breaks_off,
    changes,
    drips,
    embedding,
    hangs,
    never_ends,
    resets,
    sends,
)


def each(change: Any) -> Fault:
    """Changes every vector of the right answer."""
    return changes(
        lambda answer: {"data": [{**item, "embedding": change(item["embedding"])} for item in answer["data"]]}
    )


def first_value(literal: str) -> Fault:
    """Puts a JSON literal where the first value of each vector stood."""

    async def fault(writer: asyncio.StreamWriter, answer: Any) -> None:
        changed = {"data": [{**item, "embedding": ["MARK", *item["embedding"][1:]]} for item in answer["data"]]}
        await sends(json.dumps(changed).replace('"MARK"', literal).encode())(writer, answer)

    return fault


def stub_embedding(client: httpx.AsyncClient, running: Provider) -> OpenAIEmbedding:
    """Two texts a request."""
    return OpenAIEmbedding(
        client,
        base_url=running.url + "/",
        api_key="k3y",
        space=VectorSpace("stub", DIMENSION),
        timeout_s=TIMEOUT_S,
        batch_size=2,
    )


TIMEOUT = (503, "inference_timeout")
UNAVAILABLE = (503, "inference_unavailable")
SENSELESS = (500, "internal_error")

FAULTS: list[tuple[str, Fault, tuple[int, str]]] = [
    ("hangs", hangs, TIMEOUT),
    ("drips", drips, TIMEOUT),
    ("resets", resets, UNAVAILABLE),
    ("breaks off", breaks_off, UNAVAILABLE),
    ("401", sends(b'{"error":"no"}', "401 Unauthorized"), UNAVAILABLE),
    ("429", sends(b"{}", "429 Too Many Requests", "Retry-After: 60"), UNAVAILABLE),
    ("500", sends(b"{}", "500 Internal Server Error"), UNAVAILABLE),
    ("redirect", sends(b"", "307 Temporary Redirect", "Location: /v1/embeddings"), UNAVAILABLE),
    ("204", sends(b"", "204 No Content"), UNAVAILABLE),
    ("an empty body", sends(b""), SENSELESS),
    ("HTML", sends(b"<html>Sign in</html>", kind="text/html"), SENSELESS),
    ("no JSON", sends(b'{"data":['), SENSELESS),
    ("other JSON", sends(b'{"result":[]}'), SENSELESS),
    ("an array", sends(b"[]"), SENSELESS),
    ("not UTF-8", sends(b'{"data":"\xff"}'), SENSELESS),
    ("deep", sends(b"[" * 100_000), SENSELESS),
    ("compressed", sends(b"\x1f\x8b\x08\x00", "200 OK", "Content-Encoding: gzip"), SENSELESS),
    ("huge", never_ends, SENSELESS),
    ("no vectors", changes(lambda answer: {"data": []}), SENSELESS),
    ("fewer vectors", changes(lambda answer: {"data": answer["data"][1:]}), SENSELESS),
    ("more vectors", changes(lambda answer: {"data": [*answer["data"], answer["data"][0] | {"index": 9}]}), SENSELESS),
    ("one twice", changes(lambda answer: {"data": [{**item, "index": 1} for item in answer["data"]]}), SENSELESS),
    ("shorter", each(lambda vector: vector[:-1]), SENSELESS),
    ("longer", each(lambda vector: [*vector, 0.5]), SENSELESS),
    ("empty", each(lambda vector: []), SENSELESS),
    ("zero", each(lambda vector: [0.0] * DIMENSION), SENSELESS),
    ("base64", each(lambda vector: "AACAPw=="), SENSELESS),
    ("NaN", first_value("NaN"), SENSELESS),
    ("Infinity", first_value("Infinity"), SENSELESS),
    ("out of range", first_value("1e999"), SENSELESS),
    ("null", first_value("null"), SENSELESS),
    ("text", first_value('"1"'), SENSELESS),
    ("true", first_value("true"), SENSELESS),
]


@pytest.mark.parametrize(("fault", "expected"), [pytest.param(*rest, id=name) for name, *rest in FAULTS])
async def test_a_wrong_answer_is_an_error_and_is_asked_for_once(
    embedder: Provider, fault: Fault, expected: tuple[int, str]
) -> None:
    embedder.fault = fault
    async with inference_client() as client:
        asked = stub_embedding(client, embedder)
        with pytest.raises(ContextError) as failed:
            await asked.embed(["car", "ship"])
        assert (failed.value.status, failed.value.code) == expected
        assert len(embedder.asked) == 1


async def test_vectors_come_in_the_order_of_the_texts_in_batches_and_at_unit_length(embedder: Provider) -> None:
    texts = ["car", "ship", "database", "car car", "nothing"]
    async with inference_client() as client:
        vectors = await stub_embedding(client, embedder).embed(texts)
    assert [request["input"] for _, _, request in embedder.asked] == [texts[:2], texts[2:4], texts[4:]]
    assert {request["model"] for _, _, request in embedder.asked} == {"stub"}
    assert {path for path, _, _ in embedder.asked} == {"/v1/embeddings"}
    for text, vector in zip(texts, vectors, strict=True):
        length = math.sqrt(sum(value * value for value in embedding(text)))
        assert vector == pytest.approx([value / length for value in embedding(text)])


async def test_values_of_any_size_are_brought_to_unit_length(embedder: Provider) -> None:
    embedder.answer = lambda request: {"data": [{"index": 0, "embedding": [3e300, 4e300, 0, 0]}]}
    async with inference_client() as client:
        (vector,) = await stub_embedding(client, embedder).embed(["x"])
    assert vector == pytest.approx((0.6, 0.8, 0, 0))


async def test_a_long_text_is_cut_to_its_beginning_and_end(embedder: Provider) -> None:
    async with inference_client() as client:
        await stub_embedding(client, embedder).embed(["汉" * 4000 + "end"])
    ((sent,),) = (request["input"] for _, _, request in embedder.asked)
    assert len(sent.encode()) <= 8192
    assert sent.startswith("汉汉")
    assert sent.endswith("汉end")
    assert "\ufffd" not in sent


OF_EACH_KIND = [fault for fault in FAULTS if fault[0] in ("hangs", "resets", "401", "fewer vectors", "NaN", "HTML")]


@pytest.mark.parametrize(("fault", "expected"), [pytest.param(*rest, id=name) for name, *rest in OF_EACH_KIND])
async def test_a_fault_costs_no_write_and_no_answer(
    serve: Serve, embedder: Provider, fault: Fault, expected: tuple[int, str]
) -> None:
    async with serve(**embedding_settings(embedder)) as client:
        await remember(client, "The car is parked.")
        embedder.fault = fault
        await remember(client, "An automobile needs oil.")
        assert (await failures(client))[expected[1], "write"] == 1

        # Text ranking alone, and it says so.
        answer = (await search(client, "automobile oil")).json()
        assert (answer["mode"], [hit["text"] for hit in answer["hits"]]) == ("fts", ["An automobile needs oil."])
        assert answer["hits"][0]["matched_by"] == ["fts"]
        prepared = (await prepare(client, "automobile oil")).json()
        assert prepared["status"] == "ready"
        assert "An automobile needs oil." in prepared["content"]
        assert "The car is parked." not in prepared["content"]
        assert (await failures(client))[expected[1], "query"] == 2

        # Who asks for vectors is told that there are none now.
        for mode in ("vector", "hybrid"):
            assert_error(await search(client, "automobile oil", mode), *expected)
        assert (await search(client, "automobile", "fts")).json()["mode"] == "fts"

        ready = await client.get("/health/ready")
        assert (ready.status_code, ready.json()["status"]) == (200, "degraded")
        assert expected[1] in ready.json()["checks"]["embedding_provider"]

        embedder.fault = None
        assert (await search(client, "automobile", "hybrid")).status_code == 200
        assert (await client.get("/health/ready")).json()["status"] == "ready"


async def test_a_provider_that_refuses_connections_is_unavailable(serve: Serve, embedder: Provider) -> None:
    async with serve(**embedding_settings(embedder)) as client:
        await embedder.stop()
        await remember(client, "The car is parked.")
        assert await found(client, "car parked") == ["The car is parked."]
        assert_error(await search(client, "car", "hybrid"), *UNAVAILABLE)


async def test_a_text_without_a_vector_gets_one_with_the_next_write(serve: Serve, embedder: Provider) -> None:
    async with serve(**embedding_settings(embedder)) as client:
        embedder.fault = resets
        await remember(client, "An automobile needs oil.")
        embedder.fault = None
        assert await found(client, "vehicle", "vector") == []
        await remember(client, "A boat needs wind.")
        assert (await found(client, "vehicle", "vector"))[0] == "An automobile needs oil."


async def test_after_a_failure_the_provider_rests_and_nobody_waits_for_it(
    serve: Serve, embedder: Provider, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(inference, "REST_S", 60.0)
    async with serve(**embedding_settings(embedder)) as client:
        embedder.fault = sends(b"", "429 Too Many Requests")
        for number in range(5):
            await remember(client, f"car {number}")
            assert len(await found(client, "car")) == number + 1
        assert len(embedder.asked) == 1
        assert await failures(client) == {
            ("inference_unavailable", "write"): 5,
            ("inference_unavailable", "query"): 5,
        }


async def test_a_slow_provider_leaves_recall_its_time(serve: Serve, embedder: Provider) -> None:
    """The provider may take 40 % of the recall deadline, whatever its own timeout is."""
    settings = embedding_settings(embedder, inference_embedding_timeout_seconds=60.0)
    async with serve(**settings, runtime_recall_timeout_seconds=0.5) as client:
        await remember(client, "The car is parked.")
        embedder.fault = hangs
        prepared = await asyncio.wait_for(prepare(client, "car"), 5)
        assert prepared.json()["status"] == "ready"


async def test_the_key_goes_to_the_provider_and_nowhere_else(
    serve: Serve, embedder: Provider, caplog: pytest.LogCaptureFixture
) -> None:
    for name in ("httpx", "httpcore"):
        caplog.set_level(logging.DEBUG, logger=name)
    with structlog.testing.capture_logs() as logs:
        async with serve(**embedding_settings(embedder)) as client:
            await remember(client, "secret car")
            embedder.fault = sends(b"", "307 Temporary Redirect", "Location: http://127.0.0.1:9/elsewhere")
            answer = await search(client, "secret car", "hybrid")
    assert [headers["authorization"] for _, headers, _ in embedder.asked] == ["bearer k3y", "bearer k3y"]
    said = answer.text + repr(logs) + caplog.text
    assert "k3y" not in said
    assert "secret car" not in said
