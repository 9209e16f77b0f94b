"""One request for a lab, and whether its outcome is known."""

import time
from collections.abc import Awaitable, Callable
from uuid import uuid4

from .errors import Refused, Unreachable

#: Seconds for which the controller keeps a key; no request is on its way for that long.
KEY_SECONDS = 600.0


class Creation:
    """A creation with an idempotency key of its own: a repeat is the same creation.

    A request without an answer may still arrive, even after a deletion. It makes no lab then if a repeat was answered
    before: the controller gives it the same answer.
    """

    def __init__(self, create: Callable[[str], Awaitable[bool]]) -> None:
        """`create` takes the key, and returns False if there is a lab already."""
        self._create = create
        self._key = uuid4().hex
        self._begun = time.monotonic()
        self._was_lost = False
        self._is_settled = False

    @property
    def is_open(self) -> bool:
        """Whether a lab of this creation may still appear that no status shows yet."""
        return not self._is_settled and time.monotonic() - self._begun < KEY_SECONDS

    async def ask(self) -> bool:
        """Sends the request, or repeats it. False: there is a lab already."""
        try:
            accepted = await self._create(self._key)
        except Unreachable:
            self._was_lost = True
            raise
        except Refused:
            # A refusal does not settle an earlier attempt without an answer.
            self._is_settled = not self._was_lost
            raise
        self._is_settled = True
        return accepted
