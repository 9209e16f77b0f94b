"""Time limit and delays for repeats while a controller does not answer."""

import asyncio
import random
import time
from collections.abc import Awaitable, Callable
from typing import TypeVar

from .errors import Unreachable

T = TypeVar("T")

#: Seconds; delays double up to this.
LONGEST_DELAY = 5.0
#: Seconds; a longer `Retry-After` is cut to this.
LONGEST_RETRY_AFTER = 30.0


class Patience:
    """The remaining time and the next delay within one operation. An answer restores both."""

    def __init__(self, outage_seconds: float, retry_delay: float) -> None:
        self._outage_seconds = outage_seconds
        self._retry_delay = retry_delay
        self._since: float | None = None
        self._failures = 0

    def restore(self) -> None:
        """The controller has answered."""
        self._since = None
        self._failures = 0

    async def bear(self, error: Unreachable) -> None:
        """Waits until it is time to try again. Raises `error` when the controller was away for too long."""
        now = time.monotonic()
        if self._since is None:
            self._since = now
        left = self._since + self._outage_seconds - now
        if left <= 0:
            raise error
        delay = max(self._delay(self._failures), min(error.retry_after or 0.0, LONGEST_RETRY_AFTER))
        self._failures += 1
        # One last attempt at the very end, even if the delay is longer.
        await asyncio.sleep(min(delay, left))

    async def pause(self, turn: int) -> None:
        """Waits before the next poll; the delay grows with `turn`."""
        await asyncio.sleep(self._delay(turn))

    def _delay(self, turn: int) -> float:
        delay = min(self._retry_delay * 2.0 ** min(turn, 10), max(LONGEST_DELAY, self._retry_delay))
        return delay * random.uniform(0.5, 1.0)  # noqa: S311

    async def insist(self, ask: Callable[[], Awaitable[T]]) -> T:
        """Repeats `ask` until there is an answer. Raises `Unreachable` after too long an outage."""
        while True:
            try:
                answer = await ask()
            except Unreachable as error:
                await self.bear(error)
            else:
                self.restore()
                return answer
