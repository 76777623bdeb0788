"""How many requests are worked on at once. Taken when a request's body is there, so that slow senders hold no place."""

import asyncio
from typing import Self

from service.http.errors import too_many_requests
from service.telemetry import Metrics


class Places:
    """All places of the application, and for how many seconds a request waits for one."""

    def __init__(self, number: int, wait_s: float, metrics: Metrics) -> None:
        self._free = asyncio.Semaphore(number)
        self._wait_s = wait_s
        self._metrics = metrics

    async def take(self) -> None:
        """Raises RuntimeNotReady when no place became free in time."""
        if self._free.locked():
            try:
                async with asyncio.timeout(self._wait_s):
                    await self._free.acquire()
            except TimeoutError:
                raise too_many_requests() from None
            self._metrics.under_way.inc()
        else:
            await self.take_in_turn()

    async def take_in_turn(self) -> None:
        """Wait for a place for as long as it takes: for an answer that began already and could only break off."""
        await self._free.acquire()
        self._metrics.under_way.inc()

    def give_back(self) -> None:
        """Once for each place taken."""
        self._metrics.under_way.dec()
        self._free.release()


class Place:
    """The one place that a request may take; the edge gives it back when the whole answer was sent.

    A streamed answer enters it (`async with`) for each batch or page instead, and holds none while it waits for its
    client.
    """

    def __init__(self, places: Places) -> None:
        self._places = places
        self._taken = False

    async def take(self) -> None:
        """Raises RuntimeNotReady when no place became free in time."""
        await self._places.take()
        self._taken = True

    async def __aenter__(self) -> Self:
        """The place that the request has already, or else the next one that becomes free."""
        if not self._taken:
            await self._places.take_in_turn()
            self._taken = True
        return self

    async def __aexit__(self, *_: object) -> None:
        self.give_back()

    def give_back(self) -> None:
        """No more than is taken, however often it is called."""
        if self._taken:
            self._taken = False
            self._places.give_back()
