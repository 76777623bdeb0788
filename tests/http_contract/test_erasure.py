"""Erasure: what is gone afterwards, what stays, and what can never come back."""

from typing import Any

import pytest

from tests.http_contract.api import Api, Json, artifact_path, experience, failed, invalid, ref_of, scope_path, topic
from tests.http_contract.prepared_text import items_of
from tests.http_contract.test_memory_writes import cited_at, memory_ref, retire, revise

ERASE = "/v1/memory/entries/erase"
CONTENT = {
    "experience": experience("needle"),
    "profile": {"content": "needle"},
    "topic-memory": topic("needle", "needle", "needle"),
}
FAMILIES = pytest.mark.parametrize("family", list(CONTENT))


def erase(api: Api, scope: str, entry_id: str, **fields: Any) -> Json:
    return api.call(ERASE, scope_id=scope, entry_id=entry_id, **fields)


def test_erasing_a_live_entry_retires_it_first_and_erases_every_version(api: Api, scope: str) -> None:
    first = api.remember(scope, "needle one", reason="secret reason")["entry"]["citation"]
    api.remember(scope, "bystander")
    second = revise(api, scope, cited_at(first, 2), "needle two", reason="secret reason")["entry"]["citation"]
    entry_id = first["entry_id"]
    assert erase(api, scope, entry_id, reason="asked for") == {
        "memory": memory_ref(4),
        "entry_id": entry_id,
        "erased_versions": 2,
    }
    for citation in (first, second, cited_at(first, 2)):
        failed(api.post("/v1/memory/entries/get", scope_id=scope, citation=citation), 410, "content_erased")
    gone = cited_at(second, 4)
    failed(api.post("/v1/memory/entries/get", scope_id=scope, citation=gone), 404, "memory_not_found")
    assert api.search(scope, "needle") == []
    assert api.prepared(scope, "needle", "memory") == ""
    assert api.prepare(scope, "needle")["status"] == "empty"
    for fields in ({}, {"include_inactive": True}, {"include_inactive": True, "limit": 10}):
        listed = api.post("/v1/memory/entries/list", scope_id=scope, **fields).json()["entries"]
        assert [each["text"] for each in listed] == ["bystander"]
    assert [line["text"] for line in api.export(scope)] == ["bystander"]


def test_changes_keep_the_ids_and_lose_the_reasons_of_what_was_erased(api: Api, scope: str) -> None:
    first = api.remember(scope, "one", reason="secret")["entry"]["citation"]
    second = revise(api, scope, first, "two", reason="secret")["entry"]["citation"]
    before = [
        (each["memory_ref"], change["op"], *_ids(change)) for each in api.changes(scope) for change in each["changes"]
    ]
    manifest = api.read(scope, memory_ref(2))
    erase(api, scope, first["entry_id"], reason="asked for")
    revisions = api.changes(scope)
    after = [(each["memory_ref"], change["op"], *_ids(change)) for each in revisions for change in each["changes"]]
    retired = (memory_ref(3), "deactivate", first["entry_id"], second["entry_version_id"], None)
    assert after == [*before, retired]
    assert [change["reason"] for each in revisions for change in each["changes"]] == [None, None, "asked for"]
    assert api.read(scope, memory_ref(2))["content"]["manifest"] == manifest["content"]["manifest"]


def _ids(change: Json) -> tuple[str, str | None, str | None]:
    return change["entry_id"], change["from_entry_version_id"], change["to_entry_version_id"]


def test_erasing_an_entry_that_is_inactive_makes_no_revision(api: Api, scope: str) -> None:
    citation = api.remember(scope, "text")["entry"]["citation"]
    retire(api, scope, citation)
    answer = erase(api, scope, citation["entry_id"])
    assert (answer["memory"], answer["erased_versions"]) == (memory_ref(2), 1)


def test_erasing_an_entry_again_is_200_and_0(api: Api, scope: str) -> None:
    citation = api.remember(scope, "text")["entry"]["citation"]
    first = erase(api, scope, citation["entry_id"])
    for _ in range(2):
        assert erase(api, scope, citation["entry_id"], reason=None) == {**first, "erased_versions": 0}


def test_an_erased_entry_takes_no_more_writes(api: Api, scope: str) -> None:
    citation = api.remember(scope, "text")["entry"]["citation"]
    erase(api, scope, citation["entry_id"])
    body = {"scope_id": scope, "citation": citation}
    failed(api.post("/v1/memory/entries/revise", **body, kind="k", text="t"), 410, "content_erased")
    failed(api.post("/v1/memory/entries/retire", **body), 410, "content_erased")
    assert api.remember(scope, "text")["entry"]["citation"]["entry_id"] != citation["entry_id"]


def test_importing_an_erased_entry_is_refused(api: Api, scope: str) -> None:
    citation = api.remember(scope, "text")["entry"]["citation"]
    (line,) = api.export(scope)
    erase(api, scope, citation["entry_id"])
    new = {"type": "memory-entry", "kind": "k", "text": "new"}
    attempts = [
        line,
        {**new, "entry_id": citation["entry_id"]},
        {**new, "entry_version_id": citation["entry_version_id"]},
        {**new, "entry_id": citation["entry_id"], "entry_version_id": "v2", "revision": 9},
    ]
    for report in api.import_lines(scope, *attempts):
        assert (report["status"], report["error"]["code"]) == ("refused", "content_erased")
    assert api.entries(scope, include_inactive=True) == []


def test_erasing_what_does_not_exist_is_404(api: Api, scope: str) -> None:
    failed(api.post(ERASE, scope_id=scope, entry_id="unknown"), 404, "memory_not_found")
    unknown = {"family": "experience", "artifact_id": "unknown"}
    failed(api.send("POST", artifact_path(scope, unknown) + "/erase", {}), 404, "artifact_not_found")
    failed(api.send("POST", artifact_path("no-such-scope", unknown) + "/erase", {}), 404, "scope_not_found")
    invalid(api.post(ERASE, scope_id=scope, entry_id="e", reason="r" * 513), "body", "reason")
    invalid(api.send("POST", artifact_path(scope, unknown) + "/erase", {"reason": "r" * 513}), "body", "reason")
    memory = {"family": "memory", "artifact_id": "memory"}
    failed(api.send("POST", artifact_path(scope, memory) + "/erase", {}), 422, "invalid_request")


@FAMILIES
def test_an_erased_artifact_is_410_in_every_exact_read_and_left_out_everywhere_else(
    api: Api, scope: str, family: str
) -> None:
    first = ref_of(api.create_artifact(scope, family, CONTENT[family]))
    second = ref_of(api.replace_artifact(scope, first, CONTENT[family]))
    assert api.erase_artifact(scope, second, reason="asked for") == 2
    path = artifact_path(scope, first)
    for exact in (path, path + "/revisions/1", path + "/revisions/2"):
        failed(api.get(exact), 410, "content_erased")
    failed(api.get(path, If_None_Match='"revision:2"'), 410, "content_erased")
    if family != "profile":
        for ref in (first, second):
            failed(api.post(f"/v1/{family}/get", scope_id=scope, artifact=ref), 410, "content_erased")
        assert api.call(f"/v1/{family}/search", scope_id=scope, query="needle")["hits"] == []
    assert api.list_artifacts(f"{scope_path(scope)}/artifacts/{family}")["items"] == []
    assert api.list_artifacts(path + "/revisions")["items"] == []
    assert api.prepared(scope, "needle", family) == ""
    assert api.prepare(scope, "needle")["status"] == "empty"
    assert api.export(scope) == []


@FAMILIES
def test_an_erased_artifact_never_comes_back_and_erasing_it_again_is_200_and_0(
    api: Api, scope: str, family: str
) -> None:
    ref = ref_of(api.create_artifact(scope, family, CONTENT[family]))
    (line,) = api.export(scope)
    assert api.erase_artifact(scope, ref) == 1
    assert api.erase_artifact(scope, ref, reason=None) == 0
    headers = {"If-Match": '"revision:1"'}
    replacing = api.send("PUT", artifact_path(scope, ref), {"content": CONTENT[family]}, headers=headers)
    failed(replacing, 410, "content_erased")
    if family == "profile":  # the one family whose id is not made anew
        creating = api.send("POST", f"{scope_path(scope)}/artifacts", {"family": family, "content": CONTENT[family]})
        failed(creating, 410, "content_erased")
    for attempt in (line, {**line, "revision": 9}, {name: line[name] for name in ("type", "content", "artifact_id")}):
        (report,) = api.import_lines(scope, attempt)
        assert (report["status"], report["error"]["code"]) == ("refused", "content_erased")
    assert api.list_artifacts(f"{scope_path(scope)}/artifacts/{family}")["items"] == []


def test_what_is_erased_leaves_its_neighbours_alone(api: Api, scope: str) -> None:
    kept = api.remember(scope, "needle kept")["entry"]["citation"]
    gone = api.remember(scope, "needle gone")["entry"]["citation"]
    staying = ref_of(api.create_artifact(scope, "experience", experience("needle kept")))
    leaving = ref_of(api.create_artifact(scope, "experience", experience("needle gone")))
    erase(api, scope, gone["entry_id"])
    api.erase_artifact(scope, leaving)
    assert api.entry(scope, kept)["text"] == "needle kept"
    assert [hit["text"] for hit in api.search(scope, "needle")] == ["needle kept"]
    assert api.read(scope, staying)["content"] == experience("needle kept")
    items = items_of(api.prepared(scope, "needle", "memory", "experience"))
    assert sorted(item.ref["family"] for item in items) == ["experience", "memory"]
    for item in items:
        assert item.body == item.stored(api)
    lines = api.export(scope)
    assert {report["status"] for report in api.import_lines(scope, *lines)} == {"skipped"}


def test_the_candidates_of_an_erased_artifact_are_erased_with_it(api: Api, scope: str) -> None:
    """Their proposals hold what it holds, or were to become its next revision."""
    approved = api.propose(scope, experience("needle one"))
    target = api.approve(scope, approved)
    replacing = api.propose(scope, experience("needle two"), target=target)
    second = api.approve(scope, replacing)
    pending = api.propose(scope, experience("needle three"), target=second)
    bystander = api.propose(scope, experience("needle four"))
    assert api.erase_artifact(scope, target) == 2
    for candidate in (approved, replacing, pending):
        named = {"scope_id": scope, "candidate_id": candidate["candidate_id"]}
        failed(api.post("/v1/artifact-candidates/get", **named), 410, "content_erased")
        approving = api.post("/v1/artifact-candidates/approve", **named, expected_version=1)
        failed(approving, 410, "content_erased")
    listed = api.call("/v1/artifact-candidates/list", scope_id=scope)["candidates"]
    assert [each["candidate_id"] for each in listed] == [bystander["candidate_id"]]
    assert api.call("/v1/artifact-candidates/list", scope_id=scope, status="approved")["candidates"] == []


def test_the_candidates_of_an_erased_profile_are_erased_with_it(api: Api, scope: str) -> None:
    approved, pending = (api.propose_profile(scope, text) for text in ("needle one", "needle two"))
    ref = api.approve(scope, approved)
    api.erase_artifact(scope, ref)
    for candidate in (approved, pending):
        named = {"scope_id": scope, "candidate_id": candidate["candidate_id"]}
        failed(api.post("/v1/artifact-candidates/get", **named), 410, "content_erased")
    assert api.call("/v1/artifact-candidates/list", scope_id=scope)["candidates"] == []


def delete(api: Api, scope: str, version: int) -> Any:
    return api.send("POST", scope_path(scope) + "/delete", {"expected_version": version})


def test_a_deleted_scope_is_gone_with_all_it_held(api: Api, scope: str) -> None:
    api.remember(scope, "needle")
    for family, content in CONTENT.items():
        api.create_artifact(scope, family, content)
    api.propose(scope, experience())
    answer = delete(api, scope, 1)
    assert (answer.status_code, answer.json()) == (200, {"scope_id": scope})
    failed(api.get(scope_path(scope)), 404, "scope_not_found")
    failed(api.post("/v1/memory/search", scope_id=scope, query="needle"), 404, "scope_not_found")
    failed(delete(api, scope, 1), 404, "scope_not_found")
    assert api.new_scope(scope) == scope
    assert api.export(scope) == []
    assert api.call("/v1/memory/search", scope_id=scope, query="needle") == {"memory": None, "mode": None, "hits": []}
    assert api.prepare(scope, "needle")["status"] == "empty"


def test_deleting_a_scope_needs_its_version(api: Api, scope: str) -> None:
    for stale in (2, 3):
        failed(delete(api, scope, stale), 409, "scope_version_conflict")
    invalid(api.send("POST", scope_path(scope) + "/delete", {}), "body", "expected_version")
    assert api.get(scope_path(scope)).status_code == 200


@pytest.mark.parametrize("naming", ["context_references", "parent_scope_id"])
def test_a_scope_that_another_names_cannot_be_deleted(api: Api, scope: str, naming: str) -> None:
    named: dict[str, Any] = {naming: [scope] if naming == "context_references" else scope}
    other = api.new_scope(**named)
    failed(delete(api, scope, 1), 422, "invalid_scope_relationship")
    body = {"expected_version": 1, "title": "t", "summary": "s"}
    assert api.send("PUT", scope_path(other), body).status_code == 200
    assert delete(api, scope, 1).status_code == 200


def test_a_scope_may_be_deleted_with_its_own_references(api: Api, scope: str) -> None:
    naming = api.new_scope(context_references=[scope], parent_scope_id=scope)
    assert delete(api, naming, 1).status_code == 200
    assert delete(api, scope, 1).status_code == 200
