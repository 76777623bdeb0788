"""Embeddings from any endpoint that speaks OpenAI's `POST {base}/embeddings`."""

from collections.abc import Sequence
from math import fsum, isfinite, sqrt
from typing import Final

import httpx
import msgspec
from msgspec import Struct

from adapters.inference import InferenceEndpoint, clipped, senseless
from contracts.ports import Vector, VectorSpace

_DIGITS_MAX: Final = 32
_ENVELOPE_MAX_BYTES: Final = 1 << 16
"""Bytes of one number with its comma, and of everything beside the numbers: what an answer may have at most."""


class _Item(Struct):
    index: int
    embedding: list[float]


class _Answer(Struct):
    data: list[_Item]


_answer = msgspec.json.Decoder(_Answer)


class OpenAIEmbedding:
    """`contracts.ports.EmbeddingProvider`. batch_size: texts of one request; several batches go one after the other."""

    def __init__(
        self,
        client: httpx.AsyncClient,
        *,
        base_url: str,
        api_key: str | None,
        space: VectorSpace,
        timeout_s: float,
        batch_size: int,
    ) -> None:
        self.space = space
        self._batch_size = batch_size
        self._endpoint = InferenceEndpoint(
            client,
            f"{base_url.rstrip('/')}/embeddings",
            api_key,
            timeout_s=timeout_s,
            answer_max_bytes=batch_size * (space.dimension * _DIGITS_MAX + _ENVELOPE_MAX_BYTES),
        )

    async def embed(self, texts: Sequence[str]) -> tuple[Vector, ...]:
        vectors: list[Vector] = []
        for start in range(0, len(texts), self._batch_size):
            vectors += await self._batch(texts[start : start + self._batch_size])
        return tuple(vectors)

    async def _batch(self, texts: Sequence[str]) -> list[Vector]:
        body = {
            "model": self.space.model,
            "input": [clipped(text) for text in texts],
            "encoding_format": "float",
        }
        answer = await self._endpoint.post(body, _answer)
        items = sorted(answer.data, key=lambda item: item.index)
        if [item.index for item in items] != list(range(len(texts))):
            raise senseless()
        return [self._unit(item.embedding) for item in items]

    def _unit(self, values: list[float]) -> Vector:
        """The vector at length 1. Raises InternalError where it has another dimension, or no direction."""
        if len(values) != self.space.dimension or not all(map(isfinite, values)):
            raise senseless()
        largest = max(map(abs, values))
        if not largest:
            raise senseless()
        # Divided by the largest first, so that no square is too large or too small for a float.
        scaled = [value / largest for value in values]
        length = sqrt(fsum(value * value for value in scaled))
        return tuple(value / length for value in scaled)
