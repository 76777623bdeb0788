"""What each operation puts on the wire and reads from it (CONTRACT sections 2 to 4), the same for both clients."""

import asyncio
import inspect
import json
import typing
from pathlib import Path
from types import MappingProxyType
from typing import Any

import msgspec
import pytest
from powercontext_client import Assembly, AsyncContextClient, Cite, ContextClient, ExperienceContent, Ref, Section

from tests.client.fake_service import FakeService, running

EMPTY = {"schema": "powercontext.prepared-context.v1", "status": "empty", "content": None, "content_bytes": 0}
REF = {"family": "memory", "artifact_id": "memory", "revision": 3}
CITE = {"memory_ref": REF, "entry_id": "mem_ent_1", "entry_version_id": "mem_ver_1"}
ENTRY = {
    "citation": CITE, "version": 1, "kind": "note", "text": "t", "state": "active", "source_refs": [],
    "artifact_refs": [],
}  # fmt: skip
EXPERIENCE = {"situation": "s", "action": "a", "outcome": "o", "lesson": "l"}
SCOPE = {
    "scope_id": "project:demo", "title": "t", "summary": "s", "parent_scope_id": None, "context_references": ["b", "a"],
    "external_references": [{"kind": "git", "value": "x"}], "version": 1,
}  # fmt: skip
CANDIDATE = {
    "memory_citations": [], "permissions": None, "candidate_id": "cand_1", "version": 1, "family": "experience",
    "status": "pending", "proposal": EXPERIENCE, "source_refs": [{"name": "content", "source_id": "x"}],
    "artifact_refs": [], "target": None, "reason": None, "result_artifact": None, "decision_reason": None,
}  # fmt: skip
ARTIFACT = {
    "scope_id": "s", "family": "profile", "artifact_id": "profile", "revision": 2, "content": {"content": "x\n"},
    "sources": [{"source_type": "content", "source_id": "x"}], "artifacts": [], "memory_citations": [],
    "content_digest": "sha256:0",
}  # fmt: skip
ITEM = {
    "scope_id": "s", "family": "profile", "artifact_id": "profile", "revision": 2, "sources": [], "artifacts": [],
    "content_digest": "sha256:0", "title": None, "summary": None, "published_at": None, "source_count": None,
}  # fmt: skip
TOPIC = {"family": "topic-memory", "artifact_id": "top_1", "revision": 1}
REF_ = Ref(family="memory", artifact_id="memory", revision=3)
CITE_ = Cite(memory_ref=REF_, entry_id="mem_ent_1", entry_version_id="mem_ver_1")
TOPIC_ = Ref(family="topic-memory", artifact_id="top_1", revision=1)
EXPERIENCE_ = ExperienceContent(situation="s", action="a", outcome="o", lesson="l")
CANDIDATES = "/v1/artifact-candidates"

# method of the client, its arguments, then what must be sent (method, target, body) and a legal answer with its status
Operation = tuple[str, tuple[Any, ...], dict[str, Any], str, str, Any, Any, int]
OPERATIONS: list[Operation] = [
    ("prepare_context", ("s", "q"), {}, "POST", "/v1/context/prepare",
     {"scope_id": "s", "query": "q", "max_bytes": 8000}, EMPTY, 200),
    ("get_capabilities", (), {}, "GET", "/v1/capabilities", None,
     {"artifact_families": ["memory"], "search_modes": ["fts"], "context_versions": ["v"],
      "context_assembly": {"formats": ["markdown"], "families": {"memory": {"min": 1, "max": 8}},
                           "show": ["confidence"], "max_entries": 8}}, 200),
    ("create_scope", (), {"title": "t", "summary": "s", "idempotency_key": "k", "context_references": ["b", "a"]},
     "POST", "/v1/scopes", {"title": "t", "summary": "s", "idempotency_key": "k", "context_references": ["b", "a"],
                            "external_references": []}, SCOPE, 201),
    ("get_scope", ("project:demo",), {}, "GET", "/v1/scopes/project:demo", None, SCOPE, 200),
    ("list_scopes", (), {"query": "a&b=c d", "limit": 3, "cursor": "c"}, "GET",
     "/v1/scopes?query=a%26b%3Dc%20d&limit=3&cursor=c", None, {"items": [SCOPE], "next_cursor": None}, 200),
    ("list_scopes", (), {}, "GET", "/v1/scopes", None, {"items": [], "next_cursor": "n"}, 200),
    ("replace_scope", ("s",), {"expected_version": 2, "title": "t", "summary": "u"}, "PUT", "/v1/scopes/s",
     {"expected_version": 2, "title": "t", "summary": "u", "context_references": [], "external_references": []},
     SCOPE, 200),
    ("remember", ("s",), {"kind": "note", "text": "t"}, "POST", "/v1/memory/remember",
     {"scope_id": "s", "kind": "note", "text": "t"}, {"memory": REF, "entry": ENTRY}, 200),
    ("remember", ("s",), {"kind": "note", "text": "t", "reason": "r", "expected_revision": 3}, "POST",
     "/v1/memory/remember", {"scope_id": "s", "kind": "note", "text": "t", "reason": "r", "expected_revision": 3},
     {"memory": REF, "entry": None}, 200),
    ("search_memory", ("s", "q"), {"limit": 2, "mode": "fts"}, "POST", "/v1/memory/search",
     {"scope_id": "s", "query": "q", "limit": 2, "mode": "fts"},
     {"memory": REF, "mode": "fts", "hits": [{"citation": CITE, "text": "t", "score": 1, "matched_by": ["fts"]}]}, 200),
    ("list_memory_entries", ("s",), {}, "POST", "/v1/memory/entries/list",
     {"scope_id": "s", "include_inactive": False}, {"memory": REF, "entries": [ENTRY]}, 200),
    ("list_memory_entries", ("s",), {"include_inactive": True, "limit": 1, "cursor": "c"}, "POST",
     "/v1/memory/entries/list", {"scope_id": "s", "include_inactive": True, "limit": 1, "cursor": "c"},
     {"memory": None, "entries": [], "next_cursor": None}, 200),
    ("get_memory_entry", ("s", CITE_), {}, "POST", "/v1/memory/entries/get", {"scope_id": "s", "citation": CITE},
     ENTRY, 200),
    ("revise_memory_entry", ("s", CITE_), {"kind": "k", "text": "t"}, "POST", "/v1/memory/entries/revise",
     {"scope_id": "s", "citation": CITE, "kind": "k", "text": "t"}, {"memory": REF, "entry": ENTRY}, 200),
    ("retire_memory_entry", ("s", CITE_), {"reason": "r"}, "POST", "/v1/memory/entries/retire",
     {"scope_id": "s", "citation": CITE, "reason": "r"}, {"memory": REF, "entry": ENTRY}, 200),
    ("get_memory_changes", ("s",), {"since_revision": 0}, "POST", "/v1/memory/changes",
     {"scope_id": "s", "since_revision": 0},
     {"memory": REF, "revisions": [{"memory_ref": REF, "changes": [
         {"op": "add", "entry_id": "e", "from_entry_version_id": None, "to_entry_version_id": "v", "reason": None}]}]},
     200),
    ("propose_experience", ("s", EXPERIENCE_), {"memory_citations": [CITE_]}, "POST", "/v1/experience/propose",
     {"scope_id": "s", "proposal": EXPERIENCE, "source_refs": [], "artifact_refs": [], "memory_citations": [CITE]},
     CANDIDATE, 201),
    ("search_experience", ("s", "q"), {}, "POST", "/v1/experience/search", {"scope_id": "s", "query": "q"},
     {"hits": [{"artifact": REF, "content": EXPERIENCE}]}, 200),
    ("get_experience", ("s", REF_), {}, "POST", "/v1/experience/get", {"scope_id": "s", "artifact": REF},
     {"artifact": REF, "content": EXPERIENCE, "source_refs": [], "artifact_refs": [], "memory_citations": [CITE]}, 200),
    ("list_candidates", ("s",), {"status": "approved", "family": "profile"}, "POST", f"{CANDIDATES}/list",
     {"scope_id": "s", "status": "approved", "family": "profile"},
     {"candidates": [CANDIDATE], "next_cursor": None}, 200),
    ("get_candidate", ("s", "cand_1"), {}, "POST", f"{CANDIDATES}/get", {"scope_id": "s", "candidate_id": "cand_1"},
     CANDIDATE, 200),
    ("approve_candidate", ("s", "cand_1"), {"expected_version": 1}, "POST", f"{CANDIDATES}/approve",
     {"scope_id": "s", "candidate_id": "cand_1", "expected_version": 1}, CANDIDATE, 200),
    ("reject_candidate", ("s", "cand_1"), {"expected_version": 1, "reason": "r"}, "POST", f"{CANDIDATES}/reject",
     {"scope_id": "s", "candidate_id": "cand_1", "expected_version": 1, "reason": "r"}, CANDIDATE, 200),
    ("revise_candidate", ("s", "cand_1"), {"expected_version": 1, "proposal": {"content": "x"}}, "POST",
     f"{CANDIDATES}/revise", {"scope_id": "s", "candidate_id": "cand_1", "expected_version": 1,
                              "proposal": {"content": "x"}, "source_refs": [], "artifact_refs": []}, CANDIDATE, 200),
    ("propose_profile", ("s", "# x"), {}, "POST", "/v1/profile/propose", {"scope_id": "s", "content": "# x"},
     CANDIDATE, 201),
    ("search_topic_memory", ("s", "q"), {}, "POST", "/v1/topic-memory/search", {"scope_id": "s", "query": "q"},
     {"mode": "fts", "hits": [{"artifact": TOPIC, "title": "t", "summary": "s", "snippet": None, "score": 1.5,
                               "matched_by": ["topic_fts"]}]}, 200),
    ("get_topic_memory", ("s", TOPIC_), {}, "POST", "/v1/topic-memory/get", {"scope_id": "s", "artifact": TOPIC},
     {"artifact": TOPIC, "title": "t", "summary": "s", "detail": "d", "source_refs": []}, 200),
    ("get_artifact", ("s", "profile", "profile"), {}, "GET", "/v1/scopes/s/artifacts/profile/profile", None, ARTIFACT,
     200),
    ("get_artifact_revision", ("s", REF_), {}, "GET", "/v1/scopes/s/artifacts/memory/memory/revisions/3", None,
     ARTIFACT, 200),
    ("list_artifact_revisions", ("s", "profile", "profile"), {"limit": 2}, "GET",
     "/v1/scopes/s/artifacts/profile/profile/revisions?limit=2", None, {"items": [ITEM], "next_cursor": None}, 200),
]  # fmt: skip


def call(client_type: type[Any], service: FakeService, name: str, *args: Any, **kwargs: Any) -> Any:
    """The result of one method of either client."""
    if client_type is ContextClient:
        with ContextClient(service.url) as client:
            return getattr(client, name)(*args, **kwargs)

    async def awaited() -> Any:
        async with AsyncContextClient(service.url) as client:
            return await getattr(client, name)(*args, **kwargs)

    return asyncio.run(awaited())


@pytest.fixture(params=[ContextClient, AsyncContextClient], ids=lambda client: str(client.__name__))
def client_type(request: pytest.FixtureRequest) -> Any:
    return request.param


@pytest.mark.parametrize(
    "operation",
    OPERATIONS,
    ids=[f"{number}-{operation[0]}" for number, operation in enumerate(OPERATIONS)],
)
def test_an_operation_sends_its_request_and_reads_its_answer(
    client_type: type[Any], service: FakeService, operation: Operation
) -> None:
    name, args, kwargs, method, target, body, answer, status = operation
    service.answer(answer, status)
    result = call(client_type, service, name, *args, **kwargs)
    sent = service.last
    assert (sent.method, sent.target) == (method, target)
    if body is None:
        assert sent.body == b""
    else:
        assert sent.json() == body
        assert sent.headers["Content-Type"] == "application/json"
    signature = inspect.signature(getattr(client_type, name))
    signature.bind(client_type, *args, **kwargs)
    assert type(result) is signature.return_annotation is typing.get_type_hints(getattr(client_type, name))["return"]
    # Every fact of the answer is in the result: written back as JSON it is the same again.
    assert _written(result) == answer


def _written(result: Any) -> Any:
    return json.loads(msgspec.json.encode(result))


def test_every_operation_is_a_method_of_both_clients_and_is_tested() -> None:
    tested = {operation[0] for operation in OPERATIONS}
    own = {"send", "close", "aclose"}
    for client in (ContextClient, AsyncContextClient):
        assert {name for name in vars(client) if not name.startswith("_")} - own == tested


@pytest.mark.parametrize(
    ("assembly", "sent"),
    [
        (Assembly(), {"format": "markdown", "sections": [{"family": "memory", "limit": 6},
                                                         {"family": "experience", "limit": 2}], "show": []}),
        ({}, {"format": "markdown", "sections": [{"family": "memory", "limit": 6},
                                                 {"family": "experience", "limit": 2}], "show": []}),
        (Assembly(sections=()), {"format": "markdown", "sections": [], "show": []}),
        ({"sections": []}, {"format": "markdown", "sections": [], "show": []}),
        (Assembly(sections=(Section("experience", 1), Section("memory", 5)), show=("recall_rank", "confidence")),
         {"format": "markdown", "sections": [{"family": "experience", "limit": 1}, {"family": "memory", "limit": 5}],
          "show": ["recall_rank", "confidence"]}),
        ({"sort_by": "score", "sections": None}, {"format": "markdown", "sections": None, "show": [],
                                                  "sort_by": "score"}),
        (None, None),
        # Whatever is no mapping is the service's to refuse; none of it is the default.
        ([], []),
        ("", ""),
        ([["show", ["recall_rank"]]], [["show", ["recall_rank"]]]),
        ("markdown", "markdown"),
        (5, 5),
        (0, 0),
        (False, False),
        ({"sections": (Section("memory", 6),)}, {"format": "markdown", "sections": [{"family": "memory", "limit": 6}],
                                                 "show": []}),
        (MappingProxyType({"sections": []}), {"format": "markdown", "sections": [], "show": []}),
    ],
    ids=repr,
)  # fmt: skip
def test_an_assembly_is_sent_with_its_defaults_written_out(
    client_type: type[Any], service: FakeService, assembly: Any, sent: Any
) -> None:
    service.answer(EMPTY)
    call(client_type, service, "prepare_context", "s", "q", assembly=assembly)
    assert service.last.json() == {"scope_id": "s", "query": "q", "max_bytes": 8000, "assembly": sent}


def test_an_omitted_assembly_is_not_on_the_wire(client_type: type[Any], service: FakeService) -> None:
    service.answer(EMPTY)
    call(client_type, service, "prepare_context", "s", "q", max_bytes=512)
    assert set(service.last.json()) == {"scope_id", "query", "max_bytes"}


@pytest.mark.parametrize(
    ("scope_id", "encoded"),
    [
        ("a/b", "a%2Fb"),
        ("a%2Fb", "a%252Fb"),
        ("a?b#c", "a%3Fb%23c"),
        (".", "%2E"),
        ("..", "%2E%2E"),
        ("...", "..."),
        ("项目 x", "%E9%A1%B9%E7%9B%AE%20x"),
        ("a+b", "a%2Bb"),
        ("a\\b", "a%5Cb"),
        ("//", "%2F%2F"),
    ],
)
def test_an_id_is_one_part_of_the_path(
    client_type: type[Any], service: FakeService, scope_id: str, encoded: str
) -> None:
    service.answer(SCOPE)
    call(client_type, service, "get_scope", scope_id)
    assert service.last.target == f"/v1/scopes/{encoded}"


def test_an_empty_id_is_refused_before_it_names_another_operation(client_type: type[Any], service: FakeService) -> None:
    with pytest.raises(ValueError, match="empty"):
        call(client_type, service, "get_scope", "")
    assert service.received == []


def test_a_base_url_may_have_a_path(service: FakeService) -> None:
    service.answer(SCOPE)
    with ContextClient(f"{service.url}/sidecar/") as client:
        client.get_scope("s")
    assert service.last.target == "/sidecar/v1/scopes/s"


def test_one_connection_serves_several_calls(service: FakeService) -> None:
    service.answer(SCOPE)
    with ContextClient(service.url) as client:
        for _ in range(3):
            client.get_scope("s")

    async def three() -> None:
        async with AsyncContextClient(service.url) as client:
            for _ in range(3):
                await client.get_scope("s")

    asyncio.run(three())
    peers = [request.peer for request in service.received]
    assert len(set(peers[:3])) == 1
    assert len(set(peers[3:])) == 1


def test_a_unix_socket_takes_the_place_of_the_network(client_type: type[Any], tmp_path: Path) -> None:
    socket = tmp_path / "s"
    with running(FakeService(), socket) as service:
        service.answer(SCOPE)
        if client_type is ContextClient:
            with ContextClient(unix_socket=str(socket)) as client:
                assert client.get_scope("s").scope_id == "project:demo"
        else:

            async def read() -> None:
                async with AsyncContextClient(unix_socket=str(socket)) as client:
                    assert (await client.get_scope("s")).scope_id == "project:demo"

            asyncio.run(read())
        assert service.last.target == "/v1/scopes/s"
