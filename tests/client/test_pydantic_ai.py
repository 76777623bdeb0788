"""Pydantic AI: one prepare per run, its text unchanged in the run's first request and in no later one twice."""

import asyncio
import gc
from typing import Any

import pytest

pytest.importorskip("pydantic_ai", reason="the pydantic-ai extra is not installed")

from powercontext_client import AsyncContextClient, AsyncRecall, ContextClient, Recall, Selection
from powercontext_client.pydantic_ai import PowerContextHistory
from pydantic_ai import Agent
from pydantic_ai.capabilities import ProcessHistory
from pydantic_ai.messages import ModelMessage, ModelRequest, ModelResponse, TextPart, ToolCallPart, UserPromptPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

from tests.client.fake_service import FakeService

CONTENT = " # recalled\n验 {x} \n"
READY = {
    "schema": "powercontext.prepared-context.v1",
    "status": "ready",
    "content": CONTENT,
    "content_bytes": len(CONTENT.encode()),
}


def look() -> str:
    return "found"


def said_by_users(messages: list[ModelMessage]) -> list[Any]:
    requests = [message for message in messages if isinstance(message, ModelRequest)]
    return [part.content for request in requests for part in request.parts if isinstance(part, UserPromptPart)]


def run(service: FakeService, *questions: str) -> list[list[Any]]:
    """What users said in each model call of the runs, one after the other with their history."""
    asked: list[list[Any]] = []

    def answer(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        asked.append(said_by_users(messages))
        tool_is_due = len(asked) % 2 == 1
        return ModelResponse(parts=[ToolCallPart("look", {}) if tool_is_due else TextPart("done")])

    async def runs() -> None:
        async with AsyncContextClient(service.url) as client:
            recall = AsyncRecall(client, Selection("s", assembly={"show": ["recall_rank"]}))
            processor = ProcessHistory(PowerContextHistory(recall))
            agent = Agent(FunctionModel(answer), tools=[look], capabilities=[processor])
            history: list[ModelMessage] = []
            for question in questions:
                result = await agent.run(question, message_history=history)
                assert result.output == "done"
                history = result.all_messages()

    asyncio.run(runs())
    return asked


def test_one_prepare_serves_all_model_calls_of_a_run(service: FakeService) -> None:
    service.answer(READY)
    asked = run(service, "q1", "q2")
    assert [request.json()["query"] for request in service.received] == ["q1", "q2"]
    assert service.last.json()["assembly"]["show"] == ["recall_rank"]
    assert asked[:2] == [["q1", CONTENT]] * 2
    assert asked[2:] == [["q1", CONTENT, "q2", CONTENT]] * 2


def test_a_service_that_fails_leaves_the_run_as_it_is(service: FakeService) -> None:
    service.answer({"error": {"code": "forbidden", "message": "m", "details": None}}, 403)
    assert run(service, "q1") == [["q1"], ["q1"]]
    assert len(service.received) == 1


def test_words_that_no_request_can_hold_leave_the_run_as_it_is(service: FakeService) -> None:
    assert run(service, "q1 \ud800") == [["q1 \ud800"]] * 2
    assert service.received == []


def test_only_an_async_recall_is_taken(service: FakeService) -> None:
    with ContextClient(service.url) as client, pytest.raises(TypeError, match="needs an AsyncRecall"):
        PowerContextHistory(Recall(client, Selection("s")))  # type: ignore[arg-type]


# A loop that ends leaves its idle connections to Python, which closes them and says so.
@pytest.mark.filterwarnings("ignore::ResourceWarning")
@pytest.mark.parametrize(
    "run_in_a_loop",
    [lambda agent, question: asyncio.run(agent.run(question)), lambda agent, question: agent.run_sync(question)],
    ids=["asyncio.run", "run_sync"],
)
def test_an_agent_may_run_in_one_loop_after_another(service: FakeService, run_in_a_loop: Any) -> None:
    service.answer(READY)
    asked: list[list[Any]] = []

    def answer(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        asked.append(said_by_users(messages))
        return ModelResponse(parts=[TextPart("done")])

    client = AsyncContextClient(service.url)
    recall = AsyncRecall(client, Selection("s"))
    agent = Agent(FunctionModel(answer), capabilities=[ProcessHistory(PowerContextHistory(recall))])
    for question in ("q1", "q2"):
        assert run_in_a_loop(agent, question).output == "done"
    assert asked == [["q1", CONTENT], ["q2", CONTENT]]
    asyncio.run(client.aclose())
    gc.collect()
