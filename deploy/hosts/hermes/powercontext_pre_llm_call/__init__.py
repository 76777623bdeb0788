"""Hermes general plugin: the same text by a pre_llm_call hook, appended to the user's message without any fence.

For projects whose memory speaks of Hermes' own <memory-context> tags: a memory provider cannot hand these over.
"""

import dataclasses
import logging
import threading
from collections import OrderedDict
from typing import Any

from .powercontext_prepare import NothingToInject, Settings, cache_key, prepare, read_settings

HOST = "HERMES"
# Hermes 0.19.0 replaces a hook's text of more characters (hooks.output_spill.max_chars) by a preview and a file.
HOST_MAX_BYTES = 10_000
TURNS_KEPT = 64  # more than Hermes' gateway has under way at once
log = logging.getLogger("powercontext")


class _Turn:
    """What one turn was given; the lock is held while it is being asked for."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.asked = False
        self.content: str | None = None


class Recall:
    """One prepare per turn and configuration: model calls of the same turn see the same text.

    A failure is kept too, so that a sidecar that hangs costs a turn its timeout once. `cache_key` is the key for
    storing and for looking up; a change of selection or budget within a turn is another key. Hermes may call from
    several threads: those of one turn wait for its one prepare, other turns do not wait for it.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._kept: OrderedDict[str, _Turn] = OrderedDict()

    def __call__(self, **event: Any) -> dict[str, str] | None:
        """Called by Hermes before a model call; None adds nothing."""
        query = event.get("user_message")
        if not isinstance(query, str):
            return None
        try:
            settings = read_settings(HOST)
            settings = dataclasses.replace(settings, max_bytes=min(settings.max_bytes, HOST_MAX_BYTES))
            turn = self._turn(cache_key(settings, f"{event.get('session_id')}/{event.get('turn_id')}", query))
        except NothingToInject as reason:
            log.warning("nothing added: %s", reason)
            return None
        content = _content(turn, settings, query)
        if content is None:
            return None
        if content != content.strip():
            # Today's texts begin and end with a word, but they are opaque: handed over whole or not at all.
            log.warning("nothing added: Hermes would trim the white space around the text")
            return None
        return {"context": content}

    def _turn(self, key: str) -> _Turn:
        with self._lock:
            turn = self._kept.setdefault(key, _Turn())
            self._kept.move_to_end(key)
            while len(self._kept) > TURNS_KEPT:
                self._kept.popitem(last=False)
            return turn


def _content(turn: _Turn, settings: Settings, query: str) -> str | None:
    with turn.lock:
        if not turn.asked:
            turn.asked = True
            try:
                turn.content = prepare(settings, query)
            except NothingToInject as reason:
                log.warning("nothing added: %s", reason)
        return turn.content


def register(ctx: Any) -> None:
    """Called by Hermes."""
    ctx.register_hook("pre_llm_call", Recall())
