"""Parses the controller's answers. Pure."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from .errors import Refused, Unreachable, as_dict
from .events import Event, event_from

#: Values of `status` (SQR-066, "GET …/labs/<username>").
STATES = ("pending", "running", "terminating", "failed")

_MOST_WORDS = 1000
_MOST_PROBLEMS = 10


@dataclass(frozen=True)
class Answer:
    """One answer, read to its end."""

    status: int
    headers: Mapping[str, str]
    body: bytes


@dataclass(frozen=True)
class Lab:
    """A lab's status."""

    #: One of `STATES`.
    status: str
    #: The lab's address; only a running lab has one.
    internal_url: str | None
    #: The events of the current operation.
    events: tuple[Event, ...]

    @property
    def reason(self) -> str:
        """Why the lab failed: the last error, since the controller has no field for it."""
        errors = [event.data for event in self.events if event.name == "error"]
        return errors[-1] if errors else "The lab failed."


def lab_of(answer: Answer) -> Lab | None:
    """The lab of a status answer; None when the controller says that there is none.

    Raises `Unreachable` for any answer that is not the controller's. An ingress may answer for a controller that is
    away, even with 404 and a page of its own: that must not look like a lab that is gone.
    """
    if is_no_lab(answer):
        return None
    if answer.status != 200:
        raise problem_of(answer)
    body = as_dict(_json(answer.body))
    status, url = body.get("status"), body.get("internal_url")
    if status not in STATES:
        raise Unreachable("it answered a status that is not understood")
    events = body.get("events")
    return Lab(
        status=status,
        internal_url=url if isinstance(url, str) and _is_address(url) else None,
        events=tuple(event for each in events if (event := event_from(each))) if isinstance(events, list) else (),
    )


def _is_address(url: str) -> bool:
    """Whether the Hub can parse the URL: an invalid port would end the Hub's start."""
    try:
        parts = urlsplit(url)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False


def is_no_lab(answer: Answer) -> bool:
    """Whether the controller itself, and no proxy before it, says that the user has no lab."""
    return answer.status == 404 and any(each.get("type") == "unknown_user" for each in _details(answer.body))


def problem_of(answer: Answer) -> Exception:
    """The exception for an unexpected answer: `Unreachable` if a repeat may help, else `Refused`."""
    details = _details(answer.body)
    status = answer.status
    misconfigured = any(each.get("type") == "misconfigured" for each in details)
    if status in (408, 429) or (status >= 500 and not misconfigured):
        return Unreachable(f"it answered {status}{_quoted(details)}", _retry_after(answer.headers))
    # The controller's own 404 has a body of its form; any other 404 comes from a proxy before it.
    if status < 400 or (status == 404 and not details):
        return Unreachable(f"it answered {status}, which is not understood")
    return Refused(status, _words(details) or f"The lab controller refused the request ({status}).")


def _json(body: bytes) -> Any:
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        return None


def _details(body: bytes) -> list[dict[str, Any]]:
    details = as_dict(_json(body)).get("detail")
    if not isinstance(details, list):
        return []
    return [each for each in details if isinstance(each, dict) and isinstance(each.get("msg"), str)]


def _words(details: list[dict[str, Any]]) -> str:
    return "; ".join(_sentence(each) for each in details[:_MOST_PROBLEMS])[:_MOST_WORDS]


def _sentence(detail: dict[str, Any]) -> str:
    """The problem and its field: `is required (options.size)`."""
    loc = detail.get("loc")
    path = [str(step) for step in loc[1:]] if isinstance(loc, list) and loc[:1] == ["body"] else []
    msg = printable(detail["msg"])
    return f"{msg} ({printable('.'.join(path))})" if path else msg


def _quoted(details: list[dict[str, Any]]) -> str:
    words = _words(details)
    return f": {words}" if words else ""


def printable(text: str) -> str:
    """The text as one line without control characters."""
    return "".join(char if char.isprintable() else " " for char in text)


def _retry_after(headers: Mapping[str, str]) -> float | None:
    value = headers.get("Retry-After", "").strip()
    return float(value) if value.isascii() and value.isdigit() else None
