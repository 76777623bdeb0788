"""Pydantic AI: one prepare per run, its text unchanged in the run's first request and in no later one twice."""

import asyncio
from typing import Any

import pytest

pytest.importorskip("pydantic_ai", reason="the pydantic-ai extra is not installed")

from powercontext_client import AsyncContextClient, AsyncRecall, Selection
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
