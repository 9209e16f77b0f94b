"""Follows an operation to its end, over any number of connections and replicas."""

from collections.abc import Awaitable, Callable
from contextlib import aclosing
from dataclasses import dataclass
from logging import Logger
from typing import Literal

from .answers import Lab
from .controller import Controller
from .errors import Refused, StreamOver, TooManyStreams, Unreachable
from .events import TERMINAL, Event
from .patience import Patience


@dataclass(frozen=True)
class Outcome:
    """How an operation ended, as far as the controller shows it. `gone`: there is no lab; `other`: another one runs."""

    result: Literal["complete", "failed", "gone", "other"]
    #: The controller's last message, for people.
    words: str
    #: Why it failed, for people.
    reason: str


class Watch:
    """Follows one operation of a user's lab.

    It reads the event stream with the user's token. If that token is missing or refused (it may expire meanwhile), it
    polls the lab's status with the Hub's token, which has the same events.
    """

    def __init__(
        self,
        controller: Controller,
        username: str,
        *,
        deletion: bool,
        user_token: str | None,
        hub_token: Callable[[], str],
        patience: Patience,
        record: Callable[[Event], Awaitable[None]],
        log: Logger,
    ) -> None:
        self._controller = controller
        self._username = username
        self._deletion = deletion
        self._user_token = user_token
        self._hub_token = hub_token
        self._patience = patience
        self._record = record
        self._log = log
        self._last_id: str | None = None
        #: The last error, which is the reason of a failure.
        self._error = ""
        #: Polls without a new event; the delay grows with them.
        self._turns = 0

    async def outcome(self) -> Outcome:
        """Waits for the end. Raises `Unreachable` after too long an outage, `Refused` if the Hub's token is refused."""
        while True:
            try:
                found = await self._look()
            except Unreachable as error:
                await self._patience.bear(error)
            else:
                if found is not None:
                    return found
                await self._patience.pause(self._turns)
                self._turns += 1

    async def _look(self) -> Outcome | None:
        """Uses one connection. None: the operation has not ended."""
        if self._user_token is None:
            return await self._by_status()
        try:
            return await self._by_events(self._user_token)
        except StreamOver:
            # The stream is lost, or ended meanwhile: the present status decides.
            self._last_id = None
            return await self._by_status()
        except TooManyStreams:
            # The user's browsers and scripts have all streams: poll meanwhile.
            return await self._by_status()
        except Refused as error:
            self._log.warning("%s: events are refused (%s); polling the status instead", self._username, error)
            self._user_token = None
            return None

    async def _by_events(self, token: str) -> Outcome | None:
        opened = self._controller.events(self._username, token, self._last_id)
        async with opened as stream, aclosing(stream) as events:
            async for event in events:
                self._patience.restore()
                if event is None:
                    continue
                self._last_id = event.id or self._last_id
                if event.name in TERMINAL:
                    return self._ended(event)
                await self._take(event)
        # A replica that ends closes its streams; another one continues after the last event.
        return None

    async def _by_status(self) -> Outcome | None:
        lab = await self._controller.lab(self._username, self._hub_token())
        self._patience.restore()
        if lab is None:
            return _outcome("gone", "The lab is gone.")
        for event in self._unseen(lab):
            self._last_id = event.id
            if event.name not in TERMINAL:
                await self._take(event)
        if lab.status == "failed":
            return _outcome("failed", self._error or lab.reason)
        if lab.status == "running":
            return _outcome("other" if self._deletion else "complete", "The lab is running.")
        if lab.status == "pending":
            return _outcome("other", "A new lab is being created.") if self._deletion else None
        return None if self._deletion else _outcome("failed", "The lab was stopped while it was being created.")

    def _unseen(self, lab: Lab) -> tuple[Event, ...]:
        ids = [event.id for event in lab.events]
        return lab.events[ids.index(self._last_id) + 1 :] if self._last_id in ids else lab.events

    async def _take(self, event: Event) -> None:
        self._turns = 0
        if event.name == "error":
            self._error = event.data
        await self._record(event)

    def _ended(self, event: Event) -> Outcome:
        if event.name == "complete":
            return _outcome("complete", event.data)
        return Outcome("failed", event.data, self._error or event.data)


def _outcome(result: Literal["complete", "failed", "gone", "other"], words: str) -> Outcome:
    return Outcome(result, words, words)
