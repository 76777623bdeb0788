"""Scopes: descriptors, idempotency, versions, relationships, listing."""

from typing import Any
from uuid import uuid4

import pytest

from tests.http_contract.api import Api, Json, failed, invalid, scope_path, succeeded
from tests.http_contract.shapes import SCOPE, SCOPE_PAGE, conform


def body_of(**fields: Any) -> Json:
    return {"title": "t", "summary": "s", "idempotency_key": uuid4().hex, **fields}


def read(api: Api, scope: str) -> Json:
    found: Json = succeeded(api.get(scope_path(scope)), 200)
    conform(found, SCOPE, scope)
    return found


def replaced(api: Api, scope: str, **fields: Any) -> Any:
    return api.send("PUT", scope_path(scope), {"title": "t", "summary": "s", **fields})


def listed(api: Api, **query: Any) -> Json:
    page: Json = succeeded(api.http.get("/v1/scopes", params=query), 200)
    conform(page, SCOPE_PAGE, "scopes")
    return page


def test_a_scope_is_created_with_201_and_read_back_whole(api: Api) -> None:
    first, second, parent = api.new_scope(), api.new_scope(), api.new_scope()
    external = [{"kind": "repo", "value": "https://example.org/é"}, {"kind": "repo", "value": "2"}]
    given = body_of(
        title="Title é",
        summary="Summary 𠮷",
        parent_scope_id=parent,
        context_references=[second, first],
        external_references=external,
    )
    made = api.call("/v1/scopes", success=201, **given)
    assert made == {
        "scope_id": made["scope_id"],
        "title": "Title é",
        "summary": "Summary 𠮷",
        "parent_scope_id": parent,
        "context_references": [second, first],
        "external_references": external,
        "version": 1,
    }
    assert read(api, made["scope_id"]) == made


def test_what_is_left_out_is_none(api: Api) -> None:
    made = api.call("/v1/scopes", success=201, **body_of(parent_scope_id=None))
    assert (made["parent_scope_id"], made["context_references"], made["external_references"]) == (None, [], [])


@pytest.mark.parametrize(
    ("field", "most"), [("title", 256), ("summary", 2000), ("idempotency_key", 256)], ids=["title", "summary", "key"]
)
def test_required_texts_are_bounded_and_not_blank(api: Api, field: str, most: int) -> None:
    longest = uuid4().hex + "𠮷" * (most - 32)
    assert api.post("/v1/scopes", **body_of(**{field: longest})).status_code == 201
    for illegal in ("", " \n", longest + "x", None):
        invalid(api.post("/v1/scopes", **body_of(**{field: illegal})), "body", field)
    without = body_of()
    del without[field]
    invalid(api.post("/v1/scopes", **without), "body", field)


def test_external_references_are_bounded_and_not_blank(api: Api) -> None:
    assert (
        api.post("/v1/scopes", **body_of(external_references=[{"kind": "k" * 128, "value": "v" * 2000}])).status_code
        == 201
    )
    for field, illegal in (("kind", "k" * 129), ("kind", " "), ("value", "v" * 2001), ("value", "")):
        reference = {"kind": "k", "value": "v", field: illegal}
        answer = api.post("/v1/scopes", **body_of(external_references=[reference]))
        invalid(answer, "body", "external_references", 0, field)


def test_the_same_key_and_parameters_give_the_same_scope_with_201(api: Api) -> None:
    given = body_of(context_references=[api.new_scope()])
    made = api.call("/v1/scopes", success=201, **given)
    assert api.call("/v1/scopes", success=201, **given) == made
    explicit = {**given, "parent_scope_id": None, "external_references": []}
    assert api.call("/v1/scopes", success=201, **explicit) == made


@pytest.mark.parametrize(
    "other",
    [{"title": "T"}, {"summary": "S"}, {"scope_id": "chosen"}, {"external_references": [{"kind": "k", "value": "v"}]}],
)
def test_the_same_key_with_other_parameters_is_a_conflict(api: Api, other: Json) -> None:
    given = body_of()
    api.call("/v1/scopes", success=201, **given)
    failed(api.post("/v1/scopes", **{**given, **other}), 409, "scope_idempotency_conflict")


def test_keys_are_compared_byte_for_byte(api: Api) -> None:
    tail = uuid4().hex
    upper, lower = body_of(idempotency_key="Job-" + tail), body_of(idempotency_key="job-" + tail, title="B")
    first, second = (api.call("/v1/scopes", success=201, **given) for given in (upper, lower))
    assert first["scope_id"] != second["scope_id"]
    assert api.call("/v1/scopes", success=201, **upper) == first


def test_a_taken_scope_id_is_a_conflict(api: Api, scope: str) -> None:
    failed(api.post("/v1/scopes", **body_of(scope_id=scope)), 409, "scope_already_exists")


def test_references_are_unique_and_at_most_32(api: Api) -> None:
    others = [api.new_scope() for _ in range(33)]
    assert api.post("/v1/scopes", **body_of(context_references=others[:32])).status_code == 201
    invalid(api.post("/v1/scopes", **body_of(context_references=others)), "body", "context_references")
    twice = body_of(context_references=[others[0], others[1], others[0]])
    invalid(api.post("/v1/scopes", **twice), "body", "context_references", 2)


def test_a_relationship_names_another_scope_that_exists(api: Api, scope: str) -> None:
    chosen = uuid4().hex
    for fields in (
        {"context_references": [scope, "no-such-scope"]},
        {"parent_scope_id": "no-such-scope"},
        {"scope_id": chosen, "context_references": [chosen]},
        {"scope_id": chosen, "parent_scope_id": chosen},
    ):
        failed(api.post("/v1/scopes", **body_of(**fields)), 422, "invalid_scope_relationship")
    for fields in ({"context_references": [scope]}, {"parent_scope_id": scope}, {"context_references": ["absent"]}):
        failed(replaced(api, scope, expected_version=1, **fields), 422, "invalid_scope_relationship")
    assert read(api, scope)["version"] == 1


def test_references_may_form_cycles_and_keep_their_order(api: Api) -> None:
    first, second, third = (api.new_scope() for _ in range(3))
    for scope, references in ((first, [third, second]), (second, [first]), (third, [second, first])):
        assert replaced(api, scope, expected_version=1, context_references=references).status_code == 200
        assert read(api, scope)["context_references"] == references


def test_a_replacement_is_full_and_raises_the_version(api: Api, scope: str) -> None:
    other = api.new_scope()
    external = [{"kind": "k", "value": "v"}]
    full = replaced(
        api,
        scope,
        expected_version=1,
        title="new",
        summary="newer",
        parent_scope_id=other,
        context_references=[other],
        external_references=external,
    )
    changed = succeeded(full, 200)
    assert changed == {
        "scope_id": scope,
        "title": "new",
        "summary": "newer",
        "parent_scope_id": other,
        "context_references": [other],
        "external_references": external,
        "version": 2,
    }
    emptied = succeeded(replaced(api, scope, expected_version=2), 200)
    assert (emptied["parent_scope_id"], emptied["context_references"], emptied["external_references"]) == (None, [], [])
    assert emptied["version"] == 3
    assert read(api, scope) == emptied


def test_a_stale_version_is_a_conflict(api: Api, scope: str) -> None:
    assert replaced(api, scope, expected_version=1).status_code == 200
    for stale in (1, 3):
        failed(replaced(api, scope, expected_version=stale), 409, "scope_version_conflict")
    invalid(replaced(api, scope), "body", "expected_version")


def test_a_scope_that_does_not_exist_is_404(api: Api) -> None:
    failed(api.get("/v1/scopes/no-such-scope"), 404, "scope_not_found")
    failed(replaced(api, "no-such-scope", expected_version=1), 404, "scope_not_found")
    failed(api.send("POST", "/v1/scopes/no-such-scope/delete", {"expected_version": 1}), 404, "scope_not_found")


def test_scopes_are_listed_in_order_of_id_page_by_page(api: Api) -> None:
    mark = uuid4().hex
    ids = [f"{mark}-{tail}" for tail in ("b", "a", "é", "B", "z", "𠮷", "～")]
    for scope_id in ids:
        api.new_scope(scope_id)
    in_order = sorted(ids, key=str.encode)
    assert [item["scope_id"] for item in listed(api, query=mark)["items"]] == in_order
    found: list[str] = []
    cursor = None
    while True:
        page = listed(api, query=mark, limit=2, **({} if cursor is None else {"cursor": cursor}))
        assert 1 <= len(page["items"]) <= 2
        found += [item["scope_id"] for item in page["items"]]
        cursor = page["next_cursor"]
        if cursor is None:
            break
    assert found == in_order


def test_a_query_is_a_substring_of_id_or_title(api: Api) -> None:
    mark = uuid4().hex
    by_id = api.new_scope(f"x{mark}%_y")
    by_title = api.new_scope(title=f"A {mark} title")
    api.new_scope(summary=mark)
    assert {item["scope_id"] for item in listed(api, query=mark)["items"]} == {by_id, by_title}
    assert [item["scope_id"] for item in listed(api, query=f"{mark}%_")["items"]] == [by_id]
    assert listed(api, query=mark.upper() + "x") == {"items": [], "next_cursor": None}
    assert api.http.get("/v1/scopes", params={"query": "q" * 256}).status_code == 200
    invalid(api.http.get("/v1/scopes", params={"query": "q" * 257}), "query", "query")


def test_a_page_has_fifty_scopes_unless_asked_otherwise(api: Api) -> None:
    mark = uuid4().hex
    for number in range(51):
        api.new_scope(f"{mark}{number:03}")
    page = listed(api, query=mark)
    assert len(page["items"]) == 50
    assert [item["scope_id"] for item in listed(api, query=mark, cursor=page["next_cursor"])["items"]] == [f"{mark}050"]
    assert len(listed(api, query=mark, limit=100)["items"]) == 51


def test_a_damaged_or_foreign_cursor_is_refused(api: Api) -> None:
    mark = uuid4().hex
    for number in range(3):
        api.new_scope(f"{mark}{number}")
    cursor = listed(api, query=mark, limit=1)["next_cursor"]
    for wrong in (cursor[:-1], cursor[1:], cursor + "A", "A" * 32, "é"):
        failed(api.http.get("/v1/scopes", params={"query": mark, "cursor": wrong}), 400, "invalid_cursor")
    failed(api.http.get("/v1/scopes", params={"cursor": cursor}), 400, "invalid_cursor")
    for illegal in ("", "A" * 129):
        invalid(api.http.get("/v1/scopes", params={"cursor": illegal}), "query", "cursor")
