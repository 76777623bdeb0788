"""The floor: what the framework alone costs.

    python -m bench.floor PORT

A bare Litestar handler under the sidecar's own uvicorn settings and protocol. It decodes a Struct and returns an answer
of the size that the sidecar gives: 8 KB, or the empty one for `sections: []`. No log, no access control, no database.
"""

import random
import socket
import sys
from typing import Any

import msgspec
import uvicorn
from litestar import Litestar, get, post

from bench.data import chinese_prompt
from bench.modes import MAX_BYTES
from service.http.protocol import SidecarProtocol
from service.http.server import BACKLOG, KEEP_ALIVE_S


class Request(msgspec.Struct):
    """The request's fields without their rules."""

    scope_id: str
    query: str
    max_bytes: int = MAX_BYTES
    assembly: dict[str, Any] | None = None


class Prepared(msgspec.Struct):
    """The answer's fields."""

    schema: str
    status: str
    content: str | None
    content_bytes: int


def _content() -> str:
    """About `MAX_BYTES` bytes, half of them ASCII and half Chinese, as in the prepared texts of the data set."""
    english = ("the client is generated anew when the contract changes. " * MAX_BYTES)[: MAX_BYTES // 2]
    chinese = chinese_prompt(random.Random(1), MAX_BYTES)
    return (english + chinese).encode()[:MAX_BYTES].decode(errors="ignore")


def create_floor() -> Litestar:
    """The application."""
    text = _content()
    schema = "powercontext.prepared-context.v1"
    full = Prepared(schema, "ready", text, len(text.encode()))
    empty = Prepared(schema, "empty", None, 0)

    @get("/health/ready")
    async def ready() -> dict[str, str]:
        return {"status": "ready"}

    @post("/v1/context/prepare", status_code=200)
    async def prepare(data: Request) -> Prepared:
        return empty if data.assembly is not None and data.assembly.get("sections") == [] else full

    return Litestar([ready, prepare], openapi_config=None, logging_config=None)


def main() -> None:
    """Serve until SIGTERM."""
    listener = socket.socket()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind(("127.0.0.1", int(sys.argv[1])))
    listener.listen(BACKLOG)
    config = uvicorn.Config(
        create_floor,
        factory=True,
        loop="uvloop",
        http=SidecarProtocol,
        ws="none",
        lifespan="on",
        log_level="warning",
        access_log=False,
        server_header=False,
        proxy_headers=False,
        timeout_keep_alive=KEEP_ALIVE_S,
        reset_contextvars=True,
    )
    uvicorn.Server(config).run(sockets=[listener])


if __name__ == "__main__":
    main()
