"""Bub plugin: the prepared text of the context sidecar at the end of the user's message, once per turn, unchanged."""

import asyncio
import dataclasses
from typing import Any

from bub import hookimpl
from bub.envelope import content_of
from loguru import logger

from .powercontext_prepare import NothingToInject, prepare, read_settings

HOST = "BUB"
TURN = "powercontext_turn"
"""Where Bub's state of one turn holds the `Turn`."""


@dataclasses.dataclass
class Turn:
    """What the user says in one turn, and the text prepared for it once a model is about to be called.

    lock: held while the text is asked for, so that a second call of the turn waits for it.
    """

    session_id: str
    query: str
    asked: bool = False
    content: str | None = None
    lock: asyncio.Lock = dataclasses.field(default_factory=asyncio.Lock)


class PowerContext:
    """One prepare per turn, before its first model call; a command, which calls no model, asks nothing.

    The text is added to what the model is sent, not to Bub's tape, so it is gone with the turn.
    """

    def __init__(self, framework: Any) -> None:
        """Called by Bub with its framework, of which nothing is needed."""

    @hookimpl
    def load_state(self, message: Any, session_id: str) -> dict[str, Any]:
        """The turn that begins with a message."""
        return {TURN: Turn(session_id, content_of(message))}

    @hookimpl
    async def before_llm_call(self, request: Any, state: dict[str, Any]) -> Any:
        """The request with the text in it, None to leave it as it is."""
        turn = state.get(TURN)
        # A subagent is given its parent's state, but its session and its question are its own.
        if turn is None or turn.session_id != state.get("session_id"):
            return None
        async with turn.lock:
            if not turn.asked:
                turn.asked = True
                turn.content = await _prepared(turn.query)
        if turn.content is None:
            return None
        messages = _with_content(request.messages, turn.query, turn.content)
        if messages is None:
            logger.warning("powercontext: nothing added: the user's message is not in the request")
            return None
        return dataclasses.replace(request, messages=messages)


async def _prepared(query: str) -> str | None:
    try:
        # A thread, so that Bub's other sessions go on meanwhile.
        return await asyncio.to_thread(prepare, read_settings(HOST), query)
    except NothingToInject as reason:
        logger.warning("powercontext: nothing added: {}", reason)
        return None


def _with_content(messages: list[dict[str, Any]], query: str, content: str) -> list[dict[str, Any]] | None:
    """The messages with the content at the end of the newest one that holds the query, None when none does."""
    for index in reversed(range(len(messages))):
        message = messages[index]
        told = message.get("content") or ""
        texts = [told] if isinstance(told, str) else [part.get("text") or "" for part in told]
        if message.get("role") == "user" and any(query in text for text in texts):
            # Part of the user's own message, because some models refuse two messages of one role in a row.
            whole = f"{told}\n\n{content}" if isinstance(told, str) else [*told, {"type": "text", "text": content}]
            return [*messages[:index], {**message, "content": whole}, *messages[index + 1 :]]
    return None
