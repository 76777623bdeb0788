"""Experience: proposed, approved, searched, read, revised through a Candidate with a target."""

import pytest

from tests.http_contract.api import Api, Json, experience, failed, invalid

UNKNOWN = {"family": "experience", "artifact_id": "exp_" + "0" * 32, "revision": 1}


def read(api: Api, scope: str, ref: Json) -> Json:
    return api.call("/v1/experience/get", scope_id=scope, artifact=ref)


def found(api: Api, scope: str, query: str, **fields: int) -> list[Json]:
    hits: list[Json] = api.call("/v1/experience/search", scope_id=scope, query=query, **fields)["hits"]
    return hits


def test_a_proposal_is_a_pending_candidate_and_no_experience(api: Api, scope: str) -> None:
    candidate = api.propose(scope, experience("needle"), reason="seen twice")
    assert candidate == {
        "memory_citations": [],
        "permissions": None,
        "candidate_id": candidate["candidate_id"],
        "version": 1,
        "family": "experience",
        "status": "pending",
        "proposal": experience("needle"),
        "source_refs": [],
        "artifact_refs": [],
        "target": None,
        "reason": "seen twice",
        "result_artifact": None,
        "decision_reason": None,
    }
    assert found(api, scope, "needle") == []
    assert api.list_artifacts(f"/v1/scopes/{scope}/artifacts/experience")["items"] == []
    assert api.prepared(scope, "needle", "experience") == ""


def test_an_approved_proposal_is_found_and_read_with_where_it_came_from(api: Api, scope: str) -> None:
    cite = api.remember(scope, "text")["entry"]["citation"]
    given = {
        "source_refs": [{"name": "content", "source_id": "s"}],
        "artifact_refs": [cite["memory_ref"]],
        "memory_citations": [cite],
    }
    ref = api.approve(scope, api.propose(scope, experience("needle"), **given))
    assert (ref["family"], ref["revision"]) == ("experience", 1)
    assert read(api, scope, ref) == {"artifact": ref, "content": experience("needle"), **given}
    assert found(api, scope, "needle") == [{"artifact": ref, "content": experience("needle")}]
    artifact = api.read(scope, ref)
    assert (artifact["artifacts"], artifact["memory_citations"]) == ([cite["memory_ref"]], [cite])


@pytest.mark.parametrize("field", ["situation", "action", "outcome", "lesson"])
def test_each_part_has_1_to_8000_characters_and_is_not_blank(api: Api, scope: str, field: str) -> None:
    api.propose(scope, experience() | {field: "𠮷" * 8000})
    for illegal in ("", " \n\u3000", "x" * 8001, None):
        proposal = experience() | {field: illegal}
        invalid(api.post("/v1/experience/propose", scope_id=scope, proposal=proposal), "body", "proposal", field)
    without = {name: text for name, text in experience().items() if name != field}
    invalid(api.post("/v1/experience/propose", scope_id=scope, proposal=without), "body", "proposal", field)


def test_a_reason_has_1_to_2000_characters_or_is_null(api: Api, scope: str) -> None:
    assert api.propose(scope, experience(), reason="理" * 2000)["reason"] == "理" * 2000
    assert api.propose(scope, experience(), reason=None)["reason"] is None
    for illegal in ("", "理" * 2001):
        answer = api.post("/v1/experience/propose", scope_id=scope, proposal=experience(), reason=illegal)
        invalid(answer, "body", "reason")


def test_parts_are_stored_byte_for_byte(api: Api, scope: str) -> None:
    content = {
        "situation": " e\u0301 ",
        "action": "a\r\nb\u2028",
        "outcome": "\u200d\ufeff",
        "lesson": "→ 部署 📅 𠮷野家 \U0001f9d1\u200d\U0001f4bb\n",
    }
    ref = api.approve(scope, api.propose(scope, content))
    assert read(api, scope, ref)["content"] == content
    assert api.read(scope, ref)["content"] == content
    for query in ("𠮷野家", "部署"):
        assert [hit["content"] for hit in found(api, scope, query)] == [content]


def test_a_candidate_with_a_target_becomes_its_next_revision(api: Api, scope: str) -> None:
    first = api.approve(scope, api.propose(scope, experience("apple")))
    candidate = api.propose(scope, experience("banana"), target=first)
    assert candidate["target"] == first
    second = api.approve(scope, candidate)
    assert second == {**first, "revision": 2}
    assert read(api, scope, first)["content"] == experience("apple")
    assert read(api, scope, second)["content"] == experience("banana")
    assert found(api, scope, "apple") == []
    assert found(api, scope, "banana") == [{"artifact": second, "content": experience("banana")}]


def test_a_target_is_an_experience_revision_that_exists_in_the_scope(api: Api, scope: str) -> None:
    elsewhere = api.new_scope()
    foreign = api.approve(elsewhere, api.propose(elsewhere, experience()))
    ref = api.approve(scope, api.propose(scope, experience()))
    for target in (UNKNOWN, foreign, {**ref, "revision": 2}):
        answer = api.post("/v1/experience/propose", scope_id=scope, proposal=experience(), target=target)
        failed(answer, 404, "artifact_not_found")
    profile = {"family": "profile", "artifact_id": "profile", "revision": 1}
    answer = api.post("/v1/experience/propose", scope_id=scope, proposal=experience(), target=profile)
    failed(answer, 422, "invalid_request")


def test_search_limits_its_hits_to_ten_or_to_the_limit(api: Api, scope: str) -> None:
    lines = ({"type": "experience", "content": experience(f"needle {number}")} for number in range(51))
    api.import_lines(scope, *lines)
    assert [len(found(api, scope, "needle", **given)) for given in ({}, {"limit": 1}, {"limit": 50})] == [10, 1, 50]
    for illegal in (0, 51):
        invalid(api.post("/v1/experience/search", scope_id=scope, query="q", limit=illegal), "body", "limit")


def test_reading_takes_a_reference_to_an_experience_that_exists(api: Api, scope: str) -> None:
    ref = api.approve(scope, api.propose(scope, experience()))
    for wrong in (UNKNOWN, {**ref, "revision": 2}):
        failed(api.post("/v1/experience/get", scope_id=scope, artifact=wrong), 404, "artifact_not_found")
    elsewhere = api.new_scope()
    failed(api.post("/v1/experience/get", scope_id=elsewhere, artifact=ref), 404, "artifact_not_found")
    failed(api.post("/v1/experience/get", scope_id="no-such-scope", artifact=ref), 404, "scope_not_found")
    other_family = {"family": "topic-memory", "artifact_id": "t", "revision": 1}
    assert api.post("/v1/experience/get", scope_id=scope, artifact=other_family).status_code in (404, 422)
