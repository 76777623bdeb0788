"""Hermes general plugin: the same text by a pre_llm_call hook, appended to the user's message without any fence.

For projects whose memory speaks of Hermes' own <memory-context> tags: a memory provider cannot hand these over.
"""

import dataclasses
import logging
from collections import OrderedDict
from typing import Any

from .powercontext_prepare import NothingToInject, Settings, cache_key, prepare, read_settings

HOST = "HERMES"
# Hermes 0.19.0 replaces a hook's text of more characters (hooks.output_spill.max_chars) by a preview and a file.
HOST_MAX_BYTES = 10_000
TURNS_KEPT = 8
log = logging.getLogger("powercontext")


class Recall:
    """One prepare per turn and configuration: model calls of the same turn see the same text.

    A failure is kept too, so that a sidecar that hangs costs a turn its timeout once. `cache_key` is the key for
    storing and for looking up; a change of selection or budget within a turn is another key.
    """

    def __init__(self) -> None:
        self._kept: OrderedDict[str, str | None] = OrderedDict()

    def __call__(self, **event: Any) -> dict[str, str] | None:
        """Called by Hermes before a model call; None adds nothing."""
        try:
            settings = read_settings(HOST)
        except NothingToInject as reason:
            log.warning("nothing added: %s", reason)
            return None
        settings = dataclasses.replace(settings, max_bytes=min(settings.max_bytes, HOST_MAX_BYTES))
        query = event.get("user_message")
        if not isinstance(query, str):
            return None
        content = self._content(settings, f"{event.get('session_id')}/{event.get('turn_id')}", query)
        if content is None:
            return None
        if content != content.strip():
            # Today's texts begin and end with a word, but they are opaque: handed over whole or not at all.
            log.warning("nothing added: Hermes would trim the white space around the text")
            return None
        return {"context": content}

    def _content(self, settings: Settings, turn: str, query: str) -> str | None:
        key = cache_key(settings, turn, query)
        if key not in self._kept:
            try:
                self._kept[key] = prepare(settings, query)
            except NothingToInject as reason:
                log.warning("nothing added: %s", reason)
                self._kept[key] = None
            while len(self._kept) > TURNS_KEPT:
                self._kept.popitem(last=False)
        return self._kept[key]


def register(ctx: Any) -> None:
    """Called by Hermes."""
    ctx.register_hook("pre_llm_call", Recall())
