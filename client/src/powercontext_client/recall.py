"""One prepare per user turn and configuration, for the integrations: kept by `prepare_cache_key`, and fail-open.

Model calls of the same turn see the same text, whatever is written meanwhile. A failure is kept like an empty answer,
so that a service that hangs costs a turn its timeout once; nothing is ever asked again with a relaxed selection.
"""

import asyncio
import logging
import threading
from collections import OrderedDict
from dataclasses import dataclass, field

from msgspec import UNSET, UnsetType

from powercontext_client.assembly import AssemblyInput
from powercontext_client.client import AsyncContextClient, ContextClient
from powercontext_client.errors import ContextClientError
from powercontext_client.operations import DEFAULT_MAX_BYTES
from powercontext_client.prepared import prepare_cache_key

log = logging.getLogger("powercontext_client")

QUERY_MAX_CHARS = 8192  # RFC 1489, request contract
TURNS_KEPT = 64


@dataclass(frozen=True)
class Selection:
    """What to ask for in every turn. Without `assembly` none is sent.

    max_bytes: UTF-8 bytes. timeout_s: seconds that a turn waits at most.
    """

    scope_id: str
    max_bytes: int = DEFAULT_MAX_BYTES
    assembly: AssemblyInput | UnsetType = UNSET
    timeout_s: float = 3.0

    def key(self, query: str, turn: str) -> str:
        """The cache key of one turn."""
        return prepare_cache_key(
            scope_id=self.scope_id,
            session_or_turn=turn,
            query=query,
            max_bytes=self.max_bytes,
            assembly=self.assembly,
        )


@dataclass
class _Kept:
    """The contents of the latest turns."""

    contents: OrderedDict[str, str | None] = field(default_factory=OrderedDict)

    def store(self, key: str, content: str | None) -> str | None:
        self.contents[key] = content
        while len(self.contents) > TURNS_KEPT:
            self.contents.popitem(last=False)
        return content


class Recall:
    """The text for each turn, through a blocking client. May be shared by threads: equal turns wait for one prepare."""

    def __init__(self, client: ContextClient, selection: Selection) -> None:
        self.client = client
        self.selection = selection
        self._kept = _Kept()
        self._asking = threading.Lock()

    def content(self, query: str, turn: str) -> str | None:
        """The content to inject unchanged, None when there is none or the service fails; `turn` names the turn."""
        if not query.strip():
            return None
        selection, query = self.selection, query[:QUERY_MAX_CHARS]
        key = selection.key(query, turn)
        with self._asking:
            if key in self._kept.contents:
                return self._kept.contents[key]
            try:
                prepared = self.client.prepare_context(
                    selection.scope_id,
                    query,
                    max_bytes=selection.max_bytes,
                    assembly=selection.assembly,
                    timeout_s=selection.timeout_s,
                )
            except ContextClientError as failure:
                log.warning("nothing injected: %s", failure)
                return self._kept.store(key, None)
            return self._kept.store(key, prepared.content)


class AsyncRecall:
    """The same for asyncio."""

    def __init__(self, client: AsyncContextClient, selection: Selection) -> None:
        self.client = client
        self.selection = selection
        self._kept = _Kept()
        self._asking = asyncio.Lock()

    async def content(self, query: str, turn: str) -> str | None:
        """As Recall.content."""
        if not query.strip():
            return None
        selection, query = self.selection, query[:QUERY_MAX_CHARS]
        key = selection.key(query, turn)
        async with self._asking:
            if key in self._kept.contents:
                return self._kept.contents[key]
            try:
                prepared = await self.client.prepare_context(
                    selection.scope_id,
                    query,
                    max_bytes=selection.max_bytes,
                    assembly=selection.assembly,
                    timeout_s=selection.timeout_s,
                )
            except ContextClientError as failure:
                log.warning("nothing injected: %s", failure)
                return self._kept.store(key, None)
            return self._kept.store(key, prepared.content)
