"""Principal x role x operation x Scope, over every operation that the OpenAPI document lists."""

import statistics
import time
from typing import NamedTuple
from uuid import uuid4

import httpx
import pytest

from tests.http_contract.api import REQUEST_ID, Api, Json, experience, failed
from tests.http_contract.samples import SAMPLES, Fresh, Invented, declared
from tests.http_contract.sidecar import Sidecar

# Who may, by the table of the contract: the roles on the Scope that suffice. "any" needs a token and no grant,
# "everywhere" the role admin on every Scope.
READERS = frozenset({"viewer", "contributor", "reviewer", "admin"})
WRITERS = frozenset({"contributor", "admin"})
REVIEWERS = frozenset({"reviewer", "admin"})
ADMINS = frozenset({"admin"})
RULES: dict[str, frozenset[str] | str] = {
    "get_live": "nobody",
    "get_ready": "nobody",
    "get_openapi_yaml": "nobody",
    "get_openapi_json": "nobody",
    "get_docs": "nobody",
    "get_capabilities": "any",
    "get_access": "any",
    "list_scopes": "any",
    "get_metrics": "everywhere",
    "create_scope": "everywhere",
    "create_token": "everywhere",
    "list_tokens": "everywhere",
    "revoke_token": "everywhere",
    "prepare_context": READERS,
    "get_scope": READERS,
    "search_memory": READERS,
    "list_memory_entries": READERS,
    "get_memory_entry": READERS,
    "list_memory_changes": READERS,
    "search_experience": READERS,
    "get_experience": READERS,
    "search_topic_memory": READERS,
    "get_topic_memory": READERS,
    "list_candidates": READERS,
    "get_candidate": READERS,
    "get_artifact": READERS,
    "get_artifact_revision": READERS,
    "list_artifact_revisions": READERS,
    "list_artifacts": READERS,
    "export_scope": READERS,
    "remember_memory": WRITERS,
    "revise_memory_entry": WRITERS,
    "retire_memory_entry": WRITERS,
    "propose_experience": WRITERS,
    "propose_profile": WRITERS,
    "import_scope": WRITERS | REVIEWERS,  # what is in a line decides, see below
    "approve_candidate": REVIEWERS,
    "reject_candidate": REVIEWERS,
    "revise_candidate": REVIEWERS,
    "create_artifact": REVIEWERS,
    "replace_artifact": REVIEWERS,
    "replace_scope": ADMINS,
    "erase_memory_entry": ADMINS,
    "erase_artifact": ADMINS,
    "delete_scope": ADMINS,
}
# How the document writes them.
REQUIRED_ROLES = {
    "nobody": "none",
    "any": "any",
    "everywhere": "global-admin",
    READERS: "viewer",
    WRITERS: "contributor",
    WRITERS | REVIEWERS: "contributor",
    REVIEWERS: "reviewer",
    ADMINS: "admin",
}
ROLES = ("viewer", "contributor", "reviewer", "admin")
IN_A_SCOPE = [name for name, rule in RULES.items() if isinstance(rule, frozenset)]
LAST = ("delete_scope",)  # nothing of the Scope is there afterwards


class World(NamedTuple):
    """A caller with a role on `own` alone; `own` references `referenced`."""

    caller: Api
    own: str
    referenced: str
    foreign: str
    unknown: str


def caller_with(guarded: Sidecar, admin: Api, *grants: tuple[str, str]) -> Api:
    given = [{"scope_id": scope, "role": role} for scope, role in grants]
    return guarded.api(admin.call("/v1/access/tokens", success=201, id=uuid4().hex, grants=given)["token"])


def world(guarded: Sidecar, admin: Api, *roles: str) -> World:
    referenced, foreign = admin.new_scope(), admin.new_scope()
    own = admin.new_scope(context_references=[referenced])
    caller = caller_with(guarded, admin, *((own, role) for role in roles))
    return World(caller, own, referenced, foreign, f"unknown-{uuid4().hex}")


def told(answer: httpx.Response) -> tuple[int, bytes, list[tuple[str, str]]]:
    """All that a caller sees, but for the request id and the time of day."""
    hidden = (REQUEST_ID.lower(), "date")
    return answer.status_code, answer.content, sorted(item for item in answer.headers.items() if item[0] not in hidden)


def test_every_operation_of_the_document_has_a_rule_and_shows_it() -> None:
    assert {name: each["x-required-role"] for name, each in declared().items()} == {
        name: REQUIRED_ROLES[rule] for name, rule in RULES.items()
    }
    assert set(SAMPLES) == set(RULES)


@pytest.mark.parametrize("name", list(RULES))
def test_without_a_token_only_health_and_documents_answer(admin: Api, guarded_nobody: Api, name: str) -> None:
    sample = SAMPLES[name](admin.new_scope(), Invented())
    for caller in (guarded_nobody, Api(guarded_nobody.http, "nonsense")):
        answer = sample.sent_by(caller)
        if RULES[name] == "nobody":
            assert answer.status_code == 200
        else:
            failed(answer, 401, "unauthorized")


@pytest.mark.parametrize("roles", [(), *((role,) for role in ROLES), ("contributor", "reviewer")], ids=str)
def test_a_role_on_a_scope_allows_what_the_table_says_there_and_nothing_elsewhere(
    guarded: Sidecar, admin: Api, roles: tuple[str, ...]
) -> None:
    here = world(guarded, admin, *roles)
    wrong: list[object] = []
    for name in [*(name for name in RULES if name not in LAST), *LAST]:
        rule = RULES[name]
        sample = SAMPLES[name](here.own, Fresh(admin, here.own))
        allowed = not rule.isdisjoint(roles) if isinstance(rule, frozenset) else rule in ("nobody", "any")
        expected = sample.status if allowed else 403
        status = sample.sent_by(here.caller).status_code
        if status != expected:
            wrong.append((name, "own", status, expected))
    for name in IN_A_SCOPE:
        existing = [SAMPLES[name](scope, Fresh(admin, scope)) for scope in (here.referenced, here.foreign)]
        invented = [SAMPLES[name](scope, Invented()) for scope in (here.referenced, here.foreign, here.unknown)]
        answers = {told(sample.sent_by(here.caller))[:2] for sample in (*existing, *invented)}
        if [status for status, _ in answers] != [403]:
            wrong.append((name, "elsewhere", sorted(answers), 403))
    assert wrong == []


@pytest.mark.parametrize("name", IN_A_SCOPE)
def test_a_refusal_is_the_same_whether_or_not_the_scope_exists(guarded: Sidecar, admin: Api, name: str) -> None:
    here = world(guarded, admin)
    refusals = [
        told(SAMPLES[name](scope, Invented()).sent_by(here.caller))
        for scope in (here.own, here.referenced, here.foreign, here.unknown, "x" * 256, "𠮷")
    ]
    assert refusals[0][0] == 403
    assert all(refusal == refusals[0] for refusal in refusals)


@pytest.mark.parametrize("fields", [{}, {"assembly": {}}, {"assembly": {"sections": []}}], ids=str)
def test_prepare_refuses_alike_whatever_it_selects(guarded: Sidecar, admin: Api, fields: Json) -> None:
    here = world(guarded, admin)
    refusals = [
        told(here.caller.post("/v1/context/prepare", scope_id=scope, query="q", **fields))
        for scope in (here.own, here.referenced, here.foreign, here.unknown)
    ]
    assert refusals[0][0] == 403
    assert all(refusal == refusals[0] for refusal in refusals)


@pytest.mark.parametrize("role", ROLES)
def test_not_found_is_told_to_those_alone_who_may_do_the_operation(guarded: Sidecar, admin: Api, role: str) -> None:
    caller = caller_with(guarded, admin, ("*", role))
    scope = admin.new_scope()
    wrong = []
    for name in IN_A_SCOPE:
        rule = RULES[name]
        expected = 404 if role in rule else 403
        status = SAMPLES[name](f"unknown-{uuid4().hex}", Invented()).sent_by(caller).status_code
        if status != expected:
            wrong.append((name, "unknown Scope", status))
        in_scope = SAMPLES[name](scope, Invented())
        names_a_thing = any(part in str(in_scope) for part in ("_000", "_0000"))
        if names_a_thing and in_scope.sent_by(caller).status_code != expected:
            wrong.append((name, "unknown thing", in_scope.sent_by(caller).status_code))
    assert wrong == []


@pytest.mark.parametrize("grants", [(), (("here", "admin"),), (("*", "viewer"),), (("*", "reviewer"),)], ids=str)
def test_what_concerns_all_scopes_needs_admin_on_all(
    guarded: Sidecar, admin: Api, grants: tuple[tuple[str, str], ...]
) -> None:
    caller = caller_with(guarded, admin, *grants)
    everywhere = caller_with(guarded, admin, ("*", "admin"))
    for name in [name for name, rule in RULES.items() if rule == "everywhere"]:
        sample = SAMPLES[name]("unused", Fresh(admin, "unused"))
        failed(sample.sent_by(caller), 403, "forbidden")
        assert sample.sent_by(everywhere).status_code == sample.status


@pytest.mark.parametrize(
    ("role", "entries", "artifacts"),
    [("contributor", "stored", "refused"), ("reviewer", "refused", "stored"), ("admin", "stored", "stored")],
)
def test_an_import_stores_the_lines_that_the_role_may_write(
    guarded: Sidecar, admin: Api, role: str, entries: str, artifacts: str
) -> None:
    here = world(guarded, admin, role)
    lines: list[Json] = [
        {"type": "memory-entry", "kind": "k", "text": "t"},
        {"type": "experience", "content": experience()},
        {"type": "profile", "content": {"content": "p"}},
        {"type": "topic-memory", "content": {"title": "t", "summary": "s", "detail": "d"}},
    ]
    reports = here.caller.import_lines(here.own, *lines)
    assert [report["status"] for report in reports] == [entries, artifacts, artifacts, artifacts]
    assert {report["error"]["code"] for report in reports if report["error"]} <= {"forbidden"}


def test_naming_a_reference_or_parent_needs_read_on_it_whether_or_not_it_exists(guarded: Sidecar, admin: Api) -> None:
    here = world(guarded, admin, "admin")
    body = {"expected_version": 1, "title": "t", "summary": "s"}

    def replacing(**fields: object) -> httpx.Response:
        return here.caller.send("PUT", f"/v1/scopes/{here.own}", {**body, **fields})

    answers = [
        replacing(**fields)
        for scope in (here.foreign, here.referenced, here.unknown)
        for fields in ({"context_references": [scope]}, {"parent_scope_id": scope})
    ]
    assert all(told(answer) == told(answers[0]) for answer in answers)
    failed(answers[0], 403, "forbidden")
    readable = admin.new_scope()
    both = caller_with(guarded, admin, (here.own, "admin"), (readable, "viewer"), (here.unknown, "viewer"))
    unknown = {**body, "context_references": [here.unknown]}
    failed(both.send("PUT", f"/v1/scopes/{here.own}", unknown), 422, "invalid_scope_relationship")
    known = {**body, "context_references": [readable], "parent_scope_id": readable}
    assert both.send("PUT", f"/v1/scopes/{here.own}", known).status_code == 200


def test_refusals_take_the_same_time_for_existing_and_unknown_scopes(guarded: Sidecar, admin: Api) -> None:
    here = world(guarded, admin)
    existing = [admin.new_scope() for _ in range(5)]
    unknown = [uuid4().hex for _ in range(5)]

    def medians(name: str) -> list[float]:
        """Of existing, unknown and again existing Scopes, taken in turns."""
        spent: list[list[float]] = [[], [], []]
        for number in range(200):
            for kind, scopes in enumerate((existing, unknown, existing)):
                sample = SAMPLES[name](scopes[number % 5], Invented())
                began = time.perf_counter()
                assert sample.sent_by(here.caller).status_code == 403
                spent[kind].append(time.perf_counter() - began)
        return [statistics.median(each) for each in spent]

    def alike(name: str) -> bool:
        first, other, again = medians(name)
        return abs(first - other) <= 2 * max(abs(first - again), 0.1 * first)

    for name in ("prepare_context", "get_scope", "get_candidate"):
        # The machine's own noise may spoil a round, hardly three in a row.
        assert any(alike(name) for _ in range(3)), name
