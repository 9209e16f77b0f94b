"""Server-sent events of the controller (SQR-066, "GET …/labs/<username>/events")."""

from collections.abc import AsyncGenerator
from dataclasses import dataclass
from typing import Any

from aiohttp import StreamReader
from aiohttp.http import HttpProcessingError
from sseclient import SSEClient

from .errors import Unreachable

#: Events that end an operation.
TERMINAL = ("complete", "failed")
#: Events that the controller sends; others are ignored.
NAMES = ("info", "error", "progress", *TERMINAL)

#: Bytes of one event at most. The controller's events have some hundred.
MOST_BYTES = 65_536


@dataclass(frozen=True)
class Event:
    """One event of an operation."""

    name: str
    data: str
    #: `<op>-<seq>`; None if the controller lost the stream.
    id: str | None = None


def event_from(value: Any) -> Event | None:
    """Parses an event of a lab's status; None if it is not one."""
    if not isinstance(value, dict):
        return None
    name, data, event_id = value.get("event"), value.get("data"), value.get("id")
    if name not in NAMES or not isinstance(data, str):
        return None
    return Event(name, data, event_id if isinstance(event_id, str) else None)


async def read_events(content: StreamReader) -> AsyncGenerator[Event | None, None]:
    """Yields the events of a stream as they come, and None for any other sign of life.

    Returns at the end of the stream, and drops an incomplete event, as the standard says. Raises `Unreachable` if a
    line or an event is too long, or is no text.
    """
    block = b""
    while line := await _line(content):
        if line.strip(b"\r\n"):
            block += line
            if len(block) > MOST_BYTES:
                raise Unreachable("it sent an event without end")
            continue
        try:
            parsed = [each for each in SSEClient(iter([block + b"\n"])).events() if each.event in NAMES]
        except UnicodeDecodeError:
            raise Unreachable("it sent an event that is no text") from None
        block = b""
        for each in parsed:
            yield Event(each.event, each.data, each.id or None)
        if not parsed:
            yield None


async def _line(content: StreamReader) -> bytes:
    try:
        return await content.readline()
    except (ValueError, HttpProcessingError):
        raise Unreachable("it sent a line without end") from None
