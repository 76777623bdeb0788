"""The client and the service of this repository agree: every operation once, over the network and a Unix socket."""

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest
from powercontext_client import (
    Assembly,
    AsyncContextClient,
    Candidate,
    Conflict,
    ContextClient,
    ExperienceContent,
    ExternalReference,
    InvalidRequest,
    NotFound,
    Ref,
    Section,
    SourceRef,
    Unauthorized,
)

from tests.client.sidecar_process import running_sidecar

TOKEN = "static-token-of-this-test"
ODD_SCOPE_ID = "项目/a%2Fb?c#d e+f;g=h&i:j@k"
EXPERIENCE = ExperienceContent(
    situation="The HTTP contract changed.", action="Ran the generator.", outcome="It fits.", lesson="Generate first."
)


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with running_sidecar(tmp_path_factory.mktemp("sidecar"), AUTH_TOKEN=TOKEN) as running:
        yield running


@pytest.fixture
def client(url: str) -> Iterator[ContextClient]:
    with ContextClient(url, token=TOKEN) as opened:
        yield opened


@pytest.fixture
def scope_id(client: ContextClient, request: pytest.FixtureRequest) -> str:
    """A Scope of this test alone."""
    name = f"test:{request.node.name}"
    return client.create_scope(scope_id=name, title="t", summary="s", idempotency_key=name).scope_id


def approved(client: ContextClient, scope_id: str, candidate: Candidate) -> Ref:
    """The revision that approving the Candidate makes."""
    decided = client.approve_candidate(scope_id, candidate.candidate_id, expected_version=candidate.version)
    assert decided.status == "approved"
    assert decided.result_artifact is not None
    return decided.result_artifact


def test_capabilities(client: ContextClient) -> None:
    capabilities = client.get_capabilities()
    assert "powercontext.prepared-context.v1" in capabilities.context_versions
    assert capabilities.context_assembly
    assert capabilities.context_assembly.families["experience"].max == 2


def test_scopes(client: ContextClient) -> None:
    link = ExternalReference(kind="git", value="x")
    created = client.create_scope(
        scope_id=ODD_SCOPE_ID, title="t", summary="s", idempotency_key="odd", external_references=(link,)
    )
    again = client.create_scope(
        scope_id=ODD_SCOPE_ID, title="t", summary="s", idempotency_key="odd", external_references=(link,)
    )
    assert created == again == client.get_scope(ODD_SCOPE_ID)
    other = client.create_scope(
        title="Other",
        summary="s",
        idempotency_key="other",
        context_references=[ODD_SCOPE_ID],
        parent_scope_id=ODD_SCOPE_ID,
    )
    assert (other.context_references, other.parent_scope_id) == ((ODD_SCOPE_ID,), ODD_SCOPE_ID)
    replaced = client.replace_scope(other.scope_id, expected_version=1, title="New", summary="s")
    assert (replaced.title, replaced.version, replaced.context_references) == ("New", 2, ())
    assert client.list_scopes(query="a%2Fb?c#d e+f").items == (created,)
    page = client.list_scopes(limit=1)
    assert page.next_cursor is not None
    assert client.list_scopes(limit=1, cursor=page.next_cursor).items != page.items


def test_memory(client: ContextClient, scope_id: str) -> None:
    written = client.remember(scope_id, kind="note", text="Run the contract tests.", reason="r")
    assert written.entry is not None
    assert client.remember(scope_id, kind="note", text="Run the contract tests.").entry is None
    citation = written.entry.citation
    assert client.get_memory_entry(scope_id, citation) == written.entry
    (hit,) = client.search_memory(scope_id, "contract tests").hits
    assert (hit.citation, hit.text) == (citation, "Run the contract tests.")
    revised = client.revise_memory_entry(scope_id, citation, kind="note", text="Run them first.")
    assert revised.entry is not None
    assert revised.entry.version == 2
    with pytest.raises(Conflict) as stale:
        client.revise_memory_entry(scope_id, citation, kind="note", text="x")
    assert stale.value.code == "revision_conflict"
    retired = client.retire_memory_entry(scope_id, revised.entry.citation)
    assert retired.entry is not None
    assert retired.entry.state == "inactive"
    assert client.list_memory_entries(scope_id).entries == ()
    page = client.list_memory_entries(scope_id, include_inactive=True, limit=5)
    assert ([entry.text for entry in page.entries], page.next_cursor) == (["Run them first."], None)
    changes = client.get_memory_changes(scope_id, since_revision=0)
    assert [change.op for revision in changes.revisions for change in revision.changes] == [
        "add",
        "revise",
        "deactivate",
    ]
    assert len(client.get_memory_changes(scope_id).revisions) == 1


def test_experience_and_candidates(client: ContextClient, scope_id: str) -> None:
    source = SourceRef(source_id="log:1")
    candidate = client.propose_experience(scope_id, EXPERIENCE, source_refs=[source], reason="r")
    assert client.get_candidate(scope_id, candidate.candidate_id) == candidate
    assert client.list_candidates(scope_id).candidates == (candidate,)
    revised = client.revise_candidate(
        scope_id, candidate.candidate_id, expected_version=1, proposal=EXPERIENCE, source_refs=[source]
    )
    assert revised.version == 2
    with pytest.raises(Conflict) as stale:
        client.approve_candidate(scope_id, candidate.candidate_id, expected_version=1)
    assert stale.value.details == {"expected_version": 1, "current_version": 2}
    artifact = approved(client, scope_id, revised)
    read = client.get_experience(scope_id, artifact)
    assert (read.content, read.source_refs) == (EXPERIENCE, (source,))
    assert [hit.artifact for hit in client.search_experience(scope_id, "HTTP contract").hits] == [artifact]
    other = client.propose_experience(scope_id, EXPERIENCE)
    rejected = client.reject_candidate(scope_id, other.candidate_id, expected_version=1, reason="twice")
    assert (rejected.status, rejected.decision_reason) == ("rejected", "twice")
    assert client.list_candidates(scope_id, status="approved", family="profile").candidates == ()


def test_profile_and_exact_reads(client: ContextClient, scope_id: str) -> None:
    first = approved(client, scope_id, client.propose_profile(scope_id, "# One"))
    second = approved(client, scope_id, client.propose_profile(scope_id, "# Two"))
    head = client.get_artifact(scope_id, "profile", "profile")
    assert (head.revision, head.content["content"]) == (second.revision, "# Two\n")
    assert client.get_artifact_revision(scope_id, first).content["content"] == "# One\n"
    page = client.list_artifact_revisions(scope_id, "profile", "profile", limit=1)
    assert [item.revision for item in page.items] == [2]
    assert page.next_cursor is not None
    rest = client.list_artifact_revisions(scope_id, "profile", "profile", cursor=page.next_cursor)
    assert [item.revision for item in rest.items] == [1]


def test_topic_memory(client: ContextClient, scope_id: str) -> None:
    assert client.search_topic_memory(scope_id, "contract").hits == ()
    with pytest.raises(NotFound) as missing:
        client.get_topic_memory(scope_id, Ref(family="topic-memory", artifact_id="top_none", revision=1))
    assert missing.value.code == "artifact_not_found"


def test_prepare(client: ContextClient, scope_id: str) -> None:
    assert client.prepare_context(scope_id, "contract").status == "empty"
    client.remember(scope_id, kind="note", text="契约 contract 👩\u200d🔬")
    approved(client, scope_id, client.propose_experience(scope_id, EXPERIENCE))
    legacy = client.prepare_context(scope_id, "contract").content
    assert legacy is not None
    assert "BEGIN_POWERCONTEXT_PREPARED_CONTEXT_V1" in legacy
    sections = (Section("experience", 2), Section("memory", 6))
    text = client.prepare_context(scope_id, "contract", assembly=Assembly(sections=sections)).content
    assert text is not None
    assert 0 < text.index("## Experience") < text.index("## Memory")
    assert client.prepare_context(scope_id, "contract", assembly={}) == client.prepare_context(
        scope_id, "contract", assembly=Assembly()
    )
    assert client.prepare_context(scope_id, "contract", assembly={"sections": []}).status == "empty"


def test_what_the_service_refuses_is_named(client: ContextClient, scope_id: str) -> None:
    for refused in (None, {"sort_by": "score"}, {"show": ["score"]}, Assembly(sections=(Section("experience", 3),))):
        with pytest.raises(InvalidRequest) as invalid:
            client.prepare_context(scope_id, "contract", assembly=refused)
        assert invalid.value.code == "invalid_request"
        assert invalid.value.details is not None
        assert invalid.value.details["errors"][0]["loc"][:2] == ["body", "assembly"]
        assert invalid.value.request_id is not None
        assert len(invalid.value.request_id) == 16
    with pytest.raises(NotFound):
        client.get_scope("nobody:knows")


def test_a_wrong_token_is_unauthorized(url: str) -> None:
    with ContextClient(url, token="wrong") as stranger, pytest.raises(Unauthorized):
        stranger.list_scopes()


async def test_the_async_client_speaks_to_the_same_service(url: str, scope_id: str) -> None:
    async with AsyncContextClient(url, token=TOKEN) as client:
        texts = [f"contract {number}" for number in range(5)]
        await asyncio.gather(*(client.remember(scope_id, kind="note", text=text) for text in texts))
        listed = await client.list_memory_entries(scope_id)
        assert sorted(entry.text for entry in listed.entries) == texts
        prepared = await client.prepare_context(scope_id, "contract", assembly={"show": ["recall_rank"]})
        assert prepared.status == "ready"


def test_a_unix_socket_reaches_the_service(tmp_path: Path) -> None:
    socket = tmp_path / "s"
    with running_sidecar(tmp_path, HTTP_UDS=str(socket)), ContextClient(unix_socket=str(socket)) as client:
        assert client.create_scope(title="t", summary="s", idempotency_key="k").version == 1
