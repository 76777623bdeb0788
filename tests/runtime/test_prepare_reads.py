"""What prepare reads, watched at its ports: only selected families, all their Scopes, never a partial result."""

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import msgspec
import pytest

from adapters.sql.storage import SqlStorage
from contracts.access import Grant, Principal
from contracts.errors import ContextError, Forbidden, InternalError, InvalidRequest, RuntimeNotReady, ScopeNotFound
from contracts.memory import RememberRequest
from contracts.ports import QueryVector, ScopeKey
from contracts.prepare import ContextPrepareRequest
from service.access import Caller
from service.recall import RecallSources
from service.runtime import Runtime

FAMILIES = ("memory", "experience", "profile", "topic_memory")
EMPTY = {"schema": "powercontext.prepared-context.v1", "status": "empty", "content": None, "content_bytes": 0}


class Spy:
    """A port in front of a real one: notes every call, and fails or waits when told to."""

    def __init__(self, real: Any) -> None:
        self.real = real
        self.scopes: list[str] = []
        self.failure: Exception | None = None
        self.wait_s = 0.0
        self.cancelled = 0

    async def _called(self, scope: ScopeKey) -> None:
        self.scopes.append(scope.scope_id)
        try:
            await asyncio.sleep(self.wait_s)
        except asyncio.CancelledError:
            self.cancelled += 1
            raise
        if self.failure is not None:
            raise self.failure

    async def recall(self, scope: ScopeKey, query: str, limit: int, vector: QueryVector | None = None) -> Any:
        await self._called(scope)
        return await self.real.recall(scope, query, limit, vector)

    async def head(self, scope: ScopeKey) -> Any:
        await self._called(scope)
        return await self.real.head(scope)


@pytest.fixture
def spies(runtime: Runtime, storage: SqlStorage) -> dict[str, Spy]:
    spies = {
        "memory": Spy(storage.memory_recall),
        "experience": Spy(storage.experience_recall),
        "profile": Spy(storage.profile_recall),
        "topic_memory": Spy(storage.topic_memory_recall),
    }
    runtime.sources = RecallSources(
        memory=spies["memory"],
        experience=spies["experience"],
        profile=spies["profile"],
        topic_memory=spies["topic_memory"],
    )
    return spies


def read_by(spies: dict[str, Spy]) -> dict[str, list[str]]:
    return {name: spy.scopes for name, spy in spies.items() if spy.scopes}


async def prepare(runtime: Runtime, assembly: Any = msgspec.UNSET) -> dict[str, Any]:
    prepared = await runtime.context.for_scope("current").prepare("needle", assembly=assembly)
    return msgspec.to_builtins(prepared)  # type: ignore[no-any-return]


@pytest.mark.parametrize(
    ("assembly", "expected"),
    [
        (msgspec.UNSET, {"memory": 2, "experience": 2, "topic_memory": 1}),
        ({}, {"memory": 2, "experience": 2}),
        ({"sections": []}, {}),
        ({"sections": [{"family": "memory", "limit": 1}]}, {"memory": 2}),
        ({"sections": [{"family": "profile", "limit": 1}]}, {"profile": 2}),
        ({"sections": [{"family": "topic-memory", "limit": 1}]}, {"topic_memory": 1}),
    ],
)
async def test_only_selected_families_are_read_over_the_scopes_that_they_have(
    runtime: Runtime, spies: dict[str, Spy], assembly: Any, expected: dict[str, int]
) -> None:
    assert await prepare(runtime, assembly) == EMPTY
    scopes = ["current", "other"]
    assert read_by(spies) == {name: scopes[:count] for name, count in expected.items()}


@pytest.mark.parametrize("broken", FAMILIES)
async def test_a_broken_source_hurts_those_who_select_it_and_nobody_else(
    runtime: Runtime, spies: dict[str, Spy], broken: str
) -> None:
    for failure in (OSError("the driver's words"), RuntimeNotReady()):
        spies[broken].failure = failure
        for family in FAMILIES:
            assembly = {"sections": [{"family": family.replace("_", "-"), "limit": 1}]}
            if family == broken:
                with pytest.raises(RuntimeNotReady) as failed:
                    await prepare(runtime, assembly)
                assert "driver" not in failed.value.message
            else:
                assert await prepare(runtime, assembly) == EMPTY
        assert await prepare(runtime, {"sections": []}) == EMPTY


async def test_a_failed_leg_cancels_the_others(runtime: Runtime, spies: dict[str, Spy]) -> None:
    spies["experience"].failure = OSError()
    spies["memory"].wait_s = 60
    with pytest.raises(RuntimeNotReady):
        await asyncio.wait_for(prepare(runtime, {}), 5)
    assert spies["memory"].cancelled == 2


async def test_an_error_that_has_its_own_status_keeps_it(runtime: Runtime, spies: dict[str, Spy]) -> None:
    """A rerank answer that cannot be parsed is 500, not 503 (CONTRACT section 4)."""
    spies["memory"].failure = InternalError()
    with pytest.raises(InternalError):
        await prepare(runtime, {})


async def test_late_recall_is_an_error_and_never_an_empty_result(runtime: Runtime, spies: dict[str, Spy]) -> None:
    runtime.recall_timeout_s = 0.05
    spies["memory"].wait_s = 60
    with pytest.raises(RuntimeNotReady):
        await asyncio.wait_for(prepare(runtime, {}), 5)


async def test_legs_run_at_the_same_time(runtime: Runtime, spies: dict[str, Spy]) -> None:
    """Seven legs of half a second take far less than 3.5 seconds together."""
    for spy in spies.values():
        spy.wait_s = 0.5
    started = asyncio.get_running_loop().time()
    await prepare(runtime, {"sections": [{"family": family.replace("_", "-"), "limit": 1} for family in FAMILIES]})
    assert asyncio.get_running_loop().time() - started < 2


async def test_a_family_without_a_source_has_no_candidates(runtime: Runtime) -> None:
    runtime.sources = RecallSources()
    assert await prepare(runtime) == EMPTY
    assert await prepare(runtime, {"sections": [{"family": "profile", "limit": 2}]}) == EMPTY


async def test_rendering_runs_in_a_worker_thread(runtime: Runtime) -> None:
    await runtime.memory.remember(RememberRequest(scope_id="current", kind="fact", text="needle"))
    threads: list[int] = []

    class Noting(ThreadPoolExecutor):
        def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Any:
            def noted() -> Any:
                threads.append(threading.get_ident())
                return fn(*args, **kwargs)

            return super().submit(noted)

    with Noting(1) as runtime.renderer:
        assert (await prepare(runtime, {}))["status"] == "ready"
    assert len(threads) == 1
    assert threads[0] != threading.get_ident()


@pytest.mark.parametrize(
    "options",
    [
        {"query": ""},
        {"query": " \u3000"},
        {"query": "q" * 8193},
        {"query": "a\0"},
        {"query": "\ud800"},
        {"query": 7},
        {"max_bytes": 511},
        {"max_bytes": 32769},
        {"max_bytes": True},
        {"max_bytes": None},
        {"max_bytes": 8000.0},
        {"assembly": None},
        {"assembly": []},
        {"assembly": {"sort_by": "score"}},
        {"assembly": {"min_confidence": 0.5}},
        {"assembly": {"format": "html"}},
        {"assembly": {"sections": None}},
        {"assembly": {"show": ["score"]}},
        {"assembly": {"show": ["confidence", "confidence"]}},
        {"assembly": {"sections": [{"family": "skill", "limit": 1}]}},
        {"assembly": {"sections": [{"family": "memory", "limit": 0}]}},
        {"assembly": {"sections": [{"family": "experience", "limit": 3}]}},
        {"assembly": {"sections": [{"family": "memory", "limit": 2}, {"family": "memory", "limit": 1}]}},
        {"assembly": {"sections": [{"family": "memory", "limit": 8}, {"family": "experience", "limit": 1}]}},
        {
            "assembly": {
                "sections": [
                    {"family": family, "limit": 1}
                    for family in ("memory", "experience", "profile", "topic-memory", "memory")
                ]
            }
        },
    ],
)
async def test_in_process_prepare_refuses_what_http_refuses_before_anything_is_read(
    runtime: Runtime, spies: dict[str, Spy], options: dict[str, Any]
) -> None:
    query = options.pop("query", "needle")
    with pytest.raises(InvalidRequest):
        await runtime.context.for_scope("current").prepare(query, **options)
    assert read_by(spies) == {}


@pytest.mark.parametrize("scope_id", ["", "..", " ", "a\0", "x" * 257, None])
async def test_in_process_prepare_refuses_an_illegal_scope_id(runtime: Runtime, scope_id: Any) -> None:
    with pytest.raises(InvalidRequest):
        await runtime.context.for_scope(scope_id).prepare("needle")


async def test_the_three_forms_of_a_bad_sum_and_a_repeat_name_their_place(runtime: Runtime) -> None:
    assembly: dict[str, Any] = {
        "sections": [
            {"family": "memory", "limit": 8},
            {"family": "profile", "limit": 8},
            {"family": "memory", "limit": 1},
        ],
        "show": ["recall_rank", "recall_rank"],
    }
    with pytest.raises(InvalidRequest) as refused:
        await prepare(runtime, assembly)
    assert [(error.type, error.loc) for error in refused.value.errors] == [
        ("repeated", ("body", "assembly", "sections", 2, "family")),
        ("repeated", ("body", "assembly", "show", 1)),
        ("limit_sum", ("body", "assembly", "sections")),
    ]


async def test_a_server_below_eight_entries_refuses_the_default_sections_and_not_legacy(runtime: Runtime) -> None:
    runtime.max_entries = 7
    with pytest.raises(InvalidRequest):
        await prepare(runtime, {})
    assert await prepare(runtime) == EMPTY
    assert await prepare(runtime, {"sections": [{"family": "memory", "limit": 7}]}) == EMPTY


async def test_an_unknown_scope_is_not_found_even_when_nothing_is_selected(runtime: Runtime) -> None:
    forms: list[Any] = [msgspec.UNSET, {}, {"sections": []}]
    for assembly in forms:
        with pytest.raises(ScopeNotFound):
            await runtime.context.for_scope("unknown").prepare("needle", assembly=assembly)


@pytest.mark.parametrize(
    ("sections", "error"),
    [
        (None, Forbidden),
        ([{"family": "memory", "limit": 1}], Forbidden),
        ([{"family": "experience", "limit": 1}], Forbidden),
        ([{"family": "profile", "limit": 1}], Forbidden),
        ([{"family": "topic-memory", "limit": 1}], None),
        ([], None),
    ],
)
async def test_a_reference_that_may_not_be_read_refuses_what_would_read_it_before_any_candidate_is_read(
    runtime: Runtime, spies: dict[str, Spy], sections: list[Any] | None, error: type[ContextError] | None
) -> None:
    caller = Caller(Principal(type="user", id="u"), (Grant(scope_id="current", role="viewer"),))
    body = {"scope_id": "current", "query": "needle"}
    if sections is not None:
        body["assembly"] = {"sections": sections}  # type: ignore[assignment]
    request = msgspec.convert(body, ContextPrepareRequest)
    context = runtime.acting_as(caller).context
    if error is None:
        await context.prepare(request)
        return
    with pytest.raises(error):
        await context.prepare(request)
    assert read_by(spies) == {}
