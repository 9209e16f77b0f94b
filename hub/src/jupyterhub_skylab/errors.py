"""What can go wrong with the controller, and what users are told of it."""

from typing import TYPE_CHECKING, Any

import jupyterhub.spawner
from tornado.web import HTTPError


class Unreachable(Exception):
    """The controller gave no answer that can be understood, or asked to be left alone: trying again may help."""

    def __init__(self, cause: str, retry_after: float | None = None) -> None:
        """`retry_after`: seconds, as the controller wishes."""
        super().__init__(cause)
        self.retry_after = retry_after


class Refused(Exception):
    """The controller said no, and would say so again."""

    def __init__(self, status: int, words: str) -> None:
        super().__init__(f"{status}: {words}")
        self.status = status
        #: For people.
        self.words = words


class StreamOver(Exception):
    """There is no stream, or no event after the one named: the lab's status has to be asked for."""


class TooManyStreams(Exception):
    """The user follows as many streams as one may: the lab's status has to be asked for meanwhile."""


if TYPE_CHECKING:

    class _SpawnException(HTTPError):
        def __init__(self, message: str, *, reason: str, status_code: int) -> None: ...

elif hasattr(jupyterhub.spawner, "SpawnException"):
    # JupyterHub 6: no trace in the log, and it does not count for `consecutive_failure_limit`.
    _SpawnException = jupyterhub.spawner.SpawnException
else:

    class _SpawnException(HTTPError):
        """The same for JupyterHub 5."""

        def __init__(self, message: str, *, reason: str, status_code: int) -> None:
            super().__init__(status_code, message)


class LabError(_SpawnException):
    """A lab was not started or not stopped, or there is no form. The words are shown to the user, escaped."""

    def __init__(self, words: str, *, status: int, reason: str) -> None:
        """`reason`: one word for the Hub's metrics."""
        super().__init__(words, reason=reason, status_code=status)
        # By this name every page of the Hub and its progress API ask for what to show.
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
    """The controller was away for longer than is borne."""
    words = "The lab controller cannot be reached at the moment. Try again in a few minutes."
    return LabError(words, status=503, reason="controller-away")


def refused_to_user(error: Refused) -> LabError:
    """What was asked with the user's own token was refused."""
    if error.status == 401:
        words = "Your login has expired. Log out, log in again, and start your server then."
        return LabError(words, status=403, reason="token-expired")
    return LabError(error.words, status=error.status, reason="refused")


def refused_to_hub(error: Refused) -> LabError:
    """What was asked with the Hub's token was refused: users cannot mend that."""
    words = "The lab controller refuses the Hub. Tell an administrator: the Hub's log says why."
    return LabError(words, status=500, reason="hub-refused")


def lab_failed(why: str) -> LabError:
    """The controller could not make the lab, or not remove it."""
    return LabError(why, status=500, reason="lab-failed")


def describe(error: BaseException) -> str:
    """One line for the log."""
    text = str(error)
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def as_dict(value: Any) -> dict[str, Any]:
    """The value if it is a JSON object, else an empty one."""
    return value if isinstance(value, dict) else {}
