"""Section 2 of the contract: what may be an id, and what keeps two of them apart."""

import re
from typing import Any
from uuid import uuid4

import pytest

from tests.http_contract.api import Api, Json, experience, failed, invalid, scope_path, topic

ODD_SCOPES = [
    "project:demo",
    "a/b",
    "50%",
    "a?b#c",
    " x",
    "x ",
    "…",
    "x OR y",
    "'; --",
    "%2F",
    "*",
    "...",
    "\u00e9",
    "e\u0301",
]


def created(api: Api, **fields: Any) -> Any:
    return api.post("/v1/scopes", **{"title": "t", "summary": "s", "idempotency_key": uuid4().hex, **fields})


def test_a_scope_without_an_id_gets_26_crockford_characters(api: Api) -> None:
    assert re.fullmatch("scp_[0-9abcdefghjkmnpqrstvwxyz]{26}", api.new_scope())


@pytest.mark.parametrize("odd", ODD_SCOPES)
def test_a_chosen_scope_id_is_kept_and_found_percent_encoded_in_a_path(api: Api, odd: str) -> None:
    chosen = f"{uuid4().hex}{odd}"
    assert api.new_scope(chosen) == chosen
    assert api.get(scope_path(chosen)).json()["scope_id"] == chosen
    stored = api.remember(chosen, f"needle {odd.encode().hex()}")["entry"]["text"]
    assert [hit["text"] for hit in api.search(chosen, "needle")] == [stored]
    assert api.get(f"{scope_path(chosen)}/artifacts/memory/memory").json()["scope_id"] == chosen


@pytest.mark.parametrize("illegal", ["", " ", "\u3000", ".", "..", "a\0b", "x" * 257])
def test_an_illegal_scope_id_is_refused_wherever_it_stands(api: Api, illegal: str) -> None:
    invalid(created(api, scope_id=illegal), "body", "scope_id")
    invalid(created(api, parent_scope_id=illegal), "body", "parent_scope_id")
    invalid(created(api, context_references=[illegal]), "body", "context_references", 0)
    invalid(api.post("/v1/memory/search", scope_id=illegal, query="q"), "body", "scope_id")
    if illegal not in ("", ".", ".."):
        invalid(api.get(scope_path(illegal)), "path", "scope_id")


def test_a_scope_id_may_have_256_characters(api: Api) -> None:
    longest = uuid4().hex + "𠮷" * 224
    assert api.new_scope(longest) == longest
    assert api.get(scope_path(longest)).status_code == 200


def test_scope_ids_are_compared_byte_for_byte(api: Api) -> None:
    base = uuid4().hex
    ids = [base + tail for tail in ("a", "A", "\u00e9", "e\u0301", "e", "a ", " a", "ａ", "📅", "🧑")]
    for number, scope_id in enumerate(ids):
        api.new_scope(scope_id)
        api.remember(scope_id, f"number {number}")
    for number, scope_id in enumerate(ids):
        assert [entry["text"] for entry in api.entries(scope_id)] == [f"number {number}"]


def test_generated_ids_have_the_form_of_the_contract(api: Api, scope: str) -> None:
    citation = api.remember(scope, "text")["entry"]["citation"]
    assert citation["memory_ref"] == {"family": "memory", "artifact_id": "memory", "revision": 1}
    assert re.fullmatch("mem_ent_[0-9a-f]{32}", citation["entry_id"])
    assert re.fullmatch("mem_ver_[0-9a-f]{32}", citation["entry_version_id"])
    assert re.fullmatch("exp_[0-9a-f]{32}", api.create_artifact(scope, "experience", experience())["artifact_id"])
    assert re.fullmatch("top_[0-9a-f]{32}", api.create_artifact(scope, "topic-memory", topic())["artifact_id"])
    assert api.create_artifact(scope, "profile", {"content": "# P"})["artifact_id"] == "profile"
    assert re.fullmatch("cand_[0-9a-f]{32}", api.propose(scope, experience())["candidate_id"])


GOOD_REF = {"family": "memory", "artifact_id": "memory", "revision": 1}
ILLEGAL_IDS = ["", " ", "a b", "\u00e9", "a\n", "\x7f", ".", "..", "x" * 129]


@pytest.mark.parametrize("illegal", ILLEGAL_IDS)
def test_ids_in_references_are_printable_ascii_of_1_to_128(api: Api, scope: str, illegal: str) -> None:
    for field in ("family", "artifact_id"):
        ref = {**GOOD_REF, field: illegal}
        answer = api.post("/v1/experience/propose", scope_id=scope, proposal=experience(), artifact_refs=[ref])
        invalid(answer, "body", "artifact_refs", 0, field)
    for field in ("entry_id", "entry_version_id"):
        cite = {"memory_ref": GOOD_REF, "entry_id": "e", "entry_version_id": "v", field: illegal}
        invalid(api.post("/v1/memory/entries/get", scope_id=scope, citation=cite), "body", "citation", field)
    invalid(api.post("/v1/artifact-candidates/get", scope_id=scope, candidate_id=illegal), "body", "candidate_id")


@pytest.mark.parametrize("revision", [0, -1, 2**63, 2**64, 19933688932870350000, -9223372036854775809])
def test_a_revision_is_at_least_1_and_never_taken_as_a_smaller_number(api: Api, scope: str, revision: int) -> None:
    api.remember(scope, "text")
    ref = {**GOOD_REF, "revision": revision}
    invalid(api.post("/v1/experience/get", scope_id=scope, artifact=ref), "body", "artifact", "revision")
    remember = {"scope_id": scope, "kind": "k", "text": "t", "expected_revision": revision}
    invalid(api.post("/v1/memory/remember", **remember), "body", "expected_revision")
    answer = api.get(f"{scope_path(scope)}/artifacts/memory/memory/revisions/{revision}")
    assert answer.status_code in (404, 422)
    assert len(api.entries(scope)) == 1


def sources(count: int, length: int = 1) -> list[Json]:
    return [{"name": "content", "source_id": f"{number:0{length}}"} for number in range(count)]


def test_a_source_is_named_content_with_an_id_of_1_to_256(api: Api, scope: str) -> None:
    def proposed(source: Json) -> Any:
        return api.post("/v1/experience/propose", scope_id=scope, proposal=experience(), source_refs=[source])

    assert proposed({"name": "content", "source_id": "s" * 256}).status_code == 201
    for name in ("Content", "source", "", None):
        invalid(proposed({"name": name, "source_id": "s"}), "body", "source_refs", 0, "name")
    for illegal in ("", "s" * 257, "a b", "é"):
        invalid(proposed({"name": "content", "source_id": illegal}), "body", "source_refs", 0, "source_id")


def test_sources_references_and_citations_together_are_at_most_32(api: Api, scope: str) -> None:
    cite = {"memory_ref": GOOD_REF, "entry_id": "e", "entry_version_id": "v"}
    lists = {"source_refs": sources(20), "artifact_refs": [GOOD_REF] * 6, "memory_citations": [cite] * 6}
    kept = api.propose(scope, experience(), **lists)
    assert {name: kept[name] for name in lists} == lists
    lists["source_refs"] = sources(21)
    failed(api.post("/v1/experience/propose", scope_id=scope, proposal=experience(), **lists), 422, "invalid_request")
    revising = {"candidate_id": kept["candidate_id"], "expected_version": 1, "proposal": experience()}
    answer = api.post("/v1/artifact-candidates/revise", scope_id=scope, **revising, **lists)
    failed(answer, 422, "invalid_request")


def test_an_artifact_writes_its_sources_with_a_source_type(api: Api, scope: str) -> None:
    ref = api.approve(scope, api.propose(scope, experience(), source_refs=sources(2)))
    written = [{"source_type": "content", "source_id": "0"}, {"source_type": "content", "source_id": "1"}]
    assert api.read(scope, ref)["sources"] == written
    (item,) = api.list_artifacts(f"{scope_path(scope)}/artifacts/experience")["items"]
    assert (item["sources"], item["source_count"]) == (written, 2)
    assert api.call("/v1/experience/get", scope_id=scope, artifact=ref)["source_refs"] == sources(2)


def test_a_citation_is_valid_at_every_revision_that_held_the_version(api: Api, scope: str) -> None:
    first = api.remember(scope, "first")["entry"]["citation"]
    api.remember(scope, "second")
    at_head = {**first, "memory_ref": {**GOOD_REF, "revision": 2}}
    revised = api.call("/v1/memory/entries/revise", scope_id=scope, citation=at_head, kind="fact", text="third")
    for revision in (1, 2):
        citation = {**first, "memory_ref": {**GOOD_REF, "revision": revision}}
        assert api.entry(scope, citation)["text"] == "first"
    new = revised["entry"]["citation"]
    for wrong in (
        {**first, "memory_ref": {**GOOD_REF, "revision": 3}},
        {**new, "memory_ref": {**GOOD_REF, "revision": 2}},
        {**first, "memory_ref": {**GOOD_REF, "revision": 4}},
        {**first, "memory_ref": {**GOOD_REF, "artifact_id": "other"}},
        {**first, "memory_ref": {**GOOD_REF, "family": "experience"}},
        {**first, "entry_id": "mem_ent_" + "0" * 32},
        {**first, "entry_version_id": "mem_ver_" + "0" * 32},
    ):
        failed(api.post("/v1/memory/entries/get", scope_id=scope, citation=wrong), 404, "memory_not_found")


def test_a_citation_of_another_scope_is_not_found(api: Api, scope: str) -> None:
    citation = api.remember(scope, "text")["entry"]["citation"]
    other = api.new_scope()
    api.remember(other, "text")
    failed(api.post("/v1/memory/entries/get", scope_id=other, citation=citation), 404, "memory_not_found")
