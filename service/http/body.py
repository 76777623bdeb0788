"""Request bodies: media type, size and time are checked before anything is decoded."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress

from contracts.errors import MalformedRequest, PayloadTooLarge, UnsupportedMediaType
from service.http.errors import HttpRequest

JSON_TYPE = "application/json"
NDJSON_TYPE = "application/x-ndjson"


def check_media_type(request: HttpRequest, expected: str) -> None:
    """Raises UnsupportedMediaType unless the body is `expected`, as UTF-8 and without a content encoding."""
    media_type, _, parameters = request.headers.get("content-type", "").partition(";")
    charset = parameters.strip().lower().replace('"', "").replace(" ", "")
    encoding = request.headers.get("content-encoding", "identity").strip().lower()
    if media_type.strip().lower() != expected or charset not in ("", "charset=utf-8") or encoding != "identity":
        raise UnsupportedMediaType(f"Send the body as {expected} in UTF-8, without a content encoding.")


def check_announced_size(request: HttpRequest, max_bytes: int) -> None:
    """Raises PayloadTooLarge when Content-Length already says that the body is too large."""
    announced = request.headers.get("content-length", "0")
    if announced.isascii() and announced.isdigit() and (len(announced) > 18 or int(announced) > max_bytes):
        raise _too_large(max_bytes)


async def read_body(request: HttpRequest, max_bytes: int, timeout_s: float) -> bytes:
    """The whole body. Raises PayloadTooLarge as soon as it passes `max_bytes`, MalformedRequest when it is too slow."""
    check_announced_size(request, max_bytes)
    try:
        async with asyncio.timeout(timeout_s):
            return b"".join([piece async for piece in _pieces(request, max_bytes)])
    except TimeoutError:
        raise _too_slow(timeout_s) from None


async def stream_body(request: HttpRequest, max_bytes: int, timeout_s: float) -> AsyncIterator[bytes]:
    """The body in pieces; each piece has `timeout_s` to arrive. Raises as `read_body` does."""
    pieces = _pieces(request, max_bytes)
    while True:
        try:
            async with asyncio.timeout(timeout_s):
                piece = await anext(pieces)
        except StopAsyncIteration:
            return
        except TimeoutError:
            raise _too_slow(timeout_s) from None
        yield piece


async def discard_body(request: HttpRequest, timeout_s: float) -> None:
    """Take in what is left of a body, for so long at most."""
    with suppress(TimeoutError):
        async with asyncio.timeout(timeout_s):
            while (await request.receive()).get("more_body", False):
                pass


async def _pieces(request: HttpRequest, max_bytes: int) -> AsyncIterator[bytes]:
    """Straight from the server: Litestar's own stream takes a client that went away for an error of ours."""
    size = 0
    more = True
    while more:
        message = await request.receive()
        if message["type"] != "http.request":
            raise MalformedRequest("The connection ended before the body did.")
        size += len(message["body"])
        if size > max_bytes:
            raise _too_large(max_bytes)
        yield message["body"]
        more = message.get("more_body", False)


def _too_large(max_bytes: int) -> PayloadTooLarge:
    """The rest of the body is not read, so the connection cannot be used again."""
    return PayloadTooLarge(f"The body must be at most {max_bytes} bytes.", headers={"Connection": "close"})


def _too_slow(timeout_s: float) -> MalformedRequest:
    return MalformedRequest(f"The body did not arrive within {timeout_s:g} seconds.", headers={"Connection": "close"})
