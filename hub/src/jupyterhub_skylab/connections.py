"""Connections to controllers: one pool for all spawners of a Hub, not one for each user."""

import asyncio
import atexit
import logging
import ssl
from dataclasses import dataclass, field
from weakref import WeakKeyDictionary

from aiohttp import ClientSession, DummyCookieJar, TCPConnector

from .errors import Unreachable

log = logging.getLogger("jupyterhub_skylab")

#: Requests at once; a Hub that starts asks after all its labs. Event streams are as many as there are operations.
MOST_REQUESTS = 100


@dataclass(frozen=True)
class Trust:
    """Whose certificates are believed."""

    ca_file: str
    verify: bool


@dataclass
class Connections:
    """The connections of one event loop to controllers that are trusted alike."""

    requests: ClientSession
    streams: ClientSession
    #: Addresses that last gave no useful answer: each is told in the log once, not at every poll.
    away: set[str] = field(default_factory=set)

    async def close(self) -> None:
        """Closes them all."""
        await self.requests.close()
        await self.streams.close()

    def answered(self, url: str) -> None:
        """Notes that a controller answers, and says so if it did not."""
        if url in self.away:
            self.away.discard(url)
            log.info("the lab controller at %s answers again", url)

    def failed(self, url: str, cause: object) -> None:
        """Notes that a controller gave no useful answer, and says so if that is new."""
        if url not in self.away:
            self.away.add(url)
            log.warning("the lab controller at %s cannot be used: %s", url, cause)


_open: WeakKeyDictionary[asyncio.AbstractEventLoop, dict[Trust, Connections]] = WeakKeyDictionary()


def connections(trust: Trust) -> Connections:
    """Those of the running loop, opened at first use. Raises `Unreachable` when the CA file cannot be used."""
    those = _open.setdefault(asyncio.get_running_loop(), {})
    if trust not in those:
        tls = _tls(trust)
        those[trust] = Connections(_session(tls, MOST_REQUESTS), _session(tls, 0))
    return those[trust]


async def close_connections() -> None:
    """Closes those of the running loop. A Hub needs not do it."""
    for each in _open.pop(asyncio.get_running_loop(), {}).values():
        await each.close()


def _session(tls: ssl.SSLContext | bool, limit: int) -> ClientSession:
    return ClientSession(
        connector=TCPConnector(limit=limit, ssl=tls),
        # Users share connections; a cookie of one that an ingress sets must not be sent for another.
        cookie_jar=DummyCookieJar(),
        headers={"User-Agent": "jupyterhub-skylab"},
    )


def _tls(trust: Trust) -> ssl.SSLContext | bool:
    if not trust.verify:
        return False
    if not trust.ca_file:
        return True
    try:
        return ssl.create_default_context(cafile=trust.ca_file)
    except (OSError, ssl.SSLError) as error:
        raise Unreachable(f"ca_file {trust.ca_file} cannot be used: {error}") from error


@atexit.register
def _leave() -> None:
    """A Hub ends by stopping its loop: nobody has closed what is open, and Python would complain of each."""
    for loop, those in list(_open.items()):
        for each in those.values():
            if loop.is_closed():
                asyncio.run(each.close())
