"""What was superseded, retired, erased, pending or rejected is never recalled, however writers and readers interleave.

Each text has a number of its own. A writer notes which numbers died as soon as the write that killed them is
acknowledged; a reader may find nothing that was noted before it began, nor anything that never was live.
"""

import asyncio
import random
import re
import tempfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Literal

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec import UNSET

from adapters import open_storage
from contracts.artifacts import (
    CreateTopicMemory,
    EraseArtifactRequest,
    ExperienceContent,
    ExperienceSearchRequest,
    ReplaceArtifactRequest,
    TopicMemoryContent,
    TopicMemorySearchRequest,
)
from contracts.errors import RevisionConflict
from contracts.identity import Cite
from contracts.memory import (
    EraseEntryRequest,
    ListEntriesRequest,
    MemorySearchRequest,
    RememberRequest,
    RetireEntryRequest,
    ReviseEntryRequest,
    SearchMode,
)
from contracts.ports import Vector, VectorSpace
from contracts.review import ApproveCandidateRequest, ProposeExperienceRequest, RejectCandidateRequest
from contracts.scopes import CreateScopeRequest
from service.inference import Embedder, Inference
from service.runtime import Runtime

WRITERS = 3
STEPS = 6
NUMBER = re.compile(r"number(\d+)")


class SlowEmbedding:
    """A provider whose vectors come after a while, all of them near every query."""

    space = VectorSpace("slow", 2)

    def __init__(self, chance: random.Random) -> None:
        self._chance = chance

    async def embed(self, texts: Sequence[str]) -> tuple[Vector, ...]:
        await asyncio.sleep(self._chance.random() * 0.01)
        return tuple((0.6, 0.8) for _ in texts)


class World:
    """One Scope, what is known to be dead, and what never lived."""

    def __init__(self, runtime: Runtime, chance: random.Random) -> None:
        self.runtime = runtime
        self.chance = chance
        self.live: set[str] = set()
        self.dead: set[str] = set()
        self.writing = WRITERS
        self._numbers = 0

    def text(self) -> tuple[str, str]:
        """A new number, and a text with it."""
        self._numbers += 1
        return str(self._numbers), f"needle number{self._numbers} end"

    def experience(self) -> tuple[str, ExperienceContent]:
        number, text = self.text()
        return number, ExperienceContent(situation=text, action="a", outcome="o", lesson="l")

    def topic(self) -> tuple[str, TopicMemoryContent]:
        number, text = self.text()
        return number, TopicMemoryContent(title=text, summary=text, detail=text)

    def die(self, *numbers: str) -> None:
        self.dead.update(numbers)
        self.live.difference_update(numbers)

    async def pause(self) -> None:
        await asyncio.sleep(self.chance.choice((0, 0, 0.001, 0.004)))


async def write_memory(world: World) -> None:
    """One entry through its life: remembered, revised, then left, retired or erased."""
    memory = world.runtime.memory
    number, text = world.text()
    written = await memory.remember(RememberRequest(scope_id="s", kind="k", text=text))
    world.live.add(number)
    assert written.entry is not None
    entry_id = written.entry.citation.entry_id
    for _ in range(world.chance.randrange(3)):
        await world.pause()
        new, text = world.text()
        citation = await cited_today(world, entry_id)
        if await tried(memory.revise(ReviseEntryRequest(scope_id="s", citation=citation, kind="k", text=text))):
            world.die(number)
            number = new
            world.live.add(number)
        else:
            world.die(new)
    await world.pause()
    end = world.chance.choice(("stays", "retire", "erase"))
    if end == "erase":
        await memory.erase(EraseEntryRequest(scope_id="s", entry_id=entry_id))
        world.die(number)
    elif end == "retire":
        citation = await cited_today(world, entry_id)
        if await tried(memory.retire(RetireEntryRequest(scope_id="s", citation=citation))):
            world.die(number)


async def write_experience(world: World) -> None:
    """Proposed twice; one is rejected, the other stays pending or is approved, then perhaps replaced or erased."""
    candidates = world.runtime.candidates
    (rejected, content), (number, approved) = world.experience(), world.experience()
    world.die(rejected)  # neither may be found before a reviewer says so
    never = await world.runtime.experience.propose(ProposeExperienceRequest(scope_id="s", proposal=content))
    maybe = await world.runtime.experience.propose(ProposeExperienceRequest(scope_id="s", proposal=approved))
    await world.pause()
    await candidates.reject(
        RejectCandidateRequest(scope_id="s", candidate_id=never.candidate_id, expected_version=1, reason="no")
    )
    if world.chance.random() < 0.3:
        world.die(number)
        return
    done = await candidates.approve(
        ApproveCandidateRequest(scope_id="s", candidate_id=maybe.candidate_id, expected_version=1)
    )
    world.live.add(number)
    assert done.result_artifact is not None
    await finish(world, "experience", done.result_artifact.artifact_id, number)


async def write_topic(world: World) -> None:
    number, content = world.topic()
    made = await world.runtime.artifacts.create("s", CreateTopicMemory(content=content))
    world.live.add(number)
    await finish(world, "topic-memory", made.artifact_id, number)


async def finish(world: World, family: Literal["experience", "topic-memory"], artifact_id: str, number: str) -> None:
    """Replace the Artifact, erase it, or let it be."""
    await world.pause()
    end = world.chance.choice(("stays", "replace", "erase"))
    if end == "replace":
        new, content = world.experience() if family == "experience" else world.topic()
        body = {name: getattr(content, name) for name in content.__struct_fields__}
        await world.runtime.artifacts.replace("s", family, artifact_id, ReplaceArtifactRequest(content=body), 1)
        world.die(number)
        world.live.add(new)
    elif end == "erase":
        await world.runtime.artifacts.erase("s", family, artifact_id, EraseArtifactRequest())
        world.die(number)


async def cited_today(world: World, entry_id: str) -> Cite:
    listed = await world.runtime.memory.entries(ListEntriesRequest(scope_id="s"))
    return next(entry.citation for entry in listed.entries if entry.citation.entry_id == entry_id)


async def tried(write: Any) -> bool:
    """Whether the write came before another one that moved the head."""
    try:
        await write
    except RevisionConflict:
        return False
    return True


async def writer(world: World) -> None:
    for _ in range(STEPS):
        step = world.chance.choice((write_memory, write_memory, write_experience, write_topic))
        await step(world)
    world.writing -= 1


async def reader(world: World) -> None:
    """What is found holds nothing that was known to be dead when the search began."""
    while world.writing:
        await world.pause()
        dead = set(world.dead)
        assert not dead & await found(world)


async def found(world: World) -> set[str]:
    """The numbers in everything that recall gives, by one way chosen at random."""
    runtime = world.runtime
    way = world.chance.randrange(4)
    if way == 0:
        prepared = await runtime.context.for_scope("s").prepare("needle", max_bytes=32768, assembly=UNSET)
        return set(NUMBER.findall(prepared.content or ""))
    if way == 1:
        experiences = await runtime.experience.search(ExperienceSearchRequest(scope_id="s", query="needle", limit=50))
        return {number for hit in experiences.hits for number in NUMBER.findall(hit.content.situation)}
    if way == 2:
        topics = await runtime.topic_memory.search(TopicMemorySearchRequest(scope_id="s", query="needle", limit=20))
        texts = [f"{hit.title} {hit.summary} {hit.snippet}" for hit in topics.hits]
        return set(NUMBER.findall(" ".join(texts)))
    modes = ("auto", "fts", *(("hybrid", "vector") if runtime.inference.embedder else ()))
    mode: Any = world.chance.choice(modes)
    hits = await runtime.memory.search(MemorySearchRequest(scope_id="s", query="needle", limit=50, mode=mode))
    return {number for hit in hits.hits for number in NUMBER.findall(hit.text)}


async def live_world(seed: int, path: Path, *, with_vectors: bool) -> None:
    chance = random.Random(seed)
    storage = await open_storage(f"sqlite:///{path}")
    try:
        await storage.migrate()
        inference = Inference()
        if with_vectors:
            provider = SlowEmbedding(chance)
            await storage.vectors.prepare(provider.space)
            inference = Inference(Embedder(provider, storage.vectors, timeout_s=5, count=lambda use, code: None))
        with ThreadPoolExecutor(1) as renderer:
            runtime = Runtime(storage, renderer, inference=inference)
            await runtime.scopes.create(CreateScopeRequest(title="t", summary="s", idempotency_key="s", scope_id="s"))
            world = World(runtime, chance)
            async with asyncio.TaskGroup() as tasks:
                for _ in range(WRITERS):
                    tasks.create_task(writer(world))
                tasks.create_task(reader(world))
                tasks.create_task(reader(world))
            modes: list[SearchMode] = ["fts", "vector"] if with_vectors else ["fts"]
            for mode in modes:
                request = MemorySearchRequest(scope_id="s", query="needle", limit=50, mode=mode)
                hits = (await runtime.memory.search(request)).hits
                entries = (await runtime.memory.entries(ListEntriesRequest(scope_id="s"))).entries
                # Nothing that lives was lost on the way either.
                assert {hit.text for hit in hits} == {entry.text for entry in entries}
    finally:
        await storage.close()


@pytest.mark.parametrize("with_vectors", [False, True], ids=["text", "hybrid"])
@settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(seed=st.integers(0, 2**32))
def test_only_what_lives_is_recalled(with_vectors: bool, seed: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(live_world(seed, Path(folder) / "test.db", with_vectors=with_vectors))
