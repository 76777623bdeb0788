"""Candidates: listed, read, approved, rejected, revised, each at the version that was read."""

from typing import Any

import pytest

from tests.http_contract.api import Api, Json, experience, failed, invalid
from tests.http_contract.sidecar import Sidecar

ALL_FALSE = {"can_revise": False, "can_approve": False, "can_reject": False}
ALL_TRUE = {"can_revise": True, "can_approve": True, "can_reject": True}
UNKNOWN = "cand_" + "0" * 32


def review(api: Api, name: str, scope: str, candidate: Json, **fields: Any) -> Any:
    named = {"scope_id": scope, "candidate_id": candidate["candidate_id"], "expected_version": candidate["version"]}
    return api.post(f"/v1/artifact-candidates/{name}", **{**named, **fields})


def reviewed(api: Api, name: str, scope: str, candidate: Json, **fields: Any) -> Json:
    named = {"scope_id": scope, "candidate_id": candidate["candidate_id"], "expected_version": candidate["version"]}
    return api.call(f"/v1/artifact-candidates/{name}", **{**named, **fields})


def read(api: Api, scope: str, candidate: Json) -> Json:
    return api.call("/v1/artifact-candidates/get", scope_id=scope, candidate_id=candidate["candidate_id"])


def listed(api: Api, scope: str, **fields: Any) -> Json:
    return api.call("/v1/artifact-candidates/list", scope_id=scope, **fields)


def test_get_answers_what_propose_answered(api: Api, scope: str) -> None:
    for candidate in (api.propose(scope, experience()), api.propose_profile(scope, "text")):
        assert read(api, scope, candidate) == candidate


def test_approval_keeps_the_version_and_names_the_result(api: Api, scope: str) -> None:
    candidate = api.propose(scope, experience(), reason="why")
    approved = reviewed(api, "approve", scope, candidate)
    result = approved["result_artifact"]
    assert approved == {**candidate, "status": "approved", "result_artifact": result}
    assert read(api, scope, candidate) == approved
    assert api.read(scope, result)["content"] == experience()


def test_rejection_keeps_its_reason_and_makes_nothing(api: Api, scope: str) -> None:
    candidate = api.propose(scope, experience())
    rejected = reviewed(api, "reject", scope, candidate, reason="not true")
    assert rejected == {**candidate, "status": "rejected", "decision_reason": "not true"}
    assert api.list_artifacts(f"/v1/scopes/{scope}/artifacts/experience")["items"] == []
    assert api.call("/v1/experience/search", scope_id=scope, query="lesson")["hits"] == []


def test_a_rejection_needs_a_reason_of_1_to_2000_characters(api: Api, scope: str) -> None:
    candidate = api.propose(scope, experience())
    invalid(review(api, "reject", scope, candidate), "body", "reason")
    for illegal in ("", "r" * 2001, None):
        invalid(review(api, "reject", scope, candidate, reason=illegal), "body", "reason")
    assert reviewed(api, "reject", scope, candidate, reason="r" * 2000)["decision_reason"] == "r" * 2000


def test_a_revision_replaces_all_but_the_citations_and_raises_the_version(api: Api, scope: str) -> None:
    cite = api.remember(scope, "text")["entry"]["citation"]
    target = api.approve(scope, api.propose(scope, experience("first")))
    source = {"name": "content", "source_id": "s"}
    full = {"source_refs": [source], "artifact_refs": [target], "memory_citations": [cite], "target": target}
    candidate = api.propose(scope, experience("second"), reason="why", **full)
    emptied = reviewed(api, "revise", scope, candidate, proposal=experience("third"))
    assert emptied == {
        **candidate,
        "version": 2,
        "proposal": experience("third"),
        "source_refs": [],
        "artifact_refs": [],
        "target": None,
        "reason": None,
        "memory_citations": [cite],
    }
    kept = reviewed(api, "revise", scope, emptied, proposal=experience("third"), memory_citations=None)
    assert (kept["version"], kept["memory_citations"]) == (3, [cite])
    without = reviewed(api, "revise", scope, kept, proposal=experience("third"), memory_citations=[])
    assert without["memory_citations"] == []
    again = reviewed(api, "revise", scope, without, proposal=experience("fourth"), reason="because", **full)
    assert {name: again[name] for name in full} == full
    assert (again["version"], again["reason"], again["status"]) == (5, "because", "pending")
    assert reviewed(api, "approve", scope, again)["result_artifact"] == {**target, "revision": 2}
    assert api.read(scope, {**target, "revision": 2})["content"] == experience("fourth")


def test_a_revised_profile_is_stored_in_its_normal_form(api: Api, scope: str) -> None:
    candidate = api.propose_profile(scope, "first")
    revised = reviewed(api, "revise", scope, candidate, proposal={"content": "\ufeffse\u0301cond\r\n\r\n"})
    assert revised["version"] == 2
    ref = reviewed(api, "approve", scope, revised)["result_artifact"]
    assert api.read(scope, ref)["content"]["content"] == "s\u00e9cond\n"


@pytest.mark.parametrize(
    "proposal",
    [{"content": "text"}, {"situation": "s"}, {}, experience() | {"unknown": "x"}, experience() | {"lesson": " "}],
)
def test_a_revision_takes_the_proposal_of_its_family(api: Api, scope: str, proposal: Json) -> None:
    candidate = api.propose(scope, experience())
    failed(review(api, "revise", scope, candidate, proposal=proposal), 422, "invalid_request")
    profile = api.propose_profile(scope, "text")
    failed(review(api, "revise", scope, profile, proposal=experience()), 422, "invalid_request")
    assert read(api, scope, candidate) == candidate


def test_a_stale_version_is_a_conflict_that_tells_both_versions(api: Api, scope: str) -> None:
    candidate = api.propose(scope, experience())
    reviewed(api, "revise", scope, candidate, proposal=experience("second"))
    for name, more in (("approve", {}), ("reject", {"reason": "no"}), ("revise", {"proposal": experience()})):
        for stale in (1, 3):
            answer = review(api, name, scope, {**candidate, "version": stale}, **more)
            details = failed(answer, 409, "candidate_conflict")["details"]
            assert details == {"expected_version": stale, "current_version": 2}


@pytest.mark.parametrize("status", ["approved", "rejected"])
def test_a_decided_candidate_is_terminal_whatever_the_version(api: Api, scope: str, status: str) -> None:
    candidate = api.propose(scope, experience())
    if status == "approved":
        reviewed(api, "approve", scope, candidate)
    else:
        reviewed(api, "reject", scope, candidate, reason="no")
    for name, more in (("approve", {}), ("reject", {"reason": "no"}), ("revise", {"proposal": experience()})):
        for version in (1, 2):
            answer = review(api, name, scope, {**candidate, "version": version}, **more)
            assert failed(answer, 409, "candidate_terminal")["details"] == {"status": status}


def test_a_target_whose_head_has_moved_is_a_conflict_and_the_candidate_stays_pending(api: Api, scope: str) -> None:
    target = api.approve(scope, api.propose(scope, experience("first")))
    slow, quick = (api.propose(scope, experience(lesson), target=target) for lesson in ("slow", "quick"))
    moved = api.approve(scope, quick)
    failed(review(api, "approve", scope, slow), 409, "revision_conflict")
    assert read(api, scope, slow) == slow
    retargeted = reviewed(api, "revise", scope, slow, proposal=experience("slow"), target=moved)
    assert api.approve(scope, retargeted) == {**target, "revision": 3}


def test_an_unknown_candidate_is_404(api: Api, scope: str) -> None:
    unknown = {"candidate_id": UNKNOWN, "version": 1}
    failed(api.post("/v1/artifact-candidates/get", scope_id=scope, candidate_id=UNKNOWN), 404, "candidate_not_found")
    candidate = api.propose(scope, experience())
    elsewhere = api.new_scope()
    for name, more in (("approve", {}), ("reject", {"reason": "no"}), ("revise", {"proposal": experience()})):
        failed(review(api, name, scope, unknown, **more), 404, "candidate_not_found")
        failed(review(api, name, elsewhere, candidate, **more), 404, "candidate_not_found")
        failed(review(api, name, "no-such-scope", candidate, **more), 404, "scope_not_found")
    failed(api.post("/v1/artifact-candidates/list", scope_id="no-such-scope"), 404, "scope_not_found")


def test_the_list_shows_one_status_and_one_family_or_all(api: Api, scope: str) -> None:
    pending, approved, rejected = (api.propose(scope, experience(lesson)) for lesson in "abc")
    profile = api.propose_profile(scope, "text")
    approved = reviewed(api, "approve", scope, approved)
    rejected = reviewed(api, "reject", scope, rejected, reason="no")
    assert listed(api, scope)["candidates"] == [pending, profile]
    assert listed(api, scope, status="pending", family=None, cursor=None)["candidates"] == [pending, profile]
    assert listed(api, scope, family="experience")["candidates"] == [pending]
    assert listed(api, scope, family="profile")["candidates"] == [profile]
    assert listed(api, scope, family="skill") == {"candidates": [], "next_cursor": None}
    assert listed(api, scope, status="approved")["candidates"] == [approved]
    assert listed(api, scope, status="rejected")["candidates"] == [rejected]
    for field, illegal in (("status", "decided"), ("family", "memory"), ("family", "topic-memory")):
        invalid(api.post("/v1/artifact-candidates/list", scope_id=scope, **{field: illegal}), "body", field)


def test_the_list_is_paged_by_fifty_or_by_the_limit(api: Api, scope: str) -> None:
    made = [api.propose(scope, experience(str(number)))["candidate_id"] for number in range(51)]
    first = listed(api, scope)
    assert len(first["candidates"]) == 50
    rest = listed(api, scope, cursor=first["next_cursor"])
    both = [*first["candidates"], *rest["candidates"]]
    assert [each["candidate_id"] for each in both] == made
    assert rest["next_cursor"] is None
    assert len(listed(api, scope, limit=100)["candidates"]) == 51
    for illegal in (0, 101):
        invalid(api.post("/v1/artifact-candidates/list", scope_id=scope, limit=illegal), "body", "limit")
    for illegal_cursor in ("", "x" * 129):
        answer = api.post("/v1/artifact-candidates/list", scope_id=scope, cursor=illegal_cursor)
        invalid(answer, "body", "cursor")
    damaged = first["next_cursor"][:-1]
    failed(api.post("/v1/artifact-candidates/list", scope_id=scope, cursor=damaged), 400, "invalid_cursor")
    foreign = {"status": "approved", "cursor": first["next_cursor"]}
    failed(api.post("/v1/artifact-candidates/list", scope_id=scope, **foreign), 400, "invalid_cursor")


def test_permissions_are_those_of_the_caller_and_all_false_once_decided(guarded: Sidecar, admin: Api) -> None:
    scope = admin.new_scope()
    callers = {}
    for role in ("viewer", "contributor", "reviewer", "admin"):
        grants = [{"scope_id": scope, "role": role}]
        callers[role] = guarded.api(
            admin.call("/v1/access/tokens", success=201, id=role + scope, grants=grants)["token"]
        )
    candidate = callers["contributor"].propose(scope, experience())
    assert candidate["permissions"] == ALL_FALSE
    for role, caller in callers.items():
        expected = ALL_TRUE if role in ("reviewer", "admin") else ALL_FALSE
        assert read(caller, scope, candidate)["permissions"] == expected
        assert [each["permissions"] for each in listed(caller, scope)["candidates"]] == [expected]
    revised = reviewed(callers["reviewer"], "revise", scope, candidate, proposal=experience("second"))
    assert revised["permissions"] == ALL_TRUE
    approved = reviewed(callers["reviewer"], "approve", scope, revised)
    assert approved["permissions"] == ALL_FALSE
    assert read(callers["admin"], scope, candidate)["permissions"] == ALL_FALSE
    assert callers["admin"].propose_profile(scope, "text")["permissions"] == ALL_TRUE
