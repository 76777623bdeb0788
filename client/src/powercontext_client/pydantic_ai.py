"""Pydantic AI: the prepared text as one more user part of the run's first request, unchanged.

    recall = AsyncRecall(client, Selection("project:demo"))
    agent = Agent(model, capabilities=[ProcessHistory(PowerContextHistory(recall))])

Pydantic AI keeps what a history processor returns, so the text stays in the message history of the run.
"""

from dataclasses import replace
from typing import Any

from pydantic_ai import RunContext
from pydantic_ai.messages import ModelMessage, ModelRequest, UserPromptPart

from powercontext_client.recall import AsyncRecall


class PowerContextHistory:
    """A history processor: one prepare per run, for the prompt of that run. Raises TypeError for no AsyncRecall."""

    def __init__(self, recall: AsyncRecall) -> None:
        if not isinstance(recall, AsyncRecall):
            raise TypeError("PowerContextHistory needs an AsyncRecall, in run_sync too: Pydantic AI awaits the text")
        self.recall = recall

    async def __call__(self, ctx: RunContext[Any], messages: list[ModelMessage]) -> list[ModelMessage]:
        """Called by Pydantic AI before each model request; the first of a run gains the text, later ones have it."""
        last = messages[-1]
        if ctx.run_step != 1 or not isinstance(ctx.prompt, str) or not isinstance(last, ModelRequest):
            return messages
        content = await self.recall.content(ctx.prompt, str(ctx.run_id))
        if content is None:
            return messages
        return [*messages[:-1], replace(last, parts=[*last.parts, UserPromptPart(content)])]
