"""Conditional requests on Artifacts (RFC 9110, section 13)."""

from typing import Any

import httpx
import pytest

from tests.api.application import assert_error, assert_invalid

ARTIFACTS = "/v1/scopes/s/artifacts"


def experience(lesson: str) -> dict[str, Any]:
    return {"situation": "s", "action": "a", "outcome": "o", "lesson": lesson}


@pytest.fixture
async def path(client: httpx.AsyncClient) -> str:
    """An Experience at revision 2."""
    created = await client.post(ARTIFACTS, json={"family": "experience", "content": experience("one")})
    assert created.status_code == 201
    assert created.headers["etag"] == '"revision:1"'
    location = str(created.headers["location"])
    assert location == f"{ARTIFACTS}/experience/{created.json()['artifact_id']}"
    replaced = await client.put(location, json={"content": experience("two")}, headers={"If-Match": '"revision:1"'})
    assert (replaced.status_code, replaced.headers["etag"]) == (200, '"revision:2"')
    assert replaced.json()["revision"] == 2
    return location


@pytest.mark.parametrize(
    "tags",
    ['"revision:2"', 'W/"revision:2"', "*", '"x", "revision:2"', '"revision:1","revision:2"', ' "revision:2" , W/"y"'],
)
async def test_if_none_match_with_the_head_is_304_without_a_body(
    client: httpx.AsyncClient, path: str, tags: str
) -> None:
    answer = await client.get(path, headers={"If-None-Match": tags})
    assert answer.status_code == 304
    assert answer.content == b""
    assert answer.headers["etag"] == '"revision:2"'
    assert "content-type" not in answer.headers


@pytest.mark.parametrize(
    "tags", ['"revision:1"', '"revision:22"', "revision:2", '"REVISION:2"', '"*"', "", '"a revision:2"']
)
async def test_if_none_match_with_anything_else_gives_the_head(client: httpx.AsyncClient, path: str, tags: str) -> None:
    answer = await client.get(path, headers={"If-None-Match": tags})
    assert (answer.status_code, answer.headers["etag"]) == (200, '"revision:2"')
    assert answer.json()["content"] == experience("two")


async def test_exact_revisions_are_never_304(client: httpx.AsyncClient, path: str) -> None:
    for revision in (1, 2):
        answer = await client.get(f"{path}/revisions/{revision}", headers={"If-None-Match": f'"revision:{revision}"'})
        assert answer.status_code == 200
        assert answer.json()["revision"] == revision


async def test_a_write_needs_if_match(client: httpx.AsyncClient, path: str) -> None:
    assert_error(await client.put(path, json={"content": experience("x")}), 428, "precondition_required")
    for tag in ('"revision:1"', '"revision:3"', '"other"', '"revision:0"', '"revision:9223372036854775808"'):
        answer = await client.put(path, json={"content": experience("x")}, headers={"If-Match": tag})
        assert_error(answer, 412, "revision_conflict")
    for garbage in ("revision:2", "2", "", '"revision:2', '"a" "b"', "*"):
        answer = await client.put(path, json={"content": experience("x")}, headers={"If-Match": garbage})
        assert_invalid(answer, "header", "If-Match")
    assert (await client.get(path)).json()["revision"] == 2


async def test_a_missing_artifact_is_404_whatever_if_none_match_says(client: httpx.AsyncClient) -> None:
    answer = await client.get(f"{ARTIFACTS}/experience/none", headers={"If-None-Match": "*"})
    assert_error(answer, 404, "artifact_not_found")
