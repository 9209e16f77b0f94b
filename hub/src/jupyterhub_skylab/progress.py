"""The events of a start or stop for the pages of the Hub (SQR-066, "progress")."""

import asyncio
from collections.abc import AsyncIterator, Callable
from html import escape
from typing import Any

from .answers import printable
from .errors import as_dict
from .events import Event

#: Events kept per operation; a creation has some twenty. Beyond it the oldest are dropped.
MOST_EVENTS = 200
#: Events stored in the Hub's database: only a starting Hub reads them.
MOST_STORED = 50
MOST_CHARACTERS = 1000


def breakable(message: str) -> str:
    """HTML in which lines break anywhere: a reference of an image has no spaces, and is wider than the page."""
    return f'<span class="text-break">{escape(message)}</span>'


class Log:
    """The events of one operation, in JupyterHub's form."""

    def __init__(self) -> None:
        self.events: list[dict[str, Any]] = []
        #: Out of 100, as last reported.
        self.progress = 0
        self.complete = False
        self._dropped = 0

    @property
    def count(self) -> int:
        """The number of all events so far, dropped ones too."""
        return self._dropped + len(self.events)

    def since(self, at: int) -> list[dict[str, Any]]:
        """The events after the first `at`."""
        return [dict(event) for event in self.events[max(0, at - self._dropped) :]]

    def take(self, event: Event) -> bool:
        """Adds one event of the controller. Returns whether there is something new to show."""
        if event.name == "progress":
            if event.data.isascii() and event.data.isdigit():
                self.progress = min(int(event.data[:3]), 100)
            return False
        self.add(event.data)
        return True

    def add(self, message: str) -> None:
        """Adds an event with the progress that was last reported."""
        self.events.append({"progress": self.progress, "message": printable(message)[:MOST_CHARACTERS]})
        if len(self.events) > MOST_EVENTS:
            del self.events[0]
            self._dropped += 1

    def finish(self, message: str) -> None:
        """Adds the last event."""
        self.progress = 100
        self.complete = True
        self.add(message)


class Progress:
    """The log of a user's latest operation, for all its followers."""

    def __init__(self) -> None:
        self._changed = asyncio.Condition()
        self._log: Log | None = None

    async def begin(self) -> Log:
        """Begins the log of an operation. Followers of an older log end."""
        async with self._changed:
            if self._log is not None:
                self._log.complete = True
            self._log = log = Log()
            self._changed.notify_all()
            return log

    async def take(self, log: Log, event: Event) -> None:
        """Adds an event of the controller to an operation's log."""
        async with self._changed:
            if log.take(event):
                self._changed.notify_all()

    async def finish(self, log: Log, message: str) -> None:
        """Ends an operation's log. A log that has ended stays as it is."""
        async with self._changed:
            if not log.complete:
                log.finish(message)
            self._changed.notify_all()

    async def follow(self, expected: Callable[[], bool]) -> AsyncIterator[dict[str, Any]]:
        """Yields the events of the latest operation until its end. Waits for one to begin while `expected` is true."""
        async with self._changed:
            while self._log is None and expected():
                await self._changed.wait()
            log = self._log
        at = 0
        while log is not None:
            async with self._changed:
                while log.count == at and not log.complete:
                    await self._changed.wait()
                events, at, complete = log.since(at), log.count, log.complete
            for event in events:
                yield {**event, "html_message": breakable(event["message"])}
            if complete:
                return

    def state(self) -> dict[str, Any]:
        """The state for the Hub's database. Never empty: for JupyterHub a lab without state does not exist."""
        log = self._log or Log()
        return {"events": log.events[-MOST_STORED:], "progress": log.progress, "complete": log.complete}

    def restore(self, state: dict[str, Any]) -> None:
        """Loads what `state` returned to an earlier Hub; ignores anything else."""
        events = as_dict(state).get("events")
        if not isinstance(events, list) or not events:
            self._log = None
            return
        self._log = log = Log()
        log.events = [each for each in events if isinstance(as_dict(each).get("message"), str)]
        progress = state.get("progress")
        log.progress = progress if isinstance(progress, int) else 0
        # The operation's task ended with the earlier Hub: no event will be added.
        log.complete = True

    def clear(self) -> None:
        """Forgets the latest operation. Its followers keep its log."""
        self._log = None
