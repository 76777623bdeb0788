"""Hermes MemoryProvider: the prepared text of the context sidecar, once per turn, unchanged.

The word MemoryProvider stands this early on purpose: Hermes looks for it in the first 8,192 characters of this file.

Hermes puts the text at the end of the user's message inside <memory-context>, and takes every such tag (with what is
between two of them) out of the text first. A text that Hermes would alter is therefore not handed over at all; the
plugin `powercontext_pre_llm_call` beside this one has no such limit.
"""

import importlib
import logging
import re
from collections.abc import Callable
from typing import Any

from agent.memory_provider import MemoryProvider

from .powercontext_prepare import NothingToInject, prepare, read_settings

HOST = "HERMES"
log = logging.getLogger("powercontext")

# What Hermes 0.19.0 is known to take out, for a release that does not say so itself.
_ALTERED = re.compile(r"<\s*/?\s*memory-context|\[System note:", re.IGNORECASE)


class PowerContextProvider(MemoryProvider):
    """One prepare per turn, for that turn's own question and with the settings of that moment.

    Nothing is prepared ahead and nothing is kept: Hermes prefetches with the question of the turn that has ended, so a
    text made ahead would answer another question, and one kept would outlive a change of settings. Hermes itself keeps
    the text of a turn for all model calls of that turn.
    """

    @property
    def name(self) -> str:
        return "powercontext"

    def is_available(self) -> bool:
        """Whether there is a usable configuration; asks nothing of the network."""
        try:
            read_settings(HOST)
        except NothingToInject as reason:
            log.warning("not available: %s", reason)
            return False
        return True

    def initialize(self, session_id: str, **kwargs: Any) -> None:
        """Nothing depends on the session."""

    def system_prompt_block(self) -> str:
        """No words in the system prompt."""
        return ""

    def prefetch(self, query: str, *, session_id: str = "") -> str:
        """The content for this turn unchanged, "" when there is none or it cannot arrive unchanged."""
        try:
            content = prepare(read_settings(HOST), query)
        except NothingToInject as reason:
            log.warning("nothing added: %s", reason)
            return ""
        if content is None:
            return ""
        if _would_be_altered(content):
            log.warning(
                "nothing added: Hermes would alter the text; the plugin powercontext_pre_llm_call hands it over whole"
            )
            return ""
        return content

    def queue_prefetch(self, query: str, *, session_id: str = "") -> None:
        """Prepare nothing ahead; see the class."""

    def sync_turn(self, user_content: str, assistant_content: str, **kwargs: Any) -> None:
        """Nothing is written to the sidecar by itself."""

    def get_tool_schemas(self) -> list[dict[str, Any]]:
        """No tools."""
        return []

    def handle_tool_call(self, tool_name: str, args: dict[str, Any], **kwargs: Any) -> str:
        """There are no tools to call."""
        return '{"error": "powercontext has no tools"}'

    def shutdown(self) -> None:
        """Nothing is open between turns."""


def register(ctx: Any) -> None:
    """Called by Hermes."""
    ctx.register_memory_provider(PowerContextProvider())


def _would_be_altered(content: str) -> bool:
    try:
        module = importlib.import_module("agent.memory_manager")
        sanitize: Callable[[str], str] = module.sanitize_context
    except (ImportError, AttributeError):
        return _ALTERED.search(content) is not None
    return sanitize(content) != content
