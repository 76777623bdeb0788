"""Artifacts: heads and exact revisions with entity tags, listings, direct writes."""

import hashlib
import json
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import pytest

from tests.http_contract.api import (
    Api,
    Json,
    artifact_of,
    artifact_path,
    artifacts_path,
    experience,
    failed,
    invalid,
    ref_of,
    topic,
)

PROFILE = {"content": "# Profile é\n"}
STORED_PROFILE = {"schema": "powercontext.profile.v1", "media_type": "text/markdown", **PROFILE}
WRITTEN = {
    "experience": (experience("é"), experience("é")),
    "profile": (PROFILE, STORED_PROFILE),
    "topic-memory": (topic("标题"), topic("标题")),
}
FAMILIES = pytest.mark.parametrize("family", list(WRITTEN))


def digest_of(content: Json) -> str:
    canonical = json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return "sha256:" + hashlib.sha256(canonical.encode()).hexdigest()


def put(api: Api, scope: str, ref: Json, content: Json, if_match: str | None) -> httpx.Response:
    headers = {} if if_match is None else {"If-Match": if_match}
    return api.send("PUT", artifact_path(scope, ref), {"content": content}, headers=headers)


@FAMILIES
def test_a_direct_write_answers_201_with_location_and_etag(api: Api, scope: str, family: str) -> None:
    written, stored = WRITTEN[family]
    answer = api.send("POST", artifacts_path(scope), {"family": family, "content": written})
    artifact = artifact_of(answer, 201)
    assert artifact == {
        "scope_id": scope,
        "family": family,
        "artifact_id": artifact["artifact_id"],
        "revision": 1,
        "content": stored,
        "sources": [],
        "artifacts": [],
        "memory_citations": [],
        "content_digest": digest_of(stored),
    }
    assert answer.headers["Location"] == artifact_path(scope, artifact)
    assert artifact_of(api.get(answer.headers["Location"]), 200) == artifact
    assert api.read(scope, ref_of(artifact)) == artifact


def test_a_location_is_percent_encoded(api: Api) -> None:
    odd = api.new_scope("a/b %é?" + api.new_scope())
    answer = api.send("POST", artifacts_path(odd), {"family": "experience", "content": experience()})
    assert answer.headers["Location"].startswith(artifacts_path(odd) + "/experience/exp_")
    assert artifact_of(api.get(answer.headers["Location"]), 200) == answer.json()


@FAMILIES
def test_a_replacement_is_the_next_revision_and_the_old_one_stays(api: Api, scope: str, family: str) -> None:
    written, stored = WRITTEN[family]
    first = api.create_artifact(scope, family, written)
    changed = {name: text + "!" for name, text in written.items()}
    second = artifact_of(put(api, scope, first, changed, '"revision:1"'), 200)
    assert (second["revision"], second["artifact_id"]) == (2, first["artifact_id"])
    assert artifact_of(api.get(artifact_path(scope, first)), 200) == second
    assert api.read(scope, ref_of(first)) == first
    assert first["content"] == stored


@FAMILIES
def test_a_write_needs_if_match_at_the_head(api: Api, scope: str, family: str) -> None:
    written, _ = WRITTEN[family]
    first = api.create_artifact(scope, family, written)
    failed(put(api, scope, first, written, None), 428, "precondition_required")
    for stale in ('"revision:2"', '"revision:0"', '"other"'):
        failed(put(api, scope, first, written, stale), 412, "revision_conflict")
    api.replace_artifact(scope, ref_of(first), written)
    failed(put(api, scope, first, written, '"revision:1"'), 412, "revision_conflict")
    assert api.get(artifact_path(scope, first)).json()["revision"] == 2


def test_an_unknown_artifact_or_scope_is_404(api: Api, scope: str) -> None:
    unknown = {"family": "experience", "artifact_id": "exp_" + "0" * 32, "revision": 1}
    ref = ref_of(api.create_artifact(scope, "experience", experience()))
    for path in ("", "/revisions", "/revisions/1"):
        failed(api.get(artifact_path(scope, unknown) + path), 404, "artifact_not_found")
        failed(api.get(artifact_path("no-such-scope", ref) + path), 404, "scope_not_found")
    failed(api.get(artifact_path(scope, ref) + "/revisions/2"), 404, "artifact_not_found")
    failed(put(api, scope, unknown, experience(), '"revision:1"'), 404, "artifact_not_found")
    failed(put(api, "no-such-scope", ref, experience(), '"revision:1"'), 404, "scope_not_found")
    failed(api.get(artifacts_path("no-such-scope") + "/experience"), 404, "scope_not_found")
    creating = {"family": "experience", "content": experience()}
    failed(api.send("POST", artifacts_path("no-such-scope"), creating), 404, "scope_not_found")


def test_only_the_three_families_are_written_and_each_with_its_own_content(api: Api, scope: str) -> None:
    path = artifacts_path(scope)
    for family in ("memory", "skill", "Experience", None):
        failed(api.send("POST", path, {"family": family, "content": experience()}), 422, "invalid_request")
    failed(api.send("POST", path, {"content": experience()}), 422, "invalid_request")
    for family, other in (("experience", topic()), ("profile", experience()), ("topic-memory", PROFILE)):
        failed(api.send("POST", path, {"family": family, "content": other}), 422, "invalid_request")
    ref = ref_of(api.create_artifact(scope, "experience", experience()))
    failed(put(api, scope, ref, topic(), '"revision:1"'), 422, "invalid_request")
    api.remember(scope, "text")
    memory = {"family": "memory", "artifact_id": "memory", "revision": 1}
    failed(put(api, scope, memory, experience(), '"revision:1"'), 422, "invalid_request")
    invalid(api.get(f"{path}/skill"), "path", "family")


@FAMILIES
def test_the_head_is_304_when_if_none_match_names_it(api: Api, scope: str, family: str) -> None:
    written, _ = WRITTEN[family]
    ref = ref_of(api.create_artifact(scope, family, written))
    path = artifact_path(scope, ref)
    for tag in ('"revision:1"', 'W/"revision:1"', "*", '"other", "revision:1"'):
        answer = api.get(path, If_None_Match=tag)
        assert (answer.status_code, answer.content) == (304, b"")
        assert answer.headers["ETag"] == '"revision:1"'
        assert answer.headers["X-PowerContext-Request-ID"]
    for tag in ('"revision:2"', '"revision:11"', "revision:1"):
        assert artifact_of(api.get(path, If_None_Match=tag), 200)["revision"] == 1
    api.replace_artifact(scope, ref, written)
    assert artifact_of(api.get(path, If_None_Match='"revision:1"'), 200)["revision"] == 2
    assert api.get(path, If_None_Match='"revision:2"').status_code == 304
    for revision in (1, 2):
        exact = api.get(f"{path}/revisions/{revision}", If_None_Match=f'"revision:{revision}"')
        assert artifact_of(exact, 200)["revision"] == revision


def test_memory_is_read_as_manifests_with_their_changes(api: Api, scope: str) -> None:
    first = api.remember(scope, "first")["entry"]["citation"]
    second = api.remember(scope, "second", reason="why")["entry"]["citation"]
    entries = sorted(
        (
            {"entry_id": each["entry_id"], "entry_version_id": each["entry_version_id"], "state": "active"}
            for each in (first, second)
        ),
        key=lambda entry: entry["entry_id"],
    )
    head = artifact_of(api.get(artifacts_path(scope) + "/memory/memory"), 200)
    added = {
        "op": "add",
        "entry_id": second["entry_id"],
        "from_entry_version_id": None,
        "to_entry_version_id": second["entry_version_id"],
        "reason": "why",
    }
    content = {
        "schema": "powercontext.memory.v1",
        "manifest": {"format": "flat-v1", "entries": entries},
        "changes": [added],
    }
    assert (head["revision"], head["content"], head["content_digest"]) == (2, content, digest_of(content))
    old = api.read(scope, {"family": "memory", "artifact_id": "memory", "revision": 1})
    assert [entry["entry_id"] for entry in old["content"]["manifest"]["entries"]] == [first["entry_id"]]
    assert api.get(artifacts_path(scope) + "/memory/memory", If_None_Match='"revision:2"').status_code == 304
    failed(api.get(artifacts_path(scope) + "/memory/other"), 404, "artifact_not_found")
    failed(api.get(artifacts_path(scope) + "/memory/memory/revisions/3"), 404, "artifact_not_found")


def pages(api: Api, path: str, limit: int) -> list[Json]:
    page = api.list_artifacts(f"{path}?limit={limit}")
    found: list[Json] = page["items"]
    while page["next_cursor"] is not None:
        assert len(page["items"]) == limit
        page = api.list_artifacts(f"{path}?limit={limit}&cursor={page['next_cursor']}")
        found = [*found, *page["items"]]
    return found


@FAMILIES
def test_revisions_are_listed_newest_first_page_by_page(api: Api, scope: str, family: str) -> None:
    written, _ = WRITTEN[family]
    ref = ref_of(api.create_artifact(scope, family, written))
    for _ in range(4):
        ref = ref_of(api.replace_artifact(scope, ref, written))
    path = artifact_path(scope, ref) + "/revisions"
    everything = api.list_artifacts(path)
    assert everything["next_cursor"] is None
    assert [item["revision"] for item in everything["items"]] == [5, 4, 3, 2, 1]
    assert pages(api, path, 2) == pages(api, path, 1) == pages(api, path, 5) == everything["items"]


def test_the_family_list_has_heads_alone_in_order_of_id(api: Api, scope: str) -> None:
    made = [api.create_artifact(scope, "topic-memory", topic(f"title {n}", f"summary {n}")) for n in range(5)]
    replaced = api.replace_artifact(scope, ref_of(made[2]), topic("new title", "new summary"))
    heads = {each["artifact_id"]: each for each in (*made, replaced)}
    path = artifacts_path(scope) + "/topic-memory"
    items = api.list_artifacts(path)["items"]
    assert [item["artifact_id"] for item in items] == sorted(heads)
    for item in items:
        head = heads[item["artifact_id"]]
        shared = set(item) & set(head)
        assert {name: item[name] for name in shared} == {name: head[name] for name in shared}
        assert (item["title"], item["summary"]) == (head["content"]["title"], head["content"]["summary"])
        age = datetime.now(UTC) - datetime.fromisoformat(item["published_at"])
        assert timedelta(0) <= age < timedelta(minutes=1)
    assert pages(api, path, 1) == pages(api, path, 2) == items
    assert api.list_artifacts(artifacts_path(scope) + "/experience") == {"items": [], "next_cursor": None}


def test_memory_is_listed_too(api: Api, scope: str) -> None:
    path = artifacts_path(scope) + "/memory"
    assert api.list_artifacts(path)["items"] == []
    for number in range(3):
        api.remember(scope, f"entry {number}")
    (head,) = api.list_artifacts(path)["items"]
    assert (head["artifact_id"], head["revision"]) == ("memory", 3)
    revisions = pages(api, path + "/memory/revisions", 1)
    assert [item["revision"] for item in revisions] == [3, 2, 1]
    for item in revisions:
        assert item["content_digest"] == api.read(scope, ref_of(item))["content_digest"]


def test_both_lists_have_fifty_lines_unless_asked_otherwise(api: Api, scope: str) -> None:
    lines: list[Json] = [{"type": "experience", "content": experience(str(number))} for number in range(51)]
    lines += [{"type": "profile", "content": {"content": str(number)}, "revision": number} for number in range(1, 52)]
    assert {report["status"] for report in api.import_lines(scope, *lines)} == {"stored"}
    for path in ("/experience", "/profile/profile/revisions"):
        page = api.list_artifacts(artifacts_path(scope) + path)
        assert len(page["items"]) == 50
        rest = api.list_artifacts(f"{artifacts_path(scope)}{path}?cursor={page['next_cursor']}")
        assert (len(rest["items"]), rest["next_cursor"]) == (1, None)
        assert len(api.list_artifacts(f"{artifacts_path(scope)}{path}?limit=100")["items"]) == 51


def test_a_damaged_or_foreign_cursor_is_refused(api: Api, scope: str) -> None:
    refs = [ref_of(api.create_artifact(scope, "experience", experience(str(number)))) for number in range(3)]
    for ref in refs[:2]:
        api.replace_artifact(scope, ref, experience("again"))
    family = artifacts_path(scope) + "/experience"
    history, other = (artifact_path(scope, ref) + "/revisions" for ref in refs[:2])
    of_family, of_history = (api.list_artifacts(f"{path}?limit=1")["next_cursor"] for path in (family, history))

    def refuse(path: str, cursor: Any) -> None:
        failed(api.get(f"{path}?limit=1&cursor={cursor}"), 400, "invalid_cursor")

    for path, own in ((family, of_family), (history, of_history)):
        for damaged in (own[:-1], own[1:], "A" + own[1:] if own[0] != "A" else "B" + own[1:]):
            refuse(path, damaged)
    refuse(family, of_history)
    refuse(history, of_family)
    refuse(other, of_history)
    refuse(artifacts_path(scope) + "/topic-memory", of_family)
