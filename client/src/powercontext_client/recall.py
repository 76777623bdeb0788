"""One prepare per user turn and configuration, for the integrations: kept by `prepare_cache_key`, and fail-open.

Model calls of the same turn see the same text, whatever is written meanwhile. A failure is kept like an empty answer,
so that a service that hangs costs a turn its timeout once; nothing is ever asked again with a relaxed selection.
"""

import asyncio
import contextlib
import logging
import threading
from collections import OrderedDict
from collections.abc import Iterator
from concurrent.futures import Future
from dataclasses import dataclass
from types import TracebackType

from msgspec import UNSET, UnsetType

from powercontext_client.assembly import AssemblyInput
from powercontext_client.call import checked_timeout
from powercontext_client.client import AsyncContextClient, ContextClient
from powercontext_client.operations import DEFAULT_MAX_BYTES
from powercontext_client.prepared import prepare_cache_key

log = logging.getLogger("powercontext_client")

QUERY_MAX_CHARS = 8192  # RFC 1489, request contract
TURNS_KEPT = 64
LOGGED_CHARS = 64


@dataclass(frozen=True)
class Selection:
    """What to ask for in every turn. Without `assembly` none is sent.

    max_bytes: UTF-8 bytes. timeout_s: seconds that a turn waits at most; ValueError unless above 0 and at most 86400.
    """

    scope_id: str
    max_bytes: int = DEFAULT_MAX_BYTES
    assembly: AssemblyInput | UnsetType = UNSET
    timeout_s: float = 3.0

    def __post_init__(self) -> None:
        checked_timeout(self.timeout_s)

    def key(self, query: str, turn: str) -> str:
        """The cache key of one turn."""
        return prepare_cache_key(
            scope_id=self.scope_id,
            session_or_turn=turn,
            query=query,
            max_bytes=self.max_bytes,
            assembly=self.assembly,
        )


class Recall:
    """The text for each turn, through a blocking client. May be shared by threads: equal turns wait for one prepare.

    Raises TypeError for a client that is no ContextClient.
    """

    def __init__(self, client: ContextClient, selection: Selection) -> None:
        if not isinstance(client, ContextClient):
            raise TypeError("Recall needs a ContextClient; AsyncRecall takes an AsyncContextClient")
        self.client = client
        self.selection = selection
        self._kept = _Kept()

    def content(self, query: str, turn: str | None) -> str | None:
        """The content to inject unchanged, None when there is none or anything fails.

        turn: the name of the turn; None for one that has no name, whose content cannot be kept.
        """
        with _FailOpen():
            if not query.strip():
                return None
            selection, query = self.selection, query[:QUERY_MAX_CHARS]
            if turn is None:
                return self._prepared(selection, query)
            key = selection.key(query, turn)
            while True:
                content, is_mine = self._kept.claim(key)
                if is_mine:
                    with self._kept.withdrawn_if_stopped(key, content):
                        content.set_result(self._prepared(selection, query))
                with contextlib.suppress(_Withdrawn):
                    return content.result()
        return None

    def _prepared(self, selection: Selection, query: str) -> str | None:
        with _FailOpen():
            return self.client.prepare_context(
                selection.scope_id,
                query,
                max_bytes=selection.max_bytes,
                assembly=selection.assembly,
                timeout_s=selection.timeout_s,
            ).content
        return None


class AsyncRecall:
    """The same for asyncio, through an AsyncContextClient (TypeError otherwise). May be shared by event loops."""

    def __init__(self, client: AsyncContextClient, selection: Selection) -> None:
        if not isinstance(client, AsyncContextClient):
            raise TypeError("AsyncRecall needs an AsyncContextClient; Recall takes a ContextClient")
        self.client = client
        self.selection = selection
        self._kept = _Kept()

    async def content(self, query: str, turn: str | None) -> str | None:
        """As Recall.content."""
        with _FailOpen():
            if not query.strip():
                return None
            selection, query = self.selection, query[:QUERY_MAX_CHARS]
            if turn is None:
                return await self._prepared(selection, query)
            key = selection.key(query, turn)
            while True:
                content, is_mine = self._kept.claim(key)
                if is_mine:
                    with self._kept.withdrawn_if_stopped(key, content):
                        content.set_result(await self._prepared(selection, query))
                with contextlib.suppress(_Withdrawn):
                    return await asyncio.wrap_future(content)
        return None

    async def _prepared(self, selection: Selection, query: str) -> str | None:
        with _FailOpen():
            prepared = await self.client.prepare_context(
                selection.scope_id,
                query,
                max_bytes=selection.max_bytes,
                assembly=selection.assembly,
                timeout_s=selection.timeout_s,
            )
            return prepared.content
        return None


class _Withdrawn(Exception):
    """Whoever asked for this content was stopped; it must be asked for again."""


class _Kept:
    """The contents of the latest turns, those that are still asked for among them.

    The lock is held for the dictionary only, so that a turn waits for no prepare but its own. The futures are those of
    threads: they can be waited for in any event loop.
    """

    def __init__(self) -> None:
        self._contents: OrderedDict[str, Future[str | None]] = OrderedDict()
        self._guard = threading.Lock()

    def claim(self, key: str) -> tuple[Future[str | None], bool]:
        """The content of the key, and whether it is the caller who has to set it."""
        with self._guard:
            if key in self._contents:
                return self._contents[key], False
            content = self._contents[key] = Future[str | None]()
            content.set_running_or_notify_cancel()  # from now on one task that is cancelled cannot cancel it for all
            while len(self._contents) > TURNS_KEPT:
                self._contents.popitem(last=False)
            return content, True

    @contextlib.contextmanager
    def withdrawn_if_stopped(self, key: str, content: Future[str | None]) -> Iterator[None]:
        """Forget the content when what sets it is cancelled or interrupted; those who wait for it learn so."""
        try:
            yield
        except BaseException:
            with self._guard:
                if self._contents.get(key) is content:
                    del self._contents[key]
            content.set_exception(_Withdrawn())
            raise


class _FailOpen:
    """Nothing that fails inside reaches the host; it is logged without any text of the request or of the service."""

    def __enter__(self) -> None:
        pass

    def __exit__(
        self, kind: type[BaseException] | None, failure: BaseException | None, trace: TracebackType | None
    ) -> bool:
        if not isinstance(failure, Exception):
            return False
        facts = [f"{name}={_printable(failure, name)}" for name in ("status", "code", "request_id")]
        log.warning("nothing injected: %s %s", type(failure).__name__, " ".join(facts))
        return True


def _printable(failure: Exception, name: str) -> str:
    """A fact of the failure; a service can put anything there, lines and terminal escapes too."""
    return ascii(getattr(failure, name, None))[:LOGGED_CHARS]
