"""LangChain and LangGraph: one prepare per user turn, its text in every model call of the turn, never stored."""

import asyncio
import gc
from collections.abc import Iterable, Sequence
from typing import Any

import pytest

pytest.importorskip("langchain.agents", reason="the langchain extra is not installed")

from langchain.agents import create_agent
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, ToolMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, MessagesState, StateGraph
from powercontext_client import AsyncContextClient, AsyncRecall, ContextClient, Recall, Selection
from powercontext_client.langchain import PowerContextMiddleware, with_recalled, with_recalled_async

from tests.client.fake_service import FakeService

CONTENT = " # recalled\n验 {x} \n"
READY = {
    "schema": "powercontext.prepared-context.v1",
    "status": "ready",
    "content": CONTENT,
    "content_bytes": len(CONTENT.encode()),
}
SELECTION = Selection("s", assembly={"show": ["recall_rank"]})


class RecordingModel(GenericFakeChatModel):
    """LangChain's own fake model, with the messages of every call kept."""

    asked: list[list[AnyMessage]] = []  # noqa: RUF012 - a pydantic field: each instance has its own

    def bind_tools(self, tools: Sequence[Any], **kwargs: Any) -> Any:
        return self

    def _generate(self, messages: Any, *args: Any, **kwargs: Any) -> Any:
        self.asked.append(list(messages))
        return super()._generate(messages, *args, **kwargs)


def look() -> str:
    """Look it up."""
    return "found"


def model_of(turns: int) -> RecordingModel:
    """A model that in every turn calls a tool once and then answers."""
    steps: list[AIMessage] = []
    for turn in range(turns):
        call = {"name": "look", "args": {}, "id": str(turn)}
        steps += [AIMessage("", tool_calls=[call]), AIMessage("done")]
    return RecordingModel(messages=iter(steps))


def contents(messages: Sequence[AnyMessage]) -> list[Any]:
    return [message.content for message in messages]


def assert_one_prepare_per_turn(model: RecordingModel, service: FakeService, stored: Sequence[AnyMessage]) -> None:
    assert [request.json()["query"] for request in service.received] == ["q1", "q2"]
    assert service.last.json()["assembly"]["show"] == ["recall_rank"]
    assert [contents(asked).count(CONTENT) for asked in model.asked] == [1, 1, 1, 1]
    for asked in model.asked:
        newest = max(i for i, message in enumerate(asked) if message.content in {"q1", "q2"})
        assert (asked[newest + 1].content, asked[newest + 1].type) == (CONTENT, "human")
    assert CONTENT not in contents(stored)


def test_the_middleware_adds_the_text_to_every_model_call_of_a_turn(service: FakeService) -> None:
    service.answer(READY)
    model = model_of(2)
    thread: Any = {"configurable": {"thread_id": "1"}}
    with ContextClient(service.url) as client:
        middleware = PowerContextMiddleware(Recall(client, SELECTION))
        agent = create_agent(model, [look], middleware=[middleware], checkpointer=InMemorySaver())
        agent.invoke({"messages": [HumanMessage("q1")]}, thread)
        state = agent.invoke({"messages": [HumanMessage("q2")]}, thread)
    assert state["messages"][-1].content == "done"
    assert_one_prepare_per_turn(model, service, state["messages"])


def test_the_middleware_serves_awaited_agents(service: FakeService) -> None:
    service.answer(READY)
    model = model_of(2)
    thread: Any = {"configurable": {"thread_id": "1"}}

    async def turns() -> Any:
        async with AsyncContextClient(service.url) as client:
            middleware = PowerContextMiddleware(AsyncRecall(client, SELECTION))
            agent = create_agent(model, [look], middleware=[middleware], checkpointer=InMemorySaver())
            await agent.ainvoke({"messages": [HumanMessage("q1")]}, thread)
            return await agent.ainvoke({"messages": [HumanMessage("q2")]}, thread)

    assert_one_prepare_per_turn(model, service, asyncio.run(turns())["messages"])


def test_a_graph_of_ones_own_adds_the_text_where_it_calls_the_model(service: FakeService) -> None:
    service.answer(READY)
    model = RecordingModel(messages=iter([AIMessage("done")] * 2))
    with ContextClient(service.url) as client:
        recall = Recall(client, SELECTION)

        def call_model(state: MessagesState) -> dict[str, Any]:
            return {"messages": [model.invoke(with_recalled(recall, state["messages"], "thread"))]}

        graph = StateGraph(MessagesState)
        graph.add_node("call", call_model)
        graph.add_edge(START, "call")
        state = graph.compile().invoke({"messages": [HumanMessage("q1")]})
    assert contents(model.asked[0]) == ["q1", CONTENT]
    assert contents(state["messages"]) == ["q1", "done"]


def texts_of_one_turn(service: FakeService, selections: Iterable[Selection]) -> list[Any]:
    """The text in each model call of one turn of a graph with a tool, whose configuration changes before each call.

    After every call the service has another text, as if another client had written.
    """
    steps = list(selections)
    calls = [AIMessage("", tool_calls=[{"name": "look", "args": {}, "id": str(n)}]) for n in range(len(steps) - 1)]
    model = RecordingModel(messages=iter([*calls, AIMessage("done")]))
    coming = iter(steps)

    def call_model(state: MessagesState) -> dict[str, Any]:
        text = f" text {len(service.received)}\n"
        service.answer({**READY, "content": text, "content_bytes": len(text)})
        recall.selection = next(coming)
        return {"messages": [model.invoke(with_recalled(recall, state["messages"], "thread"))]}

    def call_tool(state: MessagesState) -> dict[str, Any]:
        return {"messages": [ToolMessage("found", tool_call_id=state["messages"][-1].tool_calls[0]["id"])]}

    def after_model(state: MessagesState) -> str:
        return "tool" if state["messages"][-1].tool_calls else END

    graph = StateGraph(MessagesState)
    graph.add_node("model", call_model)
    graph.add_node("tool", call_tool)
    graph.add_edge(START, "model")
    graph.add_conditional_edges("model", after_model, ["tool", END])
    graph.add_edge("tool", "model")
    with ContextClient(service.url) as client:
        recall = Recall(client, steps[0])
        state = graph.compile().invoke({"messages": [HumanMessage("q1")]})
    assert state["messages"][-1].content == "done"
    assert [contents(asked)[0] for asked in model.asked] == ["q1"] * len(steps)
    return [contents(asked)[1] for asked in model.asked]


def test_a_turn_of_a_graph_with_three_tool_calls_keeps_the_text_of_its_one_prepare(service: FakeService) -> None:
    """Case R77."""
    assert texts_of_one_turn(service, [SELECTION] * 4) == [" text 0\n"] * 4
    assert len(service.received) == 1


def test_another_selection_or_budget_within_a_turn_of_a_graph_is_another_prepare(service: FakeService) -> None:
    """Case R77: one prepare for each configuration, the same one for the same configuration written differently."""
    steps = [
        Selection("s"),
        Selection("s", assembly={}),
        Selection("s", assembly={}, max_bytes=4000),
        Selection("s", assembly={"format": "markdown"}),
        Selection("s", assembly={"sections": []}),
        Selection("s"),
    ]
    assert texts_of_one_turn(service, steps) == [f" text {n}\n" for n in (0, 1, 2, 1, 3, 0)]
    assert len(service.received) == 4


def test_a_service_that_fails_leaves_the_turn_as_it_is(service: FakeService) -> None:
    service.answer({"error": {"code": "forbidden", "message": "m", "details": None}}, 403)
    model = model_of(1)
    with ContextClient(service.url) as client:
        middleware = PowerContextMiddleware(Recall(client, SELECTION))
        state = create_agent(model, [look], middleware=[middleware]).invoke({"messages": [HumanMessage("q1")]})
    assert state["messages"][-1].content == "done"
    assert contents(model.asked[0]) == ["q1"]
    assert len(service.received) == 1


def numbered(service: FakeService) -> None:
    """From now on the service has another text, as if another client had written."""
    text = f" text {len(service.received)}\n"
    service.answer({**READY, "content": text, "content_bytes": len(text)})


def test_conversations_without_any_id_share_no_text(service: FakeService) -> None:
    with ContextClient(service.url) as client:
        recall = Recall(client, SELECTION)
        numbered(service)
        first = with_recalled(recall, [HumanMessage("status?")])
        numbered(service)
        second = with_recalled(recall, [HumanMessage("status?")])
    assert (contents(first), contents(second)) == (["status?", " text 0\n"], ["status?", " text 1\n"])


@pytest.mark.parametrize(("message_id", "thread_id"), [("m1", ""), (None, "thread")])
def test_a_message_or_a_thread_with_an_id_keeps_its_text(
    service: FakeService, message_id: str | None, thread_id: str
) -> None:
    with ContextClient(service.url) as client:
        recall = Recall(client, SELECTION)
        numbered(service)
        texts = [contents(with_recalled(recall, [HumanMessage("q1", id=message_id)], thread_id)) for _ in range(2)]
    assert texts == [["q1", " text 0\n"]] * 2
    assert len(service.received) == 1


async def test_each_kind_of_recall_serves_its_own_function_alone(service: FakeService) -> None:
    with ContextClient(service.url) as client:
        with pytest.raises(TypeError, match="with_recalled_async takes an AsyncRecall"):
            with_recalled(AsyncRecall(AsyncContextClient(service.url), SELECTION), [])  # type: ignore[arg-type]
        with pytest.raises(TypeError, match="with_recalled takes a Recall"):
            await with_recalled_async(Recall(client, SELECTION), [])  # type: ignore[arg-type]


def test_an_injected_text_is_never_taken_for_the_words_of_the_user(service: FakeService) -> None:
    service.answer(READY)
    with ContextClient(service.url) as client:
        recall = Recall(client, SELECTION)
        once = with_recalled(recall, [HumanMessage("q1")])
        assert contents(with_recalled(recall, once)) == ["q1", CONTENT]
        later = [*once, AIMessage("a"), HumanMessage("q2")]
        assert contents(with_recalled(recall, later)) == ["q1", CONTENT, "a", "q2", CONTENT]
        assert contents(with_recalled(recall, once[1:])) == [CONTENT]
    assert [request.json()["query"] for request in service.received] == ["q1", "q2"]


def test_words_that_no_request_can_hold_leave_the_turn_as_it_is(service: FakeService) -> None:
    model = model_of(1)
    with ContextClient(service.url) as client:
        middleware = PowerContextMiddleware(Recall(client, SELECTION))
        agent = create_agent(model, [look], middleware=[middleware])
        state = agent.invoke({"messages": [HumanMessage("q1 \ud800")]})
    assert state["messages"][-1].content == "done"
    assert contents(model.asked[0]) == ["q1 \ud800"]


def test_a_closed_client_leaves_the_turn_as_it_is(service: FakeService) -> None:
    client = ContextClient(service.url)
    client.close()
    agent = create_agent(model_of(1), [look], middleware=[PowerContextMiddleware(Recall(client, SELECTION))])
    assert agent.invoke({"messages": [HumanMessage("q1")]})["messages"][-1].content == "done"


# A loop that ends leaves its idle connections to Python, which closes them and says so.
@pytest.mark.filterwarnings("ignore::ResourceWarning")
def test_an_agent_may_run_in_one_loop_after_another(service: FakeService) -> None:
    service.answer(READY)
    model = model_of(2)
    client = AsyncContextClient(service.url)
    middleware = PowerContextMiddleware(AsyncRecall(client, SELECTION))
    agent = create_agent(model, [look], middleware=[middleware], checkpointer=InMemorySaver())
    thread: Any = {"configurable": {"thread_id": "1"}}
    asyncio.run(agent.ainvoke({"messages": [HumanMessage("q1")]}, thread))
    state = asyncio.run(agent.ainvoke({"messages": [HumanMessage("q2")]}, thread))
    assert_one_prepare_per_turn(model, service, state["messages"])
    asyncio.run(client.aclose())
    gc.collect()
