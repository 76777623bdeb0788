"""Prepare over all families through public HTTP: what takes part, in which order, and what its citations resolve to."""

import json
from typing import Any
from uuid import uuid4

import pytest

from tests.http_contract.api import Api, Json, experience, failed, invalid, ref_of, scope_path, topic
from tests.http_contract.prepared_text import Item, items_of
from tests.http_contract.test_memory_writes import cited_at, retire, revise

ALL = ("memory", "experience", "profile", "topic-memory")


def prepared(api: Api, scope: str, *families: str) -> list[Item]:
    return items_of(api.prepared(scope, "needle", *families))


def bodies(items: list[Item]) -> list[str]:
    return [item.body for item in items]


def test_profiles_are_those_of_the_current_scope_then_of_the_references_in_order(api: Api) -> None:
    scopes = [api.new_scope() for _ in range(4)]
    third, first, without, second = scopes
    current = api.new_scope(context_references=[first, second, without, third])
    for scope, text in ((current, "of current"), (first, "of 1"), (second, "of 2"), (third, "of 3")):
        api.create_artifact(scope, "profile", {"content": text})
    items = prepared(api, current, "profile")
    assert [item.scope for item in items] == [current, first, second, third]
    # A stored Profile ends in one LF, which shows as one empty line.
    assert bodies(items) == ["of current\n", "of 1\n", "of 2\n", "of 3\n"]
    assert prepared(api, first, "profile")[0].scope == first  # one-way
    limited = {"sections": [{"family": "profile", "limit": 2}]}
    assert [item.scope for item in items_of(api.prepare(current, "q", assembly=limited)["content"])] == [current, first]


def test_a_profile_is_read_only_when_it_is_selected(api: Api, scope: str) -> None:
    api.create_artifact(scope, "profile", {"content": "needle"})
    without: list[Json] = [{}, {"assembly": {}}, {"assembly": {"sections": [{"family": "memory", "limit": 8}]}}]
    for fields in without:
        assert api.prepare(scope, "needle", **fields)["status"] == "empty"


def test_memory_and_experience_come_from_references_too_but_not_from_theirs(api: Api) -> None:
    indirect = api.new_scope()
    reference = api.new_scope(context_references=[indirect])
    current = api.new_scope(context_references=[reference])
    for scope in (current, reference, indirect):
        api.remember(scope, f"needle of {scope}")
        api.create_artifact(scope, "experience", experience(f"needle of {scope}"))
    for family in ("memory", "experience"):
        assert [item.scope for item in prepared(api, current, family)] == [current, reference]
    legacy = api.prepare(current, "needle")["content"]
    assert reference in legacy
    assert indirect not in legacy


def test_topic_memory_comes_from_the_current_scope_alone(api: Api) -> None:
    reference = api.new_scope()
    current = api.new_scope(context_references=[reference])
    api.create_artifact(reference, "topic-memory", topic("needle elsewhere"))
    assert prepared(api, current, "topic-memory") == []
    assert api.prepare(current, "needle")["status"] == "empty"
    api.create_artifact(current, "topic-memory", topic("needle here", "summary", "detail"))
    assert bodies(prepared(api, current, "topic-memory")) == ["Title: needle here\n\nSummary: summary"]
    api.create_artifact(current, "topic-memory", topic("title", "summary", "needle in detail"))
    by_detail = [body for body in bodies(prepared(api, current, "topic-memory")) if "detail" in body]
    assert by_detail == ["Title: title\n\nSummary: summary\n\nSnippet: needle in detail"]


def test_an_experience_takes_part_once_approved_and_at_its_head_alone(api: Api, scope: str) -> None:
    candidate = api.propose(scope, experience("needle first"))
    assert prepared(api, scope, "experience") == []
    ref = api.approve(scope, candidate)
    (item,) = prepared(api, scope, "experience")
    assert (item.ref, "needle first" in item.body) == (ref, True)
    rejected = api.propose(scope, experience("needle rejected"))
    deciding = {"scope_id": scope, "candidate_id": rejected["candidate_id"], "expected_version": 1}
    api.call("/v1/artifact-candidates/reject", **deciding, reason="no")
    replacing = api.propose(scope, experience("needle second"), target=ref)
    assert [item.ref for item in prepared(api, scope, "experience")] == [ref]
    second = api.approve(scope, replacing)
    (item,) = prepared(api, scope, "experience")
    assert (item.ref, "needle second" in item.body) == (second, True)


def test_every_citation_resolves_to_the_stored_text_also_after_later_writes(api: Api) -> None:
    other = api.new_scope()
    scope = api.new_scope(context_references=[other])
    for each in (scope, other):
        first = api.remember(each, f"needle one {each}")["entry"]["citation"]
        api.remember(each, f"needle two {each}")
        revise(api, each, cited_at(first, 2), f"needle three {each}")
        ref = api.approve(each, api.propose(each, experience(f"needle one {each}")))
        api.approve(each, api.propose(each, experience(f"needle two {each}"), target=ref))
        api.approve(each, api.propose_profile(each, f"needle {each}"))
        api.create_artifact(each, "topic-memory", topic(f"needle {each}", "summary", "detail"))
    items = prepared(api, scope, *ALL)
    shown = [(item.title, item.scope) for item in items]
    assert sorted(shown, key=str) == sorted(
        [
            *((title, each) for title in ("Experience", "Profile") for each in (scope, other)),
            ("Memory", scope),
            ("Memory", other),
            ("Topic Memory", scope),
        ],
        key=str,
    )
    for item in items:
        assert item.body == item.stored(api), item
    for item in items:
        move_on(api, item)
    for item in items:
        assert item.body == item.stored(api), item
    later = prepared(api, scope, *ALL)
    assert {(item.title, item.scope, item.body) for item in items}.isdisjoint(
        (item.title, item.scope, item.body) for item in later
    )
    for item in later:
        assert item.body == item.stored(api), item


def move_on(api: Api, item: Item) -> None:
    """Replace what `item` cites, or take it out, by the means of its family."""
    if item.entry is not None:
        live = [each for each in api.entries(item.scope) if each["citation"]["entry_id"] == item.entry[0]]
        retire(api, item.scope, live[0]["citation"])
    elif item.ref["family"] == "experience":
        api.approve(item.scope, api.propose(item.scope, experience("needle replaced"), target=item.ref))
    elif item.ref["family"] == "profile":
        api.approve(item.scope, api.propose_profile(item.scope, "needle replaced"))
    else:
        api.replace_artifact(item.scope, item.ref, topic("needle replaced"))


def legacy_items(api: Api, scope: str) -> list[Json]:
    content = api.prepare(scope, "needle")["content"]
    line = content.split("\n")[4]
    items: list[Json] = json.loads(line)["items"]
    return items


def test_legacy_citations_resolve_too(api: Api) -> None:
    other = api.new_scope()
    scope = api.new_scope(context_references=[other])
    for each in (scope, other):
        api.remember(each, f"needle {each}")
        api.create_artifact(each, "experience", experience(f"needle {each}"))
    api.create_artifact(scope, "topic-memory", topic("needle", "summary", "detail"))
    items = legacy_items(api, scope)
    assert len(items) == 5
    for item in items:
        cited = item["citation"]
        if "memory_ref" in cited:
            stored = api.entry(scope, cited)["text"]
        elif "memory" in cited:
            named = {"memory_ref": cited["memory"]["artifact"], "entry_id": cited["entry_id"]}
            citation = {**named, "entry_version_id": cited["entry_version_id"]}
            stored = api.entry(cited["memory"]["scope_id"], citation)["text"]
        else:
            where = cited.get("artifact", {"scope_id": scope, "artifact": cited.get("artifact_ref")})
            content = api.read(where["scope_id"], where["artifact"])["content"]
            if item["kind"] == "experience":
                names = ("situation", "action", "outcome", "lesson")
                stored = "\n".join(f"{name.title()}: {content[name]}" for name in names)
            else:
                shown = {"title": content["title"], "summary": content["summary"]}
                stored = json.dumps(shown, separators=(",", ":"))
        assert item["content"] == stored
        assert item["truncated"] is False


def test_ids_of_any_form_are_cited_so_that_they_can_be_read(api: Api) -> None:
    scope = api.new_scope(f'"\\ \n{uuid4().hex}\u2028𠮷')
    given = {"entry_id": 'e"\\', "entry_version_id": "v,=", "revision": 2}
    api.import_lines(
        scope,
        {"type": "memory-entry", "kind": "k", "text": "needle", **given},
        {"type": "experience", "content": experience("needle"), "artifact_id": 'x"=,/%', "revision": 9},
    )
    items = prepared(api, scope, "memory", "experience")
    assert [item.scope for item in items] == [scope, scope]
    for item in items:
        assert item.body == item.stored(api)


@pytest.mark.parametrize("family", ALL)
def test_an_empty_selection_reads_nothing_but_checks_the_scope(api: Api, scope: str, family: str) -> None:
    limit = {"sections": [{"family": family, "limit": 1}]}
    assert api.prepare(scope, "needle", assembly=limit)["status"] == "empty"
    failed(api.post("/v1/context/prepare", scope_id="no-such-scope", query="q", assembly=limit), 404, "scope_not_found")
    nothing: Any = {"sections": []}
    failed(
        api.post("/v1/context/prepare", scope_id="no-such-scope", query="q", assembly=nothing), 404, "scope_not_found"
    )


def test_a_replaced_reference_is_no_longer_read(api: Api) -> None:
    reference = api.new_scope()
    scope = api.new_scope(context_references=[reference])
    api.remember(reference, "needle")
    assert len(prepared(api, scope, "memory")) == 1
    body = {"expected_version": 1, "title": "t", "summary": "s"}
    assert api.send("PUT", scope_path(scope), body).status_code == 200
    assert prepared(api, scope, "memory") == []


def test_what_is_retired_replaced_or_revised_is_out_of_the_very_next_answer(api: Api, scope: str) -> None:
    citation = api.remember(scope, "needle one")["entry"]["citation"]
    assert bodies(prepared(api, scope, "memory")) == ["needle one"]
    citation = revise(api, scope, citation, "needle two")["entry"]["citation"]
    assert bodies(prepared(api, scope, "memory")) == ["needle two"]
    retire(api, scope, citation)
    assert prepared(api, scope, "memory") == []
    ref = ref_of(api.create_artifact(scope, "topic-memory", topic("needle", "one")))
    api.replace_artifact(scope, ref, topic("needle", "two"))
    assert bodies(prepared(api, scope, "topic-memory")) == ["Title: needle\n\nSummary: two"]


@pytest.mark.parametrize(
    ("fields", "loc"),
    [
        ({"assembly": None}, ("assembly",)),
        ({"assembly": {"format": "html"}}, ("assembly", "format")),
        ({"assembly": {"sort_by": "score"}}, ("assembly", "sort_by")),
        ({"assembly": {"min_confidence": 0.5}}, ("assembly", "min_confidence")),
        ({"assembly": {"sections": None}}, ("assembly", "sections")),
        ({"assembly": {"sections": [{"family": "skill", "limit": 1}]}}, ("assembly", "sections", 0, "family")),
        ({"assembly": {"sections": [{"family": "memory"}]}}, ("assembly", "sections", 0, "limit")),
        ({"assembly": {"sections": [{"family": "memory", "limit": 9}]}}, ("assembly", "sections", 0, "limit")),
        ({"assembly": {"sections": [{"family": "experience", "limit": 3}]}}, ("assembly", "sections", 0, "limit")),
        ({"assembly": {"sections": [{"family": "memory", "limit": 8}, {"family": "profile", "limit": 1}]}},
         ("assembly", "sections")),
        ({"assembly": {"sections": [{"family": "memory", "limit": 1}] * 2}}, ("assembly", "sections", 1, "family")),
        ({"assembly": {"show": ["score"]}}, ("assembly", "show", 0)),
        ({"assembly": {"show": ["confidence", "confidence"]}}, ("assembly", "show", 1)),
        ({"max_bytes": 511}, ("max_bytes",)),
        ({"max_bytes": 32769}, ("max_bytes",)),
        ({"query": "q" * 8193}, ("query",)),
    ],
)  # fmt: skip
def test_illegal_selections_are_refused(api: Api, scope: str, fields: Json, loc: tuple[str | int, ...]) -> None:
    invalid(api.post("/v1/context/prepare", **{"scope_id": scope, "query": "q", **fields}), "body", *loc)
