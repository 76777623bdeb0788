"""One JSON endpoint of an inference provider, asked once: bounded in time and size, followed nowhere, believed nothing.

Nothing is repeated: the caller knows whether it can do without, and a provider in trouble needs no second request.
"""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any, Final, TypeVar

import httpx
import msgspec

from contracts.errors import InferenceTimeout, InferenceUnavailable, InternalError

T = TypeVar("T")

INPUT_MAX_BYTES: Final = 8192
"""What a provider is sent of one text: as much as the longest Memory entry. Models take 512 to 8192 tokens."""

CONNECTIONS_MAX: Final = 16
"""Requests under way to one provider; one prepare may rerank 33 Scopes."""


class InferenceEndpoint:
    """POST of one address.

    timeout_s: for the whole exchange. answer_max_bytes: of the body, which must come uncompressed.
    """

    def __init__(
        self, client: httpx.AsyncClient, url: str, api_key: str | None, *, timeout_s: float, answer_max_bytes: int
    ) -> None:
        self._client = client
        self._url = url
        self._timeout_s = timeout_s
        self._answer_max_bytes = answer_max_bytes
        self._headers = {"Content-Type": "application/json", "Accept-Encoding": "identity"}
        if api_key is not None:
            self._headers["Authorization"] = f"Bearer {api_key}"

    async def post(self, body: Mapping[str, Any], answer: msgspec.json.Decoder[T]) -> T:
        """The decoded answer.

        Raises InferenceTimeout; InferenceUnavailable for no connection, one that breaks, and any status but 200;
        InternalError for an answer that is not what was asked for, or too large.
        """
        try:
            async with asyncio.timeout(self._timeout_s):
                raw = await self._exchange(msgspec.json.encode(body))
        except (TimeoutError, httpx.TimeoutException) as error:
            raise InferenceTimeout from error
        except (httpx.HTTPError, httpx.InvalidURL, OSError) as error:
            raise InferenceUnavailable from error
        try:
            return answer.decode(raw)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise senseless() from error

    async def _exchange(self, body: bytes) -> bytes:
        async with self._client.stream("POST", self._url, content=body, headers=self._headers) as response:
            if response.status_code != httpx.codes.OK:
                raise InferenceUnavailable(f"The inference provider answered with status {response.status_code}.")
            raw = bytearray()
            async for chunk in response.aiter_raw():
                raw += chunk
                if len(raw) > self._answer_max_bytes:
                    raise senseless()
            return bytes(raw)


@asynccontextmanager
async def inference_client() -> AsyncIterator[httpx.AsyncClient]:
    """A client for endpoints: redirects are not followed, so that a key stays with the host that it is for."""
    limits = httpx.Limits(max_connections=CONNECTIONS_MAX, max_keepalive_connections=CONNECTIONS_MAX)
    async with httpx.AsyncClient(limits=limits, timeout=None, follow_redirects=False) as client:  # noqa: S113  # `post` bounds it
        yield client


def senseless() -> InternalError:
    """The error for an answer that is not one."""
    return InternalError("The inference provider gave an answer that makes no sense.")


def clipped(text: str, max_bytes: int = INPUT_MAX_BYTES) -> str:
    """`text`, or its beginning and end where it is longer: the question of a long prompt often stands at its end."""
    encoded = text.encode()
    if len(encoded) <= max_bytes:
        return text
    half = max_bytes // 2
    return f"{encoded[:half].decode(errors='ignore')}\n{encoded[-half + 1 :].decode(errors='ignore')}"
