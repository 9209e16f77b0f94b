"""Errors of the controller, and the messages that users see."""

from typing import TYPE_CHECKING, Any

import jupyterhub.spawner
from tornado.web import HTTPError


class Unreachable(Exception):
    """The controller gave no usable answer, or asked for a pause: a repeat may help."""

    def __init__(self, cause: str, retry_after: float | None = None) -> None:
        """`retry_after`: the controller's value, in seconds."""
        super().__init__(cause)
        self.retry_after = retry_after


class Refused(Exception):
    """The controller refused the request, and would refuse a repeat."""

    def __init__(self, status: int, words: str) -> None:
        super().__init__(f"{status}: {words}")
        self.status = status
        #: The reason, for people.
        self.words = words


class StreamOver(Exception):
    """There is no stream, or no later event: the caller must read the lab's status."""


class TooManyStreams(Exception):
    """The user has the maximum of open streams: the caller must poll the lab's status meanwhile."""


if TYPE_CHECKING:

    class _SpawnException(HTTPError):
        def __init__(self, message: str, *, reason: str, status_code: int) -> None: ...

elif hasattr(jupyterhub.spawner, "SpawnException"):
    # JupyterHub 6: no traceback in the log, and it does not count for `consecutive_failure_limit`.
    _SpawnException = jupyterhub.spawner.SpawnException
else:

    class _SpawnException(HTTPError):
        """The same for JupyterHub 5."""

        def __init__(self, message: str, *, reason: str, status_code: int) -> None:
            super().__init__(status_code, message)


class LabError(_SpawnException):
    """A lab was not started or not stopped, or there is no form. The Hub shows the words to the user, escaped."""

    def __init__(self, words: str, *, status: int, reason: str) -> None:
        """`reason`: one word for the Hub's metrics."""
        super().__init__(words, reason=reason, status_code=status)
        # All pages of the Hub and its progress API show this attribute.
        self.jupyterhub_message = words


def named_server() -> LabError:
    """A user has one lab (SQR-066), so there is none for a named server."""
    words = "Named servers are not supported: each user has one lab. Start the default server instead."
    return LabError(words, status=400, reason="named-server")


def no_token() -> LabError:
    """The user's own token is missing from `auth_state`."""
    words = "Your login has no token for the lab controller. Log out, log in again, and start your server then."
    return LabError(words, status=403, reason="no-token")


def away() -> LabError:
    """The controller was away for longer than `outage_seconds`."""
    words = "The lab controller cannot be reached at the moment. Try again in a few minutes."
    return LabError(words, status=503, reason="controller-away")


def refused_to_user(error: Refused) -> LabError:
    """A request with the user's own token was refused."""
    if error.status == 401:
        words = "Your login has expired. Log out, log in again, and start your server then."
        return LabError(words, status=403, reason="token-expired")
    return LabError(error.words, status=error.status, reason="refused")


def refused_to_hub(error: Refused) -> LabError:
    """A request with the Hub's token was refused: users cannot correct that."""
    words = "The lab controller refuses the Hub. Tell an administrator: the Hub's log says why."
    return LabError(words, status=500, reason="hub-refused")


def lab_failed(why: str) -> LabError:
    """The controller could not make or remove the lab."""
    return LabError(why, status=500, reason="lab-failed")


def describe(error: BaseException) -> str:
    """One line for the log."""
    text = str(error)
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def as_dict(value: Any) -> dict[str, Any]:
    """The value if it is a JSON object, else an empty one."""
    return value if isinstance(value, dict) else {}
