"""Connections to controllers: one pool for all spawners of a Hub."""

import asyncio
import atexit
import logging
import ssl
from dataclasses import dataclass, field
from weakref import WeakKeyDictionary

from aiohttp import ClientSession, DummyCookieJar, TCPConnector

from .errors import Unreachable

log = logging.getLogger("jupyterhub_skylab")

#: Requests at once; a starting Hub polls all its labs. Event streams are not limited: one for each operation.
MOST_REQUESTS = 100


@dataclass(frozen=True)
class Trust:
    """The trusted certificate authorities."""

    ca_file: str
    verify: bool


@dataclass
class Connections:
    """The connections of one event loop to controllers with the same `Trust`."""

    requests: ClientSession
    streams: ClientSession
    #: Addresses whose last answer was not useful: the log has each once, not at every poll.
    away: set[str] = field(default_factory=set)

    async def close(self) -> None:
        """Closes all of them."""
        await self.requests.close()
        await self.streams.close()

    def answered(self, url: str) -> None:
        """Notes that a controller answers, and logs it after an outage."""
        if url in self.away:
            self.away.discard(url)
            log.info("the lab controller at %s answers again", url)

    def failed(self, url: str, cause: object) -> None:
        """Notes that a controller gave no useful answer, and logs the first one of an outage."""
        if url not in self.away:
            self.away.add(url)
            log.warning("the lab controller at %s cannot be used: %s", url, cause)


_open: WeakKeyDictionary[asyncio.AbstractEventLoop, dict[Trust, Connections]] = WeakKeyDictionary()


def connections(trust: Trust) -> Connections:
    """The connections of the running loop, opened at first use. Raises `Unreachable` if the CA file cannot be used."""
    those = _open.setdefault(asyncio.get_running_loop(), {})
    if trust not in those:
        tls = _tls(trust)
        those[trust] = Connections(_session(tls, MOST_REQUESTS), _session(tls, 0))
    return those[trust]


async def close_connections() -> None:
    """Closes the connections of the running loop. A Hub need not call it."""
    for each in _open.pop(asyncio.get_running_loop(), {}).values():
        await each.close()


def _session(tls: ssl.SSLContext | bool, limit: int) -> ClientSession:
    return ClientSession(
        connector=TCPConnector(limit=limit, ssl=tls),
        # Users share connections: a cookie that an ingress sets for one user must not be sent for another.
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
    """Closes what a Hub leaves open when it stops its loop; Python would warn of each connection."""
    for loop, those in list(_open.items()):
        for each in those.values():
            if loop.is_closed():
                asyncio.run(each.close())
