"""The network of the asyncio client: a connection can be used in the event loop alone that opened it."""

import asyncio
import threading

import httpx


class PerLoopTransport(httpx.AsyncBaseTransport):
    """Connections for each event loop, so that one client serves several loops, one after another or at once.

    Connections of a loop that has ended are forgotten; Python then closes them, with a ResourceWarning.
    """

    def __init__(self, unix_socket: str | None) -> None:
        self._unix_socket = unix_socket
        self._ssl_context = httpx.create_ssl_context()
        self._guard = threading.Lock()
        self._transports: dict[asyncio.AbstractEventLoop, httpx.AsyncHTTPTransport] = {}

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        return await self._of_this_loop().handle_async_request(request)

    async def aclose(self) -> None:
        """Close the connections of this loop and forget those of others, which cannot be closed from here."""
        with self._guard:
            own = self._transports.pop(asyncio.get_running_loop(), None)
            self._transports.clear()
        if own is not None:
            await own.aclose()

    def _of_this_loop(self) -> httpx.AsyncHTTPTransport:
        running = asyncio.get_running_loop()
        with self._guard:
            if running not in self._transports:
                # Not a weak dictionary: a connection refers to its loop, so that no loop would ever leave it.
                self._transports = {
                    loop: transport for loop, transport in self._transports.items() if not loop.is_closed()
                }
                self._transports[running] = httpx.AsyncHTTPTransport(verify=self._ssl_context, uds=self._unix_socket)
            return self._transports[running]
