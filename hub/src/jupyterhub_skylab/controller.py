"""The part of the controller's REST API (SQR-066, "Lab controller REST API") that a Hub needs."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from urllib.parse import quote

from aiohttp import ClientError, ClientResponse, ClientTimeout
from yarl import URL

from .answers import Answer, Lab, is_no_lab, lab_of, problem_of
from .connections import Connections, Trust, connections
from .errors import StreamOver, TooManyStreams, Unreachable, describe
from .events import Event, read_events

#: Bytes of an answer at most. A form of hundreds of images has a tenth of it.
MOST_BYTES = 1_048_576


@dataclass(frozen=True)
class Controller:
    """The controller that the spawner's options name. Every method raises `Unreachable` and `Refused`."""

    url: str
    trust: Trust
    #: All three in seconds; the options of the same names explain them.
    connect_timeout: float
    request_timeout: float
    event_timeout: float

    async def form(self, username: str, token: str) -> str:
        """The user's form, a fragment of HTML."""
        with self._pool() as pool:
            answer = await self._ask(pool, "GET", token, self._at("lab-form", username))
            if answer.status != 200 or _media_type(answer.headers.get("Content-Type", "")) != "text/html":
                raise problem_of(answer)
            return answer.body.decode("utf-8", "replace")

    async def create(self, username: str, token: str, body: bytes, key: str) -> bool:
        """Creates the user's lab. False: there is one already. A repeat with the same `key` is safe."""
        headers = {"Content-Type": "application/json", "Idempotency-Key": key}
        with self._pool() as pool:
            answer = await self._ask(pool, "POST", token, self._at("labs", username, "create"), headers, body)
            # Does not follow the 303: it leads to a route that the user's token does not open.
            if answer.status not in (303, 409):
                raise problem_of(answer)
            return answer.status == 303

    async def delete(self, username: str, token: str) -> bool:
        """Deletes the lab, with the Hub's token. False: there is no lab."""
        with self._pool() as pool:
            answer = await self._ask(pool, "DELETE", token, self._at("labs", username))
            if answer.status != 202 and not is_no_lab(answer):
                raise problem_of(answer)
            return answer.status == 202

    async def lab(self, username: str, token: str) -> Lab | None:
        """The user's lab, read with the Hub's token; None: there is no lab."""
        with self._pool() as pool:
            return lab_of(await self._ask(pool, "GET", token, self._at("labs", username)))

    @asynccontextmanager
    async def events(
        self, username: str, token: str, last_event_id: str | None
    ) -> AsyncIterator[AsyncGenerator[Event | None, None]]:
        """Opens the user's event stream after `last_event_id`. Raises `StreamOver`, `TooManyStreams`."""
        headers = _headers(token) | {"Accept": "text/event-stream", "Accept-Encoding": "identity"}
        if last_event_id is not None:
            headers["Last-Event-ID"] = last_event_id
        # No total: a stream lasts as long as the operation does.
        timeout = ClientTimeout(
            total=None, connect=self.connect_timeout, sock_connect=self.connect_timeout, sock_read=self.event_timeout
        )
        url = self._at("labs", username, "events")
        with self._pool() as pool:
            async with pool.streams.get(url, headers=headers, timeout=timeout, allow_redirects=False) as response:
                if response.status == 200 and _media_type(response.headers.get("Content-Type", "")) == EVENTS:
                    pool.answered(self.url)
                    yield read_events(response.content)
                    return
                answer = await _read(response)
                if answer.status == 204 or is_no_lab(answer):
                    raise StreamOver
                if answer.status == 429:
                    raise TooManyStreams
                raise problem_of(answer)

    def _at(self, *path: str) -> URL:
        """An address below the controller's, with special characters of user names quoted."""
        return URL("/".join((self.url, *(quote(step, safe="") for step in path))), encoded=True)

    async def _ask(
        self,
        pool: Connections,
        method: str,
        token: str,
        url: URL,
        headers: dict[str, str] | None = None,
        body: bytes | None = None,
    ) -> Answer:
        async with pool.requests.request(
            method,
            url,
            headers=_headers(token) | (headers or {}),
            data=body,
            timeout=ClientTimeout(total=self.request_timeout, sock_connect=self.connect_timeout),
            allow_redirects=False,
        ) as response:
            return await _read(response)

    @contextmanager
    def _pool(self) -> Iterator[Connections]:
        """The connections for a request. Turns their errors into `Unreachable`, and logs one line for each outage."""
        pool = connections(self.trust)
        try:
            yield pool
        except (ClientError, asyncio.TimeoutError, OSError) as error:
            # No traceback: the cause is in the network, and the frames hold tokens.
            away = Unreachable(describe(error))
            pool.failed(self.url, away)
            raise away from None
        except Unreachable as error:
            pool.failed(self.url, error)
            raise
        pool.answered(self.url)


EVENTS = "text/event-stream"


def _headers(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


def _media_type(content_type: str) -> str:
    return content_type.partition(";")[0].strip().lower()


async def _read(response: ClientResponse) -> Answer:
    body = b""
    async for chunk in response.content.iter_any():
        body += chunk
        if len(body) > MOST_BYTES:
            raise Unreachable("it sent an answer without end")
    return Answer(response.status, response.headers, body)
