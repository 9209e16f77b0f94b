"""The options of the spawner, each with its meaning, unit and default."""

import os
from ipaddress import ip_address
from typing import Any
from urllib.parse import urlsplit

from traitlets import Bool, Float, TraitError, Unicode, default, observe, validate
from traitlets.config import LoggingConfigurable

#: Options of the base class without effect: the lab controller decides them (SQR-066).
IGNORED = ("mem_limit", "mem_guarantee", "cpu_limit", "cpu_guarantee", "cmd", "args")

#: Where the manifests in ``k8s/`` put the controller.
DEFAULT_URL = "http://skylab.skylab:8080/nublado/spawner/v1"

#: Names of options that the log has warned of, once for all spawners of this process.
_warned: set[str] = set()


def _usable_url(url: str) -> str:
    """The address without slashes at its end. Raises `TraitError` without the address, which may contain a secret."""
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.query or parts.fragment:
        raise TraitError("controller_url must be http://… or https://…, with a host, without query")
    if parts.username is not None or parts.password is not None:
        raise TraitError("controller_url must not have credentials: see hub_token_file")
    return url.rstrip("/")


def _leave_to_controller(_spawner: Any, _user_options: dict[str, Any]) -> None:
    """Changes nothing: the controller gets all options as they are, and checks them."""


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


class SpawnerSettings(LoggingConfigurable):
    """The options of `RESTSpawner`. A base class that must come before `Spawner`, since it changes defaults of it."""

    controller_url = Unicode(
        help="""
        Address of the lab controller, with the prefix of its API (`api.prefix` of its configuration).

        With `http://` to another machine tokens are sent unencrypted, and the log warns of it.
        The default is `$SKYLAB_CONTROLLER_URL`, else the address of the manifests in `k8s/`.
        """
    ).tag(config=True)

    hub_token = Unicode(
        help="""
        The Hub's own token, with the scope `admin:jupyterlab`: it reads the status of labs and deletes them.

        The default is `$SKYLAB_HUB_TOKEN`. A file (`hub_token_file`) takes precedence, and can be rotated.
        """
    ).tag(config=True)

    hub_token_file = Unicode(
        help="""
        Path of a file with the Hub's own token; white space around the token is ignored.

        The Hub reads the file for every request, so the token can be replaced while the Hub runs.
        The default is `$SKYLAB_HUB_TOKEN_FILE`.
        """
    ).tag(config=True)

    user_token_key = Unicode(
        "token",
        help="""
        Key of the authenticator's `auth_state` that holds the user's own token, with the scope `exec:notebook`.

        Needs `c.Authenticator.enable_auth_state = True`. For OAuthenticator it is `access_token`.
        """,
    ).tag(config=True)

    ca_file = Unicode(
        help="""
        Path of a PEM file with the certificate authorities that may sign the controller's certificate; the default is
        the system's authorities.

        The Hub reads it once, before its first request to the controller.
        """
    ).tag(config=True)

    verify_tls = Bool(
        True,
        help="""
        Whether the Hub checks the controller's certificate and its name. With False any server on the way can read the
        tokens, and the log warns of it.
        """,
    ).tag(config=True)

    connect_timeout = Float(
        5.0,
        help="How long a connection to the controller may take to open, in seconds.",
    ).tag(config=True)

    request_timeout = Float(
        30.0,
        help="How long the controller may take to answer a request, in seconds. It does not apply to event streams.",
    ).tag(config=True)

    event_timeout = Float(
        45.0,
        help="""
        The longest silence of an event stream, in seconds. After it the Hub opens a new connection, and continues after
        the last event seen. The controller sends something every 15 seconds.
        """,
    ).tag(config=True)

    outage_seconds = Float(
        120.0,
        help="""
        How long a start or stop waits for a controller that does not answer, in seconds; any answer restarts the count.
        Polls have no such limit: an outage never makes a lab look stopped.
        """,
    ).tag(config=True)

    retry_delay = Float(
        1.0,
        help="""
        Seconds until a failed request or stream is repeated. The delay doubles up to 5 seconds, and is shortened at
        random by up to half, so that repetitions spread out. `Retry-After` prolongs it, up to 30 seconds.
        """,
    ).tag(config=True)

    @default("controller_url")
    def _default_controller_url(self) -> str:
        # traitlets does not validate defaults.
        return _usable_url(os.environ.get("SKYLAB_CONTROLLER_URL") or DEFAULT_URL)

    @default("hub_token")
    def _default_hub_token(self) -> str:
        return os.environ.get("SKYLAB_HUB_TOKEN", "")

    @default("hub_token_file")
    def _default_hub_token_file(self) -> str:
        return os.environ.get("SKYLAB_HUB_TOKEN_FILE", "")

    @default("start_timeout")
    def _default_start_timeout(self) -> int:
        # The controller fails a creation after 600 s with the reason; the Hub must wait longer to get it.
        return 630

    @default("env_keep")
    def _default_env_keep(self) -> list[str]:
        # PATH and the like are those of the Hub's container, not of the lab's.
        return []

    @default("apply_user_options")
    def _default_apply_user_options(self) -> Any:
        # Without one, JupyterHub 5.3 and later warn at each spawn that no code handles the options.
        return _leave_to_controller

    @validate("controller_url")
    def _check_controller_url(self, proposal: dict[str, Any]) -> str:
        return _usable_url(proposal["value"])

    @validate("connect_timeout", "request_timeout", "event_timeout", "outage_seconds", "retry_delay")
    def _check_seconds(self, proposal: dict[str, Any]) -> float:
        seconds: float = proposal["value"]
        if not 0 < seconds < float("inf"):
            raise TraitError(f"{proposal['trait'].name} must be a positive number of seconds")
        return seconds

    def _warn_of_exposure(self) -> None:
        """Warns once if others can read or take tokens on their way to the controller."""
        parts = urlsplit(self.controller_url)
        host = parts.hostname or ""
        if parts.scheme == "http" and not _is_loopback(host):
            self._warn_once(
                "controller_url", "controller_url is http:// to %s: tokens are sent unencrypted, use https://", host
            )
        elif parts.scheme == "https" and not self.verify_tls:
            self._warn_once(
                "verify_tls", "verify_tls is False: any server that answers for %s gets the tokens, use ca_file", host
            )

    def _warn_once(self, name: str, words: str, *args: str) -> None:
        if name not in _warned:
            _warned.add(name)
            self.log.warning(words, *args)

    @observe(*IGNORED)
    def _warn_of_ignored(self, change: dict[str, Any]) -> None:
        name = change["name"]
        if change["new"] != change["old"]:
            self._warn_once(name, "Spawner.%s has no effect: the lab controller settles it", name)
