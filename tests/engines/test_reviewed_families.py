"""Experience, Profile, Topic Memory and Candidates on every engine."""

import pytest

from adapters.sql.storage import SqlStorage
from contracts.artifacts import ProfileContent
from contracts.errors import (
    ArtifactAlreadyExists,
    ArtifactNotFound,
    CandidateConflict,
    CandidateNotFound,
    CandidateTerminal,
    ContentErased,
    PreconditionFailed,
    RevisionConflict,
)
from contracts.identity import Ref
from contracts.ports import Proposal
from tests.engines.content import experience, key_of, remembered, topic


async def lessons(storage: SqlStorage, scope_id: str, query: str) -> list[str]:
    group = await storage.experience_recall.recall(await key_of(storage, scope_id), query, 8)
    return [hit.lesson for hit in group.hits]


async def titles(storage: SqlStorage, scope_id: str, query: str) -> list[str]:
    return [hit.title for hit in await storage.topic_memory_recall.recall(await key_of(storage, scope_id), query, 8)]


async def test_a_replaced_artifact_is_found_at_its_head_and_read_at_any_revision(
    storage: SqlStorage, scope_id: str
) -> None:
    first = await storage.artifacts.create(scope_id, topic("alpha", "the detail says apple"))
    second = await storage.artifacts.replace(scope_id, first.artifact_id, topic("beta", "the detail says banana"), 1)
    assert second.revision == 2
    assert await titles(storage, scope_id, "alpha apple") == []
    assert await titles(storage, scope_id, "beta") == ["beta"]
    assert await titles(storage, scope_id, "banana") == ["beta"]
    old = await storage.artifacts.read(scope_id, "topic-memory", first.artifact_id, 1)
    assert (old.content["title"], old.content_digest) == ("alpha", first.content_digest)
    assert (await storage.artifacts.read(scope_id, "topic-memory", first.artifact_id, None)).revision == 2
    with pytest.raises(PreconditionFailed):
        await storage.artifacts.replace(scope_id, first.artifact_id, topic("gamma"), 1)
    with pytest.raises(ArtifactNotFound):
        await storage.artifacts.read(scope_id, "topic-memory", first.artifact_id, 3)
    with pytest.raises(ArtifactNotFound):
        await storage.artifacts.read(scope_id, "experience", first.artifact_id, 1)


async def test_a_scope_has_one_profile(storage: SqlStorage, scope_id: str) -> None:
    assert await storage.profile_recall.head(await key_of(storage, scope_id)) is None
    await storage.artifacts.create(scope_id, ProfileContent(content="one"))
    with pytest.raises(ArtifactAlreadyExists):
        await storage.artifacts.create(scope_id, ProfileContent(content="two"))
    await storage.artifacts.replace(scope_id, "profile", ProfileContent(content="two"), 1)
    head = await storage.profile_recall.head(await key_of(storage, scope_id))
    assert head is not None
    assert (head.revision, head.content) == (2, "two")


async def test_heads_and_revisions_are_paged(storage: SqlStorage, scope_id: str) -> None:
    created = [await storage.artifacts.create(scope_id, experience(str(number))) for number in range(5)]
    for revision in range(1, 5):
        await storage.artifacts.replace(scope_id, created[0].artifact_id, experience(f"again {revision}"), revision)
    listed: list[tuple[str, int]] = []
    cursor: str | None = None
    while True:
        page, cursor = await storage.artifacts.heads(scope_id, "experience", limit=2, cursor=cursor)
        listed += [(item.artifact_id, item.revision) for item in page]
        if cursor is None:
            break
    expected = [(artifact.artifact_id, 5 if artifact is created[0] else 1) for artifact in created]
    assert listed == sorted(expected)
    numbers: list[int] = []
    while True:
        page, cursor = await storage.artifacts.revisions(
            scope_id, "experience", created[0].artifact_id, limit=2, cursor=cursor
        )
        numbers += [item.revision for item in page]
        if cursor is None:
            break
    assert numbers == [5, 4, 3, 2, 1]


async def test_erasing_an_artifact_takes_it_out_of_reads_listings_and_search(
    storage: SqlStorage, scope_id: str
) -> None:
    created = await storage.artifacts.create(scope_id, topic("secret", "the secret detail"))
    await storage.artifacts.replace(scope_id, created.artifact_id, topic("secret two", "the secret detail two"), 1)
    assert await storage.artifacts.erase(scope_id, "topic-memory", created.artifact_id, None) == 2
    assert await storage.artifacts.erase(scope_id, "topic-memory", created.artifact_id, None) == 0
    for revision in (1, 2, None):
        with pytest.raises(ContentErased):
            await storage.artifacts.read(scope_id, "topic-memory", created.artifact_id, revision)
    assert await titles(storage, scope_id, "secret detail two") == []
    assert await storage.artifacts.heads(scope_id, "topic-memory", limit=10, cursor=None) == ((), None)
    with pytest.raises(ContentErased):
        await storage.artifacts.replace(scope_id, created.artifact_id, topic("back"), 2)


async def test_a_candidate_is_recalled_only_after_its_approval(storage: SqlStorage, scope_id: str) -> None:
    proposed = await storage.candidates.propose(scope_id, Proposal(content=experience("canary"), reason="seen twice"))
    assert (proposed.status, proposed.version, proposed.reason) == ("pending", 1, "seen twice")
    assert await lessons(storage, scope_id, "canary") == []
    approved = await storage.candidates.approve(scope_id, proposed.candidate_id, 1)
    assert approved.result_artifact is not None
    assert (approved.status, approved.result_artifact.revision) == ("approved", 1)
    assert await lessons(storage, scope_id, "canary") == ["L canary"]
    with pytest.raises(CandidateTerminal):
        await storage.candidates.reject(scope_id, proposed.candidate_id, 1, "no")
    with pytest.raises(CandidateNotFound):
        await storage.candidates.get(scope_id, "cand_unknown")


async def test_a_revised_candidate_replaces_its_target_when_approved(storage: SqlStorage, scope_id: str) -> None:
    target = await storage.artifacts.create(scope_id, experience("old"))
    ref = Ref(family="experience", artifact_id=target.artifact_id, revision=1)
    cited = (await remembered(storage, scope_id, "evidence")).citation
    proposed = await storage.candidates.propose(
        scope_id, Proposal(content=experience("draft"), target=ref, memory_citations=(cited,))
    )
    revised = await storage.candidates.revise(
        scope_id, proposed.candidate_id, 1, Proposal(content=experience("final"), target=ref), keep_citations=True
    )
    assert (revised.version, revised.memory_citations) == (2, (cited,))
    with pytest.raises(CandidateConflict):
        await storage.candidates.approve(scope_id, proposed.candidate_id, 1)
    approved = await storage.candidates.approve(scope_id, proposed.candidate_id, 2)
    assert approved.result_artifact == Ref(family="experience", artifact_id=target.artifact_id, revision=2)
    assert await lessons(storage, scope_id, "old draft final") == ["L final"]
    read = await storage.artifacts.read(scope_id, "experience", target.artifact_id, 2)
    assert read.memory_citations == (cited,)


async def test_a_candidate_whose_target_moved_cannot_be_approved(storage: SqlStorage, scope_id: str) -> None:
    target = await storage.artifacts.create(scope_id, experience("one"))
    ref = Ref(family="experience", artifact_id=target.artifact_id, revision=1)
    proposed = await storage.candidates.propose(scope_id, Proposal(content=experience("two"), target=ref))
    await storage.artifacts.replace(scope_id, target.artifact_id, experience("moved"), 1)
    with pytest.raises(RevisionConflict):
        await storage.candidates.approve(scope_id, proposed.candidate_id, 1)
    assert (await storage.candidates.get(scope_id, proposed.candidate_id)).status == "pending"


async def test_candidates_are_listed_oldest_first_by_status_and_family(storage: SqlStorage, scope_id: str) -> None:
    made = [await storage.candidates.propose(scope_id, Proposal(content=experience(str(n)))) for n in range(4)]
    profile = await storage.candidates.propose(scope_id, Proposal(content=ProfileContent(content="p")))
    await storage.candidates.reject(scope_id, made[1].candidate_id, 1, "no")

    async def listed(status: str, family: str | None) -> list[str]:
        ids: list[str] = []
        cursor: str | None = None
        while True:
            page, cursor = await storage.candidates.list(scope_id, status=status, family=family, limit=2, cursor=cursor)
            ids += [candidate.candidate_id for candidate in page]
            if cursor is None:
                return ids

    pending = [made[0].candidate_id, made[2].candidate_id, made[3].candidate_id]
    assert await listed("pending", None) == [*pending, profile.candidate_id]
    assert await listed("pending", "experience") == pending
    assert await listed("pending", "profile") == [profile.candidate_id]
    assert await listed("rejected", None) == [made[1].candidate_id]
    assert await listed("approved", None) == []


async def test_a_profile_proposal_leaves_the_head_until_it_is_approved(storage: SqlStorage, scope_id: str) -> None:
    await storage.artifacts.create(scope_id, ProfileContent(content="one"))
    proposed = await storage.candidates.propose(scope_id, Proposal(content=ProfileContent(content="two")))
    head = await storage.profile_recall.head(await key_of(storage, scope_id))
    assert head is not None
    assert head.content == "one"
    await storage.candidates.approve(scope_id, proposed.candidate_id, 1)
    head = await storage.profile_recall.head(await key_of(storage, scope_id))
    assert head is not None
    assert (head.content, head.revision) == ("two", 2)
