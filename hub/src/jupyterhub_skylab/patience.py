"""How long, and at which pace, a controller that does not answer is tried again."""

import asyncio
import random
import time
from collections.abc import Awaitable, Callable
from typing import TypeVar

from .errors import Unreachable

T = TypeVar("T")

#: Seconds; delays double up to here.
LONGEST_DELAY = 5.0
#: Seconds; a controller that asks for more is asked again all the same.
LONGEST_RETRY_AFTER = 30.0


class Patience:
    """What is left of it within one operation. An answer restores it."""

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
        # Once more at the very end, whatever the delay would be.
        await asyncio.sleep(min(delay, left))

    async def pause(self, turn: int) -> None:
        """Waits before looking again at what takes its time, the longer the more turns there were."""
        await asyncio.sleep(self._delay(turn))

    def _delay(self, turn: int) -> float:
        delay = min(self._retry_delay * 2.0 ** min(turn, 10), max(LONGEST_DELAY, self._retry_delay))
        return delay * random.uniform(0.5, 1.0)  # noqa: S311

    async def insist(self, ask: Callable[[], Awaitable[T]]) -> T:
        """Asks until there is an answer. Raises `Unreachable` when there was none for too long."""
        while True:
            try:
                answer = await ask()
            except Unreachable as error:
                await self.bear(error)
            else:
                self.restore()
                return answer
