"""What engines with several connections share: a bounded wait for one, another try for what was lost."""

import asyncio
import random
import time
from collections.abc import Awaitable, Callable
from typing import Final, TypeVar

from adapters.sql import conditions
from adapters.sql.engine import UniqueViolation
from contracts.errors import RuntimeNotReady

T = TypeVar("T")

SLOT_WAIT_S: Final = 5.0
"""How long a request waits for a connection before it is told to come back."""

LOCK_WAIT_S: Final = 2.0
"""How long one statement waits for a row that another writer holds."""

RETRY_FOR_S: Final = 5.0
"""No new attempt begins after this, so a held lock costs a request at most RETRY_FOR_S + LOCK_WAIT_S."""

_ATTEMPTS: Final = 8
_PAUSE_S: Final = 0.01


class RolledBack(Exception):
    """The transaction left nothing behind, and a fresh one may succeed: another writer won, or its connection broke.

    `message` is what to say when no fresh one did. Never leaves `adapters`.
    """

    def __init__(self, message: str = conditions.LOCKED) -> None:
        self.message = message
        super().__init__(message)


async def with_attempts(attempt: Callable[[], Awaitable[T]]) -> T:
    """The result of the first attempt that ends; each must be a whole transaction.

    A key that was taken counts as lost to another writer, because jobs look before they insert. Raises RuntimeNotReady
    after the last RolledBack, UniqueViolation where the key stays taken.
    """
    last_start = time.monotonic() + RETRY_FOR_S
    pause = _PAUSE_S
    for left in reversed(range(_ATTEMPTS)):
        try:
            return await attempt()
        except (RolledBack, UniqueViolation) as error:
            if left == 0 or time.monotonic() > last_start:
                if isinstance(error, UniqueViolation):
                    raise
                raise RuntimeNotReady(error.message) from error
        # Writers that collided once must not come back in step.
        await asyncio.sleep(pause * random.uniform(0.5, 1.5))  # noqa: S311  # no secret
        pause *= 2
    raise AssertionError("the last attempt either returned or raised")


class Slots:
    """As many jobs at a time as there are connections; the others wait in order, for SLOT_WAIT_S at most."""

    def __init__(self, size: int) -> None:
        self._free = asyncio.Semaphore(size)

    async def take(self) -> None:
        """Return when a slot is taken. Raises RuntimeNotReady when none became free in time."""
        try:
            async with asyncio.timeout(SLOT_WAIT_S):
                await self._free.acquire()
        except TimeoutError:
            raise RuntimeNotReady(conditions.BUSY, retry_after_s=2) from None

    def give_back(self) -> None:
        """Let the next one in."""
        self._free.release()
