"""How many requests are worked on at once. Taken when a request's body is there, so that slow senders hold no place."""

import asyncio

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
        else:  # without the cost of a deadline
            await self._free.acquire()
        self._metrics.under_way.inc()

    def give_back(self) -> None:
        """Once for each `take`."""
        self._metrics.under_way.dec()
        self._free.release()


class Place:
    """The one place that a request may take; the edge gives it back when the whole answer was sent."""

    def __init__(self, places: Places) -> None:
        self._places = places
        self._taken = False

    async def take(self) -> None:
        """Raises RuntimeNotReady when no place became free in time."""
        await self._places.take()
        self._taken = True

    def give_back(self) -> None:
        if self._taken:
            self._taken = False
            self._places.give_back()
