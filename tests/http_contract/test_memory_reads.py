"""search, entries/list and changes of Memory."""

from typing import Any

import pytest

from tests.http_contract.api import Api, Json, failed, invalid, succeeded
from tests.http_contract.shapes import ENTRY, conform
from tests.http_contract.test_memory_writes import cited_at, memory_ref, retire, revise


def listed(api: Api, scope: str, **fields: Any) -> Json:
    answer: Json = succeeded(api.post("/v1/memory/entries/list", scope_id=scope, **fields), 200)
    for entry in answer["entries"]:
        conform(entry, ENTRY, "entry")
    return answer


def changed(op: str, entry_id: str, before: str | None, after: str | None, reason: str | None) -> Json:
    return {
        "op": op,
        "entry_id": entry_id,
        "from_entry_version_id": before,
        "to_entry_version_id": after,
        "reason": reason,
    }


def test_a_scope_without_memory_has_its_own_answers(api: Api, scope: str) -> None:
    for mode in ("auto", "fts"):
        found = api.call("/v1/memory/search", scope_id=scope, query="交互", mode=mode)
        assert found == {"memory": None, "mode": None, "hits": []}
    assert listed(api, scope) == {"memory": None, "entries": []}
    assert listed(api, scope, limit=5) == {"memory": None, "entries": [], "next_cursor": None}
    for since in (None, 0):
        answer = api.call("/v1/memory/changes", scope_id=scope, since_revision=since)
        assert answer == {"memory": None, "revisions": []}
    assert api.call("/v1/experience/search", scope_id=scope, query="交互") == {"hits": []}
    assert api.call("/v1/topic-memory/search", scope_id=scope, query="交互")["hits"] == []
    empty = {"schema": "powercontext.prepared-context.v1", "status": "empty", "content": None, "content_bytes": 0}
    assert api.prepare(scope, "交互") == api.prepare(scope, "交互", assembly={}) == empty
    failed(api.get(f"/v1/scopes/{scope}/artifacts/memory/memory"), 404, "artifact_not_found")


def test_search_finds_live_entries_and_cites_the_head(api: Api, scope: str) -> None:
    first = api.remember(scope, "needle one")["entry"]["citation"]
    api.remember(scope, "needle two")
    api.remember(scope, "hay")
    revised = revise(api, scope, cited_at(first, 3), "needle three")["entry"]["citation"]
    found = api.call("/v1/memory/search", scope_id=scope, query="needle")
    assert (found["memory"], found["mode"]) == (memory_ref(4), "fts")
    assert {hit["text"] for hit in found["hits"]} == {"needle two", "needle three"}
    for hit in found["hits"]:
        assert hit["citation"]["memory_ref"] == memory_ref(4)
        assert hit["matched_by"] == ["fts"]
        assert api.entry(scope, hit["citation"])["text"] == hit["text"]
    assert revised in [hit["citation"] for hit in found["hits"]]
    scores = [hit["score"] for hit in found["hits"]]
    assert scores == sorted(scores, reverse=True)


def test_search_sees_a_write_at_once(api: Api, scope: str) -> None:
    citation = api.remember(scope, "apple")["entry"]["citation"]
    assert [hit["text"] for hit in api.search(scope, "apple")] == ["apple"]
    citation = revise(api, scope, citation, "banana")["entry"]["citation"]
    assert api.search(scope, "apple") == []
    assert [hit["text"] for hit in api.search(scope, "banana")] == ["banana"]
    retire(api, scope, citation)
    assert api.search(scope, "banana") == []
    assert api.call("/v1/memory/search", scope_id=scope, query="banana")["memory"] == memory_ref(3)


def test_search_limits_its_hits_to_ten_or_to_the_limit(api: Api, scope: str) -> None:
    api.import_lines(scope, *({"type": "memory-entry", "kind": "k", "text": f"needle {n}"} for n in range(51)))
    assert len(api.search(scope, "needle")) == 10
    assert len(api.search(scope, "needle", limit=1)) == 1
    assert len(api.search(scope, "needle", limit=50)) == 50
    for illegal in (0, 51, -1):
        invalid(api.post("/v1/memory/search", scope_id=scope, query="q", limit=illegal), "body", "limit")


@pytest.mark.parametrize("mode", ["vector", "hybrid"])
def test_a_mode_that_the_server_cannot_serve_is_refused(api: Api, scope: str, mode: str) -> None:
    answer = api.post("/v1/memory/search", scope_id=scope, query="q", mode=mode)
    failed(answer, 422, "capability_not_supported")
    invalid(api.post("/v1/memory/search", scope_id=scope, query="q", mode="FTS"), "body", "mode")


def test_the_unpaged_list_gives_everything_and_has_two_keys(api: Api, scope: str) -> None:
    lines = ({"type": "memory-entry", "kind": "k", "text": f"entry {number}"} for number in range(120))
    api.import_lines(scope, *lines)
    answer = listed(api, scope)
    assert set(answer) == {"memory", "entries"}
    assert len(answer["entries"]) == 120
    ids = [entry["citation"]["entry_id"] for entry in answer["entries"]]
    assert ids == sorted(ids)


@pytest.mark.parametrize("limit", [1, 2, 7, 1000])
def test_the_paged_list_has_a_third_key_and_gives_each_entry_once(api: Api, scope: str, limit: int) -> None:
    for number in range(7):
        api.remember(scope, f"entry {number}")
    everything = listed(api, scope)["entries"]
    page = listed(api, scope, limit=limit)
    found = page["entries"]
    while page["next_cursor"] is not None:
        assert set(page) == {"memory", "entries", "next_cursor"}
        assert len(page["entries"]) == limit
        page = listed(api, scope, limit=limit, cursor=page["next_cursor"])
        found = [*found, *page["entries"]]
    assert set(page) == {"memory", "entries", "next_cursor"}
    assert found == everything


def test_a_cursor_alone_makes_the_list_paged(api: Api, scope: str) -> None:
    for number in range(3):
        api.remember(scope, f"entry {number}")
    cursor = listed(api, scope, limit=1)["next_cursor"]
    rest = listed(api, scope, cursor=cursor)
    assert (len(rest["entries"]), rest["next_cursor"]) == (2, None)


def test_illegal_limits_and_cursors_of_the_list_are_refused(api: Api, scope: str) -> None:
    path = "/v1/memory/entries/list"
    api.remember(scope, "one")
    api.remember(scope, "two")
    for illegal in (0, 1001, None):
        invalid(api.post(path, scope_id=scope, limit=illegal), "body", "limit")
    for no_cursor in ("", "x" * 129, None):
        invalid(api.post(path, scope_id=scope, cursor=no_cursor), "body", "cursor")
    cursor = listed(api, scope, limit=1)["next_cursor"]
    failed(api.post(path, scope_id=scope, limit=1, cursor=cursor[:-1]), 400, "invalid_cursor")
    failed(api.post(path, scope_id=scope, limit=1, cursor=cursor, include_inactive=True), 400, "invalid_cursor")
    other = api.new_scope()
    failed(api.post(path, scope_id=other, limit=1, cursor=cursor), 400, "invalid_cursor")


def test_inactive_entries_are_listed_when_asked_for_and_cite_the_last_revision_that_held_them(
    api: Api, scope: str
) -> None:
    first = api.remember(scope, "first")["entry"]["citation"]
    api.remember(scope, "second")
    revise(api, scope, cited_at(first, 2), "first, revised")
    citation = next(each["citation"] for each in api.entries(scope) if each["text"] == "first, revised")
    retire(api, scope, citation)
    api.remember(scope, "third")
    assert {each["text"] for each in api.entries(scope)} == {"second", "third"}
    assert {each["text"] for each in api.entries(scope, include_inactive=False)} == {"second", "third"}
    everything = api.entries(scope, include_inactive=True)
    assert {each["text"]: each["state"] for each in everything} == {
        "second": "active",
        "third": "active",
        "first, revised": "inactive",
    }
    for each in everything:
        last = 3 if each["state"] == "inactive" else 5
        assert each["citation"]["memory_ref"] == memory_ref(last)
        assert api.entry(scope, each["citation"]) == each


def test_changes_tell_the_whole_history_oldest_first(api: Api, scope: str) -> None:
    first = api.remember(scope, "first", reason="because")["entry"]["citation"]
    second = api.remember(scope, "second")["entry"]["citation"]
    third = revise(api, scope, cited_at(first, 2), "third", reason="better")["entry"]["citation"]
    retire(api, scope, cited_at(second, 3), reason="old")
    one, two, three = first["entry_version_id"], second["entry_version_id"], third["entry_version_id"]
    history = [
        (1, changed("add", first["entry_id"], None, one, "because")),
        (2, changed("add", second["entry_id"], None, two, None)),
        (3, changed("revise", first["entry_id"], one, three, "better")),
        (4, changed("deactivate", second["entry_id"], two, None, "old")),
    ]
    expected = [{"memory_ref": memory_ref(revision), "changes": [change]} for revision, change in history]
    for since in range(5):
        answer = api.call("/v1/memory/changes", scope_id=scope, since_revision=since)
        assert answer == {"memory": memory_ref(4), "revisions": expected[since:]}
    head_alone: list[Json] = [{}, {"since_revision": None}]
    for body in head_alone:
        answer = api.call("/v1/memory/changes", scope_id=scope, **body)
        assert answer == {"memory": memory_ref(4), "revisions": expected[-1:]}


def test_a_since_revision_above_the_head_is_refused(api: Api, scope: str) -> None:
    api.remember(scope, "text")
    invalid(api.post("/v1/memory/changes", scope_id=scope, since_revision=2), "body", "since_revision")
    invalid(api.post("/v1/memory/changes", scope_id=scope, since_revision=-1), "body", "since_revision")
    assert api.call("/v1/memory/changes", scope_id=scope, since_revision=1)["revisions"] == []


def test_a_write_that_changes_nothing_is_no_revision_and_no_change(api: Api, scope: str) -> None:
    citation = api.remember(scope, "text")["entry"]["citation"]
    api.remember(scope, "text")
    revise(api, scope, citation, "text")
    assert [each["memory_ref"] for each in api.changes(scope)] == [memory_ref(1)]
