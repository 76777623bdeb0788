"""Requests of these tests."""

from typing import Any

import httpx

MEMORY = {"sections": [{"family": "memory", "limit": 8}]}


async def remember(client: httpx.AsyncClient, text: str, scope_id: str = "s") -> dict[str, Any]:
    """The citation of the new entry."""
    body = {"scope_id": scope_id, "kind": "fact", "text": text}
    answer = await client.post("/v1/memory/remember", json=body)
    assert answer.status_code == 200, answer.text
    citation: dict[str, Any] = answer.json()["entry"]["citation"]
    return citation


async def search(client: httpx.AsyncClient, query: str, mode: str = "auto", limit: int = 10) -> httpx.Response:
    body = {"scope_id": "s", "query": query, "mode": mode, "limit": limit}
    return await client.post("/v1/memory/search", json=body)


async def found(client: httpx.AsyncClient, query: str, mode: str = "auto") -> list[str]:
    """The texts of the hits, in order."""
    answer = await search(client, query, mode)
    assert answer.status_code == 200, answer.text
    return [hit["text"] for hit in answer.json()["hits"]]


async def prepare(client: httpx.AsyncClient, query: str, assembly: Any = MEMORY) -> httpx.Response:
    return await client.post("/v1/context/prepare", json={"scope_id": "s", "query": query, "assembly": assembly})


async def failures(client: httpx.AsyncClient) -> dict[tuple[str, str], int]:
    """(code, use) to how often a provider failed."""
    counted = {}
    for line in (await client.get("/metrics")).text.splitlines():
        if line.startswith("powercontext_inference_failures_total{"):
            labels, value = line.removeprefix("powercontext_inference_failures_total{").split("} ")
            code, use = (label.split("=")[1].strip('"') for label in labels.split(","))
            counted[code, use] = int(float(value))
    return counted
