"""One request for a lab, and whether anybody knows what came of it."""

import time
from collections.abc import Awaitable, Callable
from uuid import uuid4

from .errors import Refused, Unreachable

#: Seconds for which the controller keeps a key; a request is not on its way for as long.
KEY_SECONDS = 600.0


class Creation:
    """A creation under a key of its own: asked for again, it is the same one.

    A request whose answer was never read may still arrive, after a deletion too. It makes no lab then if the same
    request was sent again before: the controller answers it as it answered that.
    """

    def __init__(self, create: Callable[[str], Awaitable[bool]]) -> None:
        """`create` takes the key. False: there is a lab already."""
        self._create = create
        self._key = uuid4().hex
        self._begun = time.monotonic()
        self._was_lost = False
        self._is_settled = False

    @property
    def is_open(self) -> bool:
        """Whether there may be a lab of it that no status tells of yet."""
        return not self._is_settled and time.monotonic() - self._begun < KEY_SECONDS

    async def ask(self) -> bool:
        """Asks for it, once more if need be. False: there is a lab already."""
        try:
            accepted = await self._create(self._key)
        except Unreachable:
            self._was_lost = True
            raise
        except Refused:
            # It says nothing of an earlier attempt that was not answered.
            self._is_settled = not self._was_lost
            raise
        self._is_settled = True
        return accepted
