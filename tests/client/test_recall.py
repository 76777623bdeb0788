"""One prepare per user turn and configuration, kept under the one key, and fail-open (RFC 1489, hosts; case R77)."""

import asyncio
import logging
from collections.abc import Callable
from typing import Any

import pytest
from powercontext_client import AsyncContextClient, AsyncRecall, ContextClient, Recall, Selection

from tests.client.fake_service import FakeService

TOKEN = "pct_secret-token"
Steps = list[tuple[Selection, str, str]]


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
