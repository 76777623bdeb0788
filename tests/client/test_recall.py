"""One prepare per user turn and configuration, kept under the one key, and fail-open (RFC 1489, hosts; case R77)."""

import asyncio
import contextlib
import logging
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from powercontext_client import AsyncContextClient, AsyncRecall, ContextClient, Recall, Section, Selection

from tests.client.fake_service import FakeService
from tests.client.raw_service import raw_service, whole_answer

TOKEN = "pct_secret-token"
Steps = list[tuple[Selection, str, str | None]]


def blocking(service: FakeService, steps: Steps) -> list[str | None]:
    """The contents of the steps (selection, query, turn) through one Recall whose selection changes."""
    with ContextClient(service.url, token=TOKEN) as client:
        recall = Recall(client, steps[0][0])
        contents: list[str | None] = []
        for recall.selection, query, turn in steps:
            contents.append(recall.content(query, turn))
            number_answer(service)
        return contents


def awaited(service: FakeService, steps: Steps) -> list[str | None]:
    """The same through one AsyncRecall."""

    async def all_steps() -> list[str | None]:
        async with AsyncContextClient(service.url, token=TOKEN) as client:
            recall = AsyncRecall(client, steps[0][0])
            contents: list[str | None] = []
            for recall.selection, query, turn in steps:
                contents.append(await recall.content(query, turn))
                number_answer(service)
            return contents

    return asyncio.run(all_steps())


def number_answer(service: FakeService) -> None:
    """From now on another text is answered, as if another client had written meanwhile."""
    content = f" text {len(service.received)}\n"
    fields = {"status": "ready", "content": content, "content_bytes": len(content)}
    service.answer({"schema": "powercontext.prepared-context.v1", **fields})


@pytest.fixture(params=[blocking, awaited], ids=["Recall", "AsyncRecall"])
def contents_of(request: pytest.FixtureRequest) -> Callable[[FakeService, Steps], list[str | None]]:
    way: Callable[[FakeService, Steps], list[str | None]] = request.param
    return way


@pytest.fixture
def answering(service: FakeService) -> FakeService:
    number_answer(service)
    return service


def test_all_calls_of_a_turn_see_the_text_of_its_one_prepare(contents_of: Any, answering: FakeService) -> None:
    selection = Selection("s", assembly={})
    assert contents_of(answering, [(selection, "q", "t")] * 3) == [" text 0\n"] * 3
    assert len(answering.received) == 1


def test_another_turn_query_budget_or_assembly_is_another_prepare(contents_of: Any, answering: FakeService) -> None:
    steps: Steps = [
        (Selection("s"), "q", "t"),
        (Selection("s"), "q", "t2"),
        (Selection("s"), "q2", "t"),
        (Selection("s", max_bytes=4000), "q", "t"),
        (Selection("s", assembly={}), "q", "t"),
        (Selection("s", assembly={"show": ["confidence"]}), "q", "t"),
        (Selection("s2"), "q", "t"),
        (Selection("s", assembly={"format": "markdown"}), "q", "t"),
    ]
    texts = contents_of(answering, steps)
    assert texts == [f" text {n}\n" for n in (0, 1, 2, 3, 4, 5, 6, 4)]
    assert len(answering.received) == 7


def test_a_failure_injects_nothing_is_logged_without_secrets_and_not_repeated(
    contents_of: Any, service: FakeService, caplog: pytest.LogCaptureFixture
) -> None:
    service.answer({"error": {"code": "invalid_request", "message": "m", "details": None}}, 422)
    with caplog.at_level(logging.WARNING, "powercontext_client"):
        assert contents_of(service, [(Selection("s", assembly={}), "a question", "t")] * 2) == [None, None]
    assert len(service.received) == 1
    assert "422" in caplog.text
    assert TOKEN not in caplog.text
    assert "a question" not in caplog.text


def test_a_blank_query_asks_nothing_and_a_long_one_by_its_beginning(contents_of: Any, answering: FakeService) -> None:
    assert contents_of(answering, [(Selection("s"), " \n", "t")]) == [None]
    assert answering.received == []
    contents_of(answering, [(Selection("s"), "𠮷" * 9000, "t")])
    assert answering.last.json()["query"] == "𠮷" * 8192


def test_a_turn_without_a_name_is_asked_for_each_time(contents_of: Any, answering: FakeService) -> None:
    assert contents_of(answering, [(Selection("s"), "q", None)] * 2) == [" text 0\n", " text 1\n"]


@pytest.mark.parametrize(
    ("selection", "query"),
    [
        (Selection("s"), "half a character \ud800"),
        (Selection("\ud800"), "q"),
        (Selection("s", assembly={"sections": object()}), "q"),
        (Selection("s", max_bytes="many"), "q"),  # type: ignore[arg-type]
    ],
    ids=["query", "scope", "assembly", "budget"],
)
def test_what_cannot_be_sent_injects_nothing_and_is_logged(
    contents_of: Any, service: FakeService, caplog: pytest.LogCaptureFixture, selection: Selection, query: str
) -> None:
    assert contents_of(service, [(selection, query, "t")]) == [None]
    assert service.received == []
    assert "nothing injected" in caplog.text
    assert "half" not in caplog.text


def test_an_assembly_that_prepare_takes_has_a_key(contents_of: Any, answering: FakeService) -> None:
    selection = Selection("s", assembly={"sections": (Section("memory", 6),)})
    assert contents_of(answering, [(selection, "q", "t")] * 2) == [" text 0\n"] * 2
    assert answering.last.json()["assembly"]["sections"] == [{"family": "memory", "limit": 6}]


def test_an_assembly_that_is_no_mapping_is_sent_for_the_service_to_refuse(
    contents_of: Any, answering: FakeService
) -> None:
    steps: Steps = [(Selection("s", assembly={}), "q", "t"), (Selection("s", assembly=[]), "q", "t")]  # type: ignore[arg-type]
    assert contents_of(answering, steps) == [" text 0\n", " text 1\n"]
    assert answering.last.json()["assembly"] == []


def test_a_failure_is_logged_by_its_facts_alone_on_one_printable_line(
    contents_of: Any, service: FakeService, caplog: pytest.LogCaptureFixture
) -> None:
    service.answer(
        {"error": {"code": "c\x1b[31m\nforged 验", "message": f"Bearer {TOKEN}\nforged\x1b[2J", "details": None}},
        401,
        X_PowerContext_Request_ID="r" * 3000,
    )
    assert contents_of(service, [(Selection("s"), "q", "t")]) == [None]
    (record,) = caplog.records
    message = record.getMessage()
    assert "401" in message
    assert r"c\x1b[31m\nforged" in message
    assert "rrr" in message
    assert TOKEN not in message
    assert message.isascii()
    assert message.isprintable()
    assert len(message) < 300


def test_a_closed_client_injects_nothing(service: FakeService) -> None:
    client = ContextClient(service.url)
    client.close()
    assert Recall(client, Selection("s")).content("q", "t") is None


async def test_each_kind_of_recall_takes_its_own_kind_of_client_alone(service: FakeService) -> None:
    with ContextClient(service.url) as client:
        async with AsyncContextClient(service.url) as async_client:
            with pytest.raises(TypeError, match=r"^Recall needs a ContextClient"):
                Recall(async_client, Selection("s"))  # type: ignore[arg-type]
            with pytest.raises(TypeError, match=r"^AsyncRecall needs an AsyncContextClient"):
                AsyncRecall(client, Selection("s"))  # type: ignore[arg-type]


@pytest.mark.parametrize("timeout_s", [0, -1, float("nan"), float("inf"), 86_401, "3", True])
def test_a_selection_with_an_illegal_timeout_is_refused(timeout_s: Any) -> None:
    with pytest.raises(ValueError, match="timeout_s"):
        Selection("s", timeout_s=timeout_s)


@contextlib.contextmanager
def slow_for(slow: bytes) -> Iterator[str]:
    """A service that answers a request with these bytes in it never, any other one at once."""

    def behave(connection: Any, request: bytes) -> None:
        if slow in request:
            connection.recv(1)  # until the client goes
        connection.sendall(whole_answer())

    with raw_service(behave) as url:
        yield url


TIMEOUT_S = 0.5
TURNS = 6


def test_turns_of_threads_wait_for_their_own_prepare_only() -> None:
    waited: list[float] = []
    with slow_for(b"slow") as url, ContextClient(url) as client:
        recall = Recall(client, Selection("s", timeout_s=TIMEOUT_S))
        assert recall.content("quick", "kept") == "hello"

        def turn(number: int) -> None:
            begun = time.monotonic()
            assert recall.content("slow", str(number // 2)) is None  # pairs share a turn
            waited.append(time.monotonic() - begun)

        threads = [threading.Thread(target=turn, args=(number,)) for number in range(TURNS)]
        for thread in threads:
            thread.start()
        begun = time.monotonic()
        assert recall.content("quick", "kept") == "hello"
        assert recall.content("quick", "new") == "hello"
        assert time.monotonic() - begun < TIMEOUT_S / 2
        for thread in threads:
            thread.join()
    assert len(waited) == TURNS
    assert max(waited) < 2 * TIMEOUT_S


def test_turns_of_tasks_wait_for_their_own_prepare_only() -> None:
    async def turns() -> None:
        async with AsyncContextClient(url) as client:
            recall = AsyncRecall(client, Selection("s", timeout_s=TIMEOUT_S))
            begun = time.monotonic()
            slow = asyncio.gather(*(recall.content("slow", str(number // 2)) for number in range(TURNS)))
            await asyncio.sleep(0)
            assert await recall.content("quick", "new") == "hello"
            assert await recall.content("quick", "new") == "hello"
            assert time.monotonic() - begun < TIMEOUT_S / 2
            assert await slow == [None] * TURNS
            assert time.monotonic() - begun < 2 * TIMEOUT_S

    with slow_for(b"slow") as url:
        asyncio.run(turns())


def test_equal_turns_at_once_share_one_prepare(service: FakeService) -> None:
    number_answer(service)
    service.delay_s = 0.2
    contents: list[str | None] = []
    with ContextClient(service.url) as client:
        recall = Recall(client, Selection("s"))
        threads = [threading.Thread(target=lambda: contents.append(recall.content("q", "t"))) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    async def awaited() -> list[str | None]:
        async with AsyncContextClient(service.url) as client:
            shared = AsyncRecall(client, Selection("s"))
            return await asyncio.gather(*(shared.content("q", "t") for _ in range(4)))

    assert contents + asyncio.run(awaited()) == [" text 0\n"] * 8
    assert len(service.received) == 2


def test_a_turn_that_is_cancelled_is_asked_for_again_by_who_waits_for_it(service: FakeService) -> None:
    number_answer(service)
    service.delay_s = 0.3

    async def turns() -> None:
        async with AsyncContextClient(service.url) as client:
            recall = AsyncRecall(client, Selection("s"))
            asking = asyncio.create_task(recall.content("q", "t"))
            waiting = [asyncio.create_task(recall.content("q", "t")) for _ in range(3)]
            await asyncio.sleep(0.1)
            waiting.pop().cancel()  # it asks nothing itself, so that nobody minds
            asking.cancel()
            assert await asyncio.gather(*waiting) == [" text 0\n"] * 2
            assert asking.cancelled()
            assert await recall.content("q", "t") == " text 0\n"

    asyncio.run(turns())
    assert len(service.received) == 2


def test_an_interrupted_turn_is_not_kept(service: FakeService, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*args: Any, **kwargs: Any) -> Any:
        raise KeyboardInterrupt

    number_answer(service)
    with ContextClient(service.url) as client:
        recall = Recall(client, Selection("s"))
        with monkeypatch.context() as patched:
            patched.setattr(client, "prepare_context", interrupt)
            with pytest.raises(KeyboardInterrupt):
                recall.content("q", "t")
        assert recall.content("q", "t") == " text 0\n"
