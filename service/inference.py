"""The optional providers: embeddings of queries and of what was written, and reranking.

A provider that is away never costs a write, and a query only its time: text ranking answers. After a failure the
embedding provider is left alone for REST_S, so that an outage does not delay every request by a timeout.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Final, Literal, TypeAlias

import structlog

from contracts import limits
from contracts.errors import ContextError, InferenceTimeout, InferenceUnavailable, InternalError
from contracts.ports import EmbeddingProvider, QueryVector, Reranker, Storage, Unembedded, VectorSpace, VectorStore
from service.settings import Settings

REST_S: Final = 5.0

FILLED_MAX: Final = 512
"""Texts of one family that one write embeds at most: more than one batch of an import has. `reindex` does the rest."""

STORED_TOGETHER: Final = 64
"""Vectors of one transaction: few enough that a write which runs out of time keeps most of what it paid for."""

SHARE_OF_RECALL: Final = 0.4
"""Of the recall deadline, what the query's embedding and the reranking may each take; the rest is the storage's."""

REINDEX: Final = "The vectors were made by another model or dimension; run: powercontext-sidecar reindex"
REINDEX_NEEDED: Final = "reindex_needed"

Use: TypeAlias = Literal["query", "write", "rerank"]
CountFailure: TypeAlias = Callable[[Use, str], None]
"""Told what a provider was asked for and the code of its failure."""

_OF_THE_PROVIDER: Final = (InferenceTimeout, InferenceUnavailable, InternalError)
_log = structlog.get_logger("service.inference")


class Embedder:
    """One embedding provider and the vectors of one storage.

    timeout_s: what the vectors of one write may take. count: told of every failure.
    """

    def __init__(
        self, provider: EmbeddingProvider, store: VectorStore, *, timeout_s: float, count: CountFailure
    ) -> None:
        self._provider = provider
        self._store = store
        self._timeout_s = timeout_s
        self._count = count
        self._rests_until = 0.0
        self.failure: str | None = None

    @property
    def space(self) -> VectorSpace:
        return self._provider.space

    async def usable(self) -> bool:
        """Whether the storage's vectors can be compared with the provider's."""
        return await self._store.holds(self.space)

    async def query(self, text: str) -> QueryVector:
        """The vector of a query. Raises InferenceTimeout, InferenceUnavailable, InternalError."""
        try:
            (values,) = await self._provider.embed([text])
        except ContextError as error:
            self._failed("query", error)
            raise
        self._succeeded()
        return QueryVector(self.space, tuple(values))

    async def query_within(self, text: str, seconds: float) -> tuple[QueryVector | None, str | None]:
        """The vector of a query, or None and the code of what stands in its way. Takes at most `seconds`."""
        if self._resting("query"):
            return None, self.failure
        try:
            async with asyncio.timeout(seconds):
                if not await self.usable():
                    self._count("query", REINDEX_NEEDED)
                    return None, REINDEX_NEEDED
                return await self.query(text), None
        except TimeoutError:
            self._failed("query", InferenceTimeout())
        except _OF_THE_PROVIDER:
            pass  # `query` has noted it
        return None, self.failure

    async def fill(self, scope_id: str) -> None:
        """Make the vectors of what was just written to the Scope; what fails is counted, and left to `reindex`."""
        if self._resting("write"):
            return
        try:
            async with asyncio.timeout(self._timeout_s):
                if not await self.usable():
                    self._count("write", REINDEX_NEEDED)
                    return
                texts = await self._store.newest_unembedded(scope_id, FILLED_MAX)
                await _embed(self._provider, self._store, scope_id, texts)
        except TimeoutError:
            self._failed("write", InferenceTimeout())
        except ContextError as error:
            self._failed("write", error)
        else:
            if texts:
                self._succeeded()

    async def checks(self) -> dict[str, str]:
        """`ok` or what is wrong, for the provider and for the stored vectors."""
        try:
            vectors = "ok" if await self.usable() else REINDEX
        except ContextError as error:
            vectors = error.message
        return {"embedding_provider": _said(self.failure), "vectors": vectors}

    def _resting(self, use: Use) -> bool:
        if time.monotonic() >= self._rests_until:
            return False
        self._count(use, self.failure or InferenceUnavailable.code)
        return True

    def _succeeded(self) -> None:
        self.failure = None
        self._rests_until = 0.0

    def _failed(self, use: Use, error: ContextError) -> None:
        if isinstance(error, _OF_THE_PROVIDER):  # not the storage's, nor a Scope that was deleted meanwhile
            self.failure = error.code
            self._rests_until = time.monotonic() + REST_S
        self._count(use, error.code)
        _log.warning("embedding failed", use=use, code=error.code, message=error.message)


async def make_missing_vectors(storage: Storage, provider: EmbeddingProvider) -> int:
    """Make every vector that is missing, all of them after a change of model; how many texts had none.

    Raises as the provider and the storage do; what was made until then stays, and the next call goes on from there.
    """
    await storage.vectors.reset(provider.space)
    made = 0
    async for scope_id, texts in _without_vector(storage):
        await _embed(provider, storage.vectors, scope_id, texts)
        made += len(texts)
    return made


async def missing_vectors(storage: Storage) -> int:
    """How many live texts have no vector."""
    return sum([len(texts) async for _, texts in _without_vector(storage)])


async def _without_vector(storage: Storage) -> AsyncIterator[tuple[str, tuple[Unembedded, ...]]]:
    """Scope by Scope, the texts that have no vector."""
    cursor: str | None = None
    while True:
        scopes, cursor = await storage.scopes.list(visible=None, query="", limit=limits.PAGE_MAX, cursor=cursor)
        for scope in scopes:
            async for texts in storage.vectors.unembedded(scope.scope_id):
                yield scope.scope_id, texts
        if cursor is None:
            return


async def _embed(provider: EmbeddingProvider, store: VectorStore, scope_id: str, texts: Sequence[Unembedded]) -> None:
    for start in range(0, len(texts), STORED_TOGETHER):
        together = texts[start : start + STORED_TOGETHER]
        vectors = await provider.embed([text.text for text in together])
        await store.add(scope_id, provider.space, list(zip(together, vectors, strict=True)))


class WatchedReranker:
    """`contracts.ports.Reranker` that remembers how its last request went. count: told of every failure."""

    def __init__(self, reranker: Reranker, *, count: CountFailure) -> None:
        self._reranker = reranker
        self._count = count
        self.failure: str | None = None

    async def rerank(self, query: str, texts: Sequence[str]) -> tuple[int, ...]:
        try:
            picks = await self._reranker.rerank(query, texts)
        except ContextError as error:
            self.failure = error.code
            self._count("rerank", error.code)
            raise
        self.failure = None
        return picks

    def checks(self) -> dict[str, str]:
        """`ok` or what is wrong."""
        return {"rerank_provider": _said(self.failure)}


class Inference:
    """What is configured of both; nothing by default."""

    def __init__(self, embedder: Embedder | None = None, reranker: WatchedReranker | None = None) -> None:
        self.embedder = embedder
        self.reranker = reranker

    async def query_vector(self, text: str, recall_timeout_s: float) -> tuple[QueryVector | None, str | None]:
        """As `Embedder.query_within`, None and None without a provider."""
        if self.embedder is None:
            return None, None
        return await self.embedder.query_within(text, recall_timeout_s * SHARE_OF_RECALL)

    async def written(self, scope_id: str) -> None:
        """What was written to the Scope is committed: make its vectors. Never fails."""
        if self.embedder is not None:
            await self.embedder.fill(scope_id)

    async def checks(self) -> dict[str, str]:
        """Check name to `ok` or to what is wrong, of what is configured."""
        embedder = {} if self.embedder is None else await self.embedder.checks()
        return embedder if self.reranker is None else {**embedder, **self.reranker.checks()}


@asynccontextmanager
async def opened_inference(
    settings: Settings, vectors: VectorStore, count: CountFailure | None = None
) -> AsyncIterator[Inference]:
    """The providers that the settings name. Raises RuntimeNotReady where the database cannot store vectors."""
    async with AsyncExitStack() as stack:
        counted = count or _uncounted
        embedder = reranker = None
        if settings.inference_embedding_model is not None:
            provider = await stack.enter_async_context(opened_embedding(settings))
            await vectors.prepare(provider.space)
            timeout_s = settings.inference_embedding_timeout_seconds
            embedder = Embedder(provider, vectors, timeout_s=timeout_s, count=counted)
        if settings.inference_rerank_kind is not None:
            reranker = WatchedReranker(await stack.enter_async_context(_opened_reranker(settings)), count=counted)
        yield Inference(embedder, reranker)


@asynccontextmanager
async def opened_embedding(settings: Settings) -> AsyncIterator[EmbeddingProvider]:
    """The embedding provider of settings that name one."""
    # Loading an HTTP client takes longer than the rest of a start, so only those who need one do.
    from adapters.embedding import OpenAIEmbedding  # noqa: PLC0415  # as said
    from adapters.inference import inference_client  # noqa: PLC0415  # as said

    async with inference_client() as client:
        yield OpenAIEmbedding(
            client,
            base_url=settings.inference_embedding_base_url or "",
            api_key=settings.inference_embedding_api_key,
            space=VectorSpace(settings.inference_embedding_model or "", settings.inference_embedding_dimension or 0),
            timeout_s=settings.inference_embedding_timeout_seconds,
            batch_size=settings.inference_embedding_batch_size,
        )


@asynccontextmanager
async def _opened_reranker(settings: Settings) -> AsyncIterator[Reranker]:
    from adapters.inference import inference_client  # noqa: PLC0415  # as above
    from adapters.rerank import ChatReranker, RerankEndpoint  # noqa: PLC0415  # as above

    base_url, api_key = settings.inference_rerank_base_url or "", settings.inference_rerank_api_key
    model = settings.inference_rerank_model
    # Below the recall deadline, so that the answer says who was late.
    most = settings.runtime_recall_timeout_seconds * SHARE_OF_RECALL
    timeout_s = min(settings.inference_rerank_timeout_seconds, most)
    async with inference_client() as client:
        if settings.inference_rerank_kind == "chat":
            yield ChatReranker(client, base_url=base_url, api_key=api_key, model=model or "", timeout_s=timeout_s)
        else:
            yield RerankEndpoint(client, base_url=base_url, api_key=api_key, model=model, timeout_s=timeout_s)


def _said(failure: str | None) -> str:
    return "ok" if failure is None else f"the last request failed: {failure}"


def _uncounted(use: Use, code: str) -> None:
    pass
