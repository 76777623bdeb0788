"""Request bodies: media type, size and time are checked before anything is decoded."""

import asyncio
from collections.abc import AsyncIterator

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
        raise too_large(max_bytes)


async def read_body(request: HttpRequest, max_bytes: int, timeout_s: float) -> bytes:
    """The whole body. Raises PayloadTooLarge as soon as it passes `max_bytes`, MalformedRequest when it is too slow."""
    check_announced_size(request, max_bytes)
    chunks: list[bytes] = []
    size = 0
    try:
        async with asyncio.timeout(timeout_s):
            async for chunk in _pieces(request):
                size += len(chunk)
                if size > max_bytes:
                    raise too_large(max_bytes)
                chunks.append(chunk)
    except TimeoutError:
        raise too_slow(timeout_s) from None
    return b"".join(chunks)


async def stream_body(request: HttpRequest, max_bytes: int, timeout_s: float) -> AsyncIterator[bytes]:
    """The body in pieces; each piece has `timeout_s` to arrive. Raises as `read_body` does."""
    size = 0
    pieces = _pieces(request)
    while True:
        try:
            async with asyncio.timeout(timeout_s):
                chunk = await anext(pieces)
        except StopAsyncIteration:
            return
        except TimeoutError:
            raise too_slow(timeout_s) from None
        size += len(chunk)
        if size > max_bytes:
            raise too_large(max_bytes)
        yield chunk


async def _pieces(request: HttpRequest) -> AsyncIterator[bytes]:
    """The body as it comes. Raises MalformedRequest when the client goes away before its end."""
    while True:
        message = await request.receive()
        if message["type"] != "http.request":
            raise MalformedRequest("The connection ended before the body did.")
        if message["body"]:
            yield message["body"]
        if not message["more_body"]:
            return


def too_large(max_bytes: int) -> PayloadTooLarge:
    """The rest of the body is not read, so the connection cannot be used again."""
    return PayloadTooLarge(f"The body must be at most {max_bytes} bytes.", headers={"Connection": "close"})


def too_slow(timeout_s: float) -> MalformedRequest:
    return MalformedRequest(f"The body did not arrive within {timeout_s:g} seconds.", headers={"Connection": "close"})
