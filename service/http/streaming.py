"""Answers that are sent while they are made.

Litestar's own streaming answer listens for a disconnect meanwhile and so takes the pieces of a body that is still being
read; an import answers while it reads.
"""

from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any

from litestar import Response
from litestar.response.base import ASGIResponse
from litestar.types import Receive, Scope, Send


class StreamedResponse(Response[AsyncGenerator[bytes, None]]):
    """Status 200 and the pieces of `content` as they come.

    The answer begins with the first piece: an error before it is answered as an error. A later one can only break the
    connection off, which a client sees as an answer that has no end.
    """

    def __init__(self, content: AsyncGenerator[bytes, None], media_type: str) -> None:
        super().__init__(content, media_type=media_type)

    def to_asgi_response(self, *_: Any, **__: Any) -> ASGIResponse:
        return _Streamed(self.content, str(self.media_type))


class _Streamed(ASGIResponse):
    def __init__(self, pieces: AsyncGenerator[bytes, None], media_type: str) -> None:
        super().__init__(media_type=media_type)
        self._pieces = pieces
        self._type = media_type.encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async with aclosing(self._pieces) as pieces:
            piece: bytes | None = await anext(pieces, b"")
            headers = [(b"content-type", self._type)]
            await send({"type": "http.response.start", "status": 200, "headers": headers})
            while piece is not None:
                await send({"type": "http.response.body", "body": piece, "more_body": True})
                piece = await anext(pieces, None)
        await send({"type": "http.response.body", "body": b"", "more_body": False})
