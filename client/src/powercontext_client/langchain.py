"""LangChain and LangGraph: the prepared text as a message of its own after the user's, unchanged, in no stored history.

    agent = create_agent(model, tools, middleware=[PowerContextMiddleware(Recall(client, Selection("project:demo")))])

A graph of your own puts `with_recalled(recall, state["messages"], thread_id)` where it calls the model. The name of the
turn is the thread and the user's message, so that all model calls of a turn, tool calls between them, see one text.
"""

from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from langchain.agents.middleware import AgentMiddleware, ModelRequest, ModelResponse
from langchain_core.messages import AnyMessage, HumanMessage
from langgraph.config import get_config

from powercontext_client.recall import AsyncRecall, Recall

NAME = "powercontext"  # of the messages that hold a prepared text


class PowerContextMiddleware(AgentMiddleware[Any, Any]):
    """Adds the text to every model call of a turn. A Recall serves `invoke`, an AsyncRecall `ainvoke`."""

    def __init__(self, recall: Recall | AsyncRecall) -> None:
        super().__init__()
        self.recall = recall

    def wrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], ModelResponse[Any]]
    ) -> ModelResponse[Any]:
        """Called by LangChain around a model call."""
        if not isinstance(self.recall, Recall):
            raise TypeError("invoke needs a Recall; AsyncRecall serves ainvoke")
        return handler(request.override(messages=with_recalled(self.recall, request.messages, _thread_id())))

    async def awrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], Awaitable[ModelResponse[Any]]]
    ) -> ModelResponse[Any]:
        """Called by LangChain around an awaited model call."""
        if not isinstance(self.recall, AsyncRecall):
            raise TypeError("ainvoke needs an AsyncRecall; Recall serves invoke")
        messages = await with_recalled_async(self.recall, request.messages, _thread_id())
        return await handler(request.override(messages=messages))


def with_recalled(recall: Recall, messages: Sequence[AnyMessage], thread_id: str = "") -> list[AnyMessage]:
    """The messages, with the text for the newest user message right after it when there is one.

    Messages that have the text already stay as they are. The text of a turn is kept when the thread or the message has
    an id; without both, every call asks anew. Raises TypeError unless `recall` is a Recall.
    """
    if not isinstance(recall, Recall):
        raise TypeError("with_recalled needs a Recall; with_recalled_async takes an AsyncRecall")
    index = _newest_without_text(messages)
    if index is None:
        return list(messages)
    return _inserted(messages, index, recall.content(messages[index].text, _turn(messages, index, thread_id)))


async def with_recalled_async(
    recall: AsyncRecall, messages: Sequence[AnyMessage], thread_id: str = ""
) -> list[AnyMessage]:
    """As with_recalled, for an AsyncRecall."""
    if not isinstance(recall, AsyncRecall):
        raise TypeError("with_recalled_async needs an AsyncRecall; with_recalled takes a Recall")
    index = _newest_without_text(messages)
    if index is None:
        return list(messages)
    return _inserted(messages, index, await recall.content(messages[index].text, _turn(messages, index, thread_id)))


def _newest_without_text(messages: Sequence[AnyMessage]) -> int | None:
    """Where the user's newest words are, None when there are none or their text follows them already."""
    by_user = (i for i, message in enumerate(messages) if isinstance(message, HumanMessage) and message.name != NAME)
    index = max(by_user, default=None)
    if index is None or any(message.name == NAME for message in messages[index + 1 : index + 2]):
        return None
    return index


def _turn(messages: Sequence[AnyMessage], index: int, thread_id: str) -> str | None:
    # LangGraph gives every message an id; without one, its place among the messages of the thread names it.
    message_id = messages[index].id
    return f"{thread_id}/{message_id or index}" if thread_id or message_id else None


def _inserted(messages: Sequence[AnyMessage], index: int, content: str | None) -> list[AnyMessage]:
    if content is None:
        return list(messages)
    return [*messages[: index + 1], HumanMessage(content, name=NAME), *messages[index + 1 :]]


def _thread_id() -> str:
    return str(get_config().get("configurable", {}).get("thread_id", ""))
