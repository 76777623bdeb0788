"""Drives a running sidecar through the published PowerContext client; run by that client's own interpreter.

Usage: published_client.py BASE_URL. Prints one line for each step and ends with exit code 0 when all succeeded.
"""

import asyncio
import sys
import typing

import httpx
from powercontext.client import PowerContextClient  # type: ignore[import-not-found]  # of another environment


def request(method: str, **fields: object) -> object:
    """The request object that a method of the client takes, with these fields."""
    kind = typing.get_type_hints(getattr(PowerContextClient, method))["request"]
    return kind.model_validate(fields)


async def drive(client: PowerContextClient, base_url: str) -> None:
    """Scopes, Memory, prepare with and without assembly, Experience with review, exact reads."""

    async def call(method: str, *path: object, **fields: object) -> typing.Any:
        answer = await getattr(client, method)(*path, request(method, **fields))
        print(method, "ok")
        return answer

    scope = await call("create_scope", title="Peer", summary="Through the published client", idempotency_key="peer-1")
    scope_id = scope.scope_id
    assert (await client.get_scope(scope_id)).version == 1
    page = await client.list_scopes()
    assert scope_id in [item.scope_id for item in page.items]
    updated = await call(
        "update_scope", scope_id, expected_version=1, title="Peer 2", summary="s", context_references=[],
        parent_scope_id=None, external_references=[],
    )  # fmt: skip
    assert updated.version == 2

    text = "修改 OpenAPI 后，需要重新生成客户端并运行契约测试。"
    remembered = await call("remember_memory", scope_id=scope_id, kind="fact", text=text)
    citation = remembered.entry.citation.model_dump(mode="json")
    found = await call("search_memory", scope_id=scope_id, query="OpenAPI 客户端")
    assert found.hits[0].text == text
    assert (await call("get_memory_entry", scope_id=scope_id, citation=citation)).text == text
    assert len((await call("list_memory_entries", scope_id=scope_id)).entries) == 1
    assert len((await call("list_memory_changes", scope_id=scope_id)).revisions) == 1

    legacy = await call("prepare_context", scope_id=scope_id, query="OpenAPI")
    assert legacy.status == "ready"
    assert "BEGIN_POWERCONTEXT_PREPARED_CONTEXT_V1" in legacy.content
    assembly = {"sections": [{"family": "memory", "limit": 2}], "show": ["recall_rank"]}
    markdown = await call("prepare_context", scope_id=scope_id, query="OpenAPI", assembly=assembly)
    assert "BEGIN_POWERCONTEXT_PREPARED_TEXT_V1" in markdown.content
    assert len(markdown.content.encode()) == markdown.content_bytes
    empty = await call("prepare_context", scope_id=scope_id, query="OpenAPI", assembly={"sections": []})
    assert empty.status == "empty"

    revised = await call(
        "revise_memory_entry", scope_id=scope_id, citation=citation, kind="fact", text=text + " Always."
    )
    await call("retire_memory_entry", scope_id=scope_id, citation=revised.entry.citation.model_dump(mode="json"))
    assert (await call("get_memory_entry", scope_id=scope_id, citation=citation)).text == text

    proposal = {"situation": "s", "action": "a", "outcome": "o", "lesson": "Always regenerate the client."}
    candidate = await call("propose_experience", scope_id=scope_id, proposal=proposal, source_refs=[], artifact_refs=[])
    listed = await call("list_artifact_candidates", scope_id=scope_id)
    assert [each.candidate_id for each in listed.candidates] == [candidate.candidate_id]
    got = await call("get_artifact_candidate", scope_id=scope_id, candidate_id=candidate.candidate_id)
    approved = await call(
        "approve_artifact_candidate", scope_id=scope_id, candidate_id=got.candidate_id, expected_version=got.version
    )
    artifact = approved.result_artifact.model_dump(mode="json")
    experience = await call("get_experience", scope_id=scope_id, artifact=artifact)
    assert experience.content.lesson == proposal["lesson"]
    other = await call("propose_experience", scope_id=scope_id, proposal=proposal, source_refs=[], artifact_refs=[])
    await call(
        "reject_artifact_candidate", scope_id=scope_id, candidate_id=other.candidate_id, expected_version=1,
        reason="twice",
    )  # fmt: skip

    head = await client.get_artifact(scope_id, "experience", artifact["artifact_id"])
    assert head.revision == 1
    exact = await client.get_artifact_revision(scope_id, "experience", artifact["artifact_id"], 1)
    assert exact.content_digest == head.content_digest
    assert (
        await client.get_artifact(scope_id, "experience", artifact["artifact_id"], if_none_match='"revision:1"') is None
    )
    memory = await client.get_artifact(scope_id, "memory", "memory")
    assert memory.revision == 3
    await call("list_artifacts", scope_id, "experience")
    await call("list_artifact_revisions", scope_id, "experience", artifact["artifact_id"])
    await call("create_artifact", scope_id, family="profile", content={"content": "# Peer\n"})
    # The published client writes no Topic Memory, but finds and reads one.
    async with httpx.AsyncClient(base_url=base_url) as plain:
        detail = {"title": "Clients", "summary": "How clients are made", "detail": "make api-generate"}
        body = {"family": "topic-memory", "content": detail}
        assert (await plain.post(f"/v1/scopes/{scope_id}/artifacts", json=body)).status_code == 201
    topics = await call("search_topic_memory", scope_id=scope_id, query="clients")
    read = await call("get_topic_memory", scope_id=scope_id, artifact=topics.hits[0].artifact.model_dump(mode="json"))
    assert read.detail == "make api-generate"
    print("all ok")


async def main(base_url: str) -> None:
    """Drive the server at `base_url`."""
    client = PowerContextClient(base_url)
    try:
        await drive(client, base_url)
    finally:
        await client.aclose()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
