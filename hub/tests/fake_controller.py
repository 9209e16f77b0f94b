"""A lab controller for tests: real HTTP on loopback, labs only as records, failures by script."""

import asyncio
import json
from collections import defaultdict, deque
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote, unquote

from aiohttp import web

PREFIX = "/nublado/spawner/v1"
HUB_TOKEN = "token-of-the-hub"

#: Keys of a request for events whose stream is to break.
LIMIT, THEN = "limit", "then"

Handler = Callable[[], Awaitable[web.StreamResponse]]
#: Replaces or wraps the answer to one request.
Step = Callable[[web.Request, Handler], Awaitable[web.StreamResponse]]


def token_of(username: str) -> str:
    """A token in printable ASCII, as tokens are."""
    return f"token-of-{quote(username)}"


def problem(status: int, type_: str, msg: str, *loc: str, retry_after: int | None = None) -> web.Response:
    detail = {"msg": msg, "type": type_} | ({"loc": list(loc)} if loc else {})
    headers = {} if retry_after is None else {"Retry-After": str(retry_after)}
    return web.json_response({"detail": [detail]}, status=status, headers=headers)


def answer(
    status: int, type_: str = "unavailable", msg: str = "scripted", *loc: str, retry_after: int | None = None
) -> Step:
    """Answers with this status, and does nothing."""

    async def step(_: web.Request, __: Handler) -> web.StreamResponse:
        return problem(status, type_, msg, *loc, retry_after=retry_after)

    return step


def page(status: int, text: str = "<h1>nobody home</h1>", content_type: str = "text/html") -> Step:
    """Answers as an ingress would when the controller is away."""

    async def step(_: web.Request, __: Handler) -> web.StreamResponse:
        return web.Response(status=status, text=text, content_type=content_type)

    return step


async def cut(request: web.Request, _: Handler) -> web.StreamResponse:
    """Breaks the connection before anything is done."""
    assert request.transport is not None
    request.transport.abort()
    return web.Response()


async def lost_reply(request: web.Request, handle: Handler) -> web.StreamResponse:
    """Does everything requested, and breaks the connection before it answers."""
    await handle()
    return await cut(request, handle)


async def hang(_: web.Request, __: Handler) -> web.StreamResponse:
    """Never answers."""
    await asyncio.Event().wait()
    return web.Response()


class Late:
    """Does what was requested only when released, even if the client has gone."""

    def __init__(self) -> None:
        self.go = asyncio.Event()
        self.done = asyncio.Event()

    async def __call__(self, _: web.Request, handle: Handler) -> web.StreamResponse:
        return await asyncio.shield(self._act(handle))

    async def _act(self, handle: Handler) -> web.StreamResponse:
        await self.go.wait()
        try:
            return await handle()
        finally:
            self.done.set()


def events(count: int, then: str) -> Step:
    """Sends that many events of the stream, and then: `cut`, `end`, `hang` (in the middle of one)
    or bytes that are sent before the stream ends."""

    async def step(request: web.Request, handle: Handler) -> web.StreamResponse:
        request[LIMIT], request[THEN] = count, then
        return await handle()

    return step


@dataclass
class Stream:
    """The events of one operation."""

    op: int
    events: list[dict[str, str]] = field(default_factory=list)
    ended: bool = False
    changed: asyncio.Event = field(default_factory=asyncio.Event)

    def emit(self, event: str, data: str) -> None:
        self.events.append({"event": event, "data": data, "id": f"{self.op}-{len(self.events) + 1}"})
        self.ended |= event in ("complete", "failed")
        changed, self.changed = self.changed, asyncio.Event()
        changed.set()


@dataclass
class Lab:
    status: str
    options: Any = None
    env: Any = None


@dataclass
class Seen:
    """One request as received."""

    route: str
    username: str
    token: str
    headers: dict[str, str]
    body: Any


class FakeController:
    """See the module. `auto`: operations complete by themselves."""

    def __init__(self) -> None:
        self.auto = True
        self.labs: dict[str, Lab] = {}
        self.streams: dict[str, list[Stream]] = defaultdict(list)
        self.seen: list[Seen] = []
        self.scripts: dict[str, deque[Step]] = defaultdict(deque)
        self.always: dict[str, Step] = {}
        self.url = ""
        self._answers: dict[tuple[str, str], int] = {}
        self._op = 1000
        self._waiting: list[tuple[Callable[[], bool], asyncio.Event]] = []
        self._runner: web.AppRunner | None = None
        self.port = 0

    async def start(self, ssl: Any = None) -> None:
        app = web.Application()
        app.router.add_route("*", "/user/{tail:.*}", self._lab_server)
        app.router.add_route("*", "/{tail:.*}", self._serve)
        self._runner = web.AppRunner(app, handler_cancellation=True, shutdown_timeout=0.05)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", self.port, ssl_context=ssl)
        await site.start()
        self.port = self._runner.addresses[0][1]
        self.url = f"{'https' if ssl else 'http'}://127.0.0.1:{self.port}{PREFIX}"

    async def stop(self) -> None:
        """Stops listening. `start` comes back at the same port."""
        if self._runner is not None:
            await self._runner.cleanup()
            self._runner = None

    def script(self, route: str, *steps: Step) -> None:
        """Sets what happens to the next requests of this route."""
        self.scripts[route].extend(steps)

    def of(self, route: str) -> list[Seen]:
        return [each for each in self.seen if each.route == route]

    async def until(self, holds: Callable[[], bool]) -> None:
        """Waits until a request has made this condition true."""
        if not holds():
            event = asyncio.Event()
            self._waiting.append((holds, event))
            await asyncio.wait_for(event.wait(), 10)

    def current(self, username: str = "ada") -> Stream:
        return self.streams[username][-1]

    def begin(self, username: str, first: str) -> Stream:
        self._op += 1
        stream = Stream(self._op)
        self.streams[username].append(stream)
        stream.emit("info", first)
        return stream

    def running(self, username: str = "ada") -> None:
        """Adds a lab that has run for long."""
        self.labs[username] = Lab("running")
        self.begin(username, "lab creation initiated").emit("complete", "lab is running")

    def finish(self, username: str = "ada", event: str = "complete", data: str = "done") -> None:
        """Ends the current operation."""
        lab = self.labs.get(username)
        if lab is not None and lab.status == "terminating" and event == "complete":
            del self.labs[username]
        elif lab is not None:
            lab.status = "running" if event == "complete" else "failed"
        self.current(username).emit(event, data)

    async def _serve(self, request: web.Request) -> web.StreamResponse:
        path = request.raw_path.removeprefix(PREFIX).split("/")[1:]
        route, username = self._route(request.method, path)
        token = request.headers.get("Authorization", "").removeprefix("Bearer ")
        raw = await request.read()
        self.seen.append(Seen(route, username, token, dict(request.headers), json.loads(raw) if raw else None))
        try:
            return await self._scripted(request, route, lambda: self._handle(request, route, username, token))
        finally:
            for holds, event in self._waiting:
                if holds():
                    event.set()

    def _route(self, method: str, path: list[str]) -> tuple[str, str]:
        match [method, *path]:
            case ["GET", "lab-form", name]:
                return "form", unquote(name)
            case ["POST", "labs", name, "create"]:
                return "create", unquote(name)
            case ["GET", "labs", name, "events"]:
                return "events", unquote(name)
            case ["GET", "labs", name]:
                return "status", unquote(name)
            case ["DELETE", "labs", name]:
                return "delete", unquote(name)
        return "unknown", ""

    async def _scripted(self, request: web.Request, route: str, handle: Handler) -> web.StreamResponse:
        steps = self.scripts[route]
        step = steps.popleft() if steps else self.always.get(route)
        for holds, event in self._waiting:
            if holds():
                event.set()
        return await (step(request, handle) if step else handle())

    async def _handle(self, request: web.Request, route: str, username: str, token: str) -> web.StreamResponse:
        own = HUB_TOKEN if route in ("status", "delete") else token_of(username)
        if route == "unknown":
            return problem(404, "not_found", "no such route")
        if token != own:
            return problem(401, "unauthorized", "a valid token is required")
        handlers = {
            "form": self._form,
            "create": self._create,
            "events": self._events,
            "status": self._status,
            "delete": self._delete,
        }
        return await handlers[route](request, username)

    async def _form(self, _: web.Request, username: str) -> web.StreamResponse:
        return web.Response(text=f'<div class="skylab-form">for {username}</div>', content_type="text/html")

    async def _create(self, request: web.Request, username: str) -> web.StreamResponse:
        key = (username, request.headers.get("Idempotency-Key", ""))
        status = self._answers.get(key)
        if status is None:
            lab = self.labs.get(username)
            status = 303 if lab is None or lab.status == "failed" else 409
            if status == 303:
                self._answers[key] = status
                body = await request.json()
                self.labs[username] = Lab("pending", body["options"], body["env"])
                stream = self.begin(username, f"lab creation initiated for {username}")
                if self.auto:
                    stream.emit("progress", "40")
                    stream.emit("info", "pulling <image>")
                    self.finish(username, "complete", "lab is running")
        if status == 409:
            return problem(409, "lab_exists", f"A lab for {username} exists")
        return web.Response(status=303, headers={"Location": f"{PREFIX}/labs/{username}"})

    async def _delete(self, _: web.Request, username: str) -> web.StreamResponse:
        lab = self.labs.get(username)
        if lab is None:
            return problem(404, "unknown_user", "this user has no lab")
        if lab.status != "terminating":
            if lab.status == "pending" and not self.current(username).ended:
                self.current(username).emit("failed", "superseded by a deletion")
            lab.status = "terminating"
            stream = self.begin(username, f"lab deletion initiated for {username}")
            if self.auto:
                stream.emit("progress", "90")
                self.finish(username, "complete", "lab is deleted")
        return web.Response(status=202)

    async def _status(self, _: web.Request, username: str) -> web.StreamResponse:
        lab = self.labs.get(username)
        if lab is None:
            return problem(404, "unknown_user", "this user has no lab")
        body: dict[str, Any] = {"username": username, "status": lab.status, "events": self.current(username).events}
        if lab.status == "running":
            prefix = (lab.env or {}).get("JUPYTERHUB_SERVICE_PREFIX", "/")
            body["internal_url"] = f"http://127.0.0.1:{self.port}{prefix}"
        return web.json_response(body)

    async def _events(self, request: web.Request, username: str) -> web.StreamResponse:
        streams = self.streams[username]
        if not streams:
            return problem(404, "unknown_user", "this user has no events")
        stream, at = streams[-1], 0
        last = request.headers.get("Last-Event-ID")
        if last is not None:
            op, seq = (int(part) for part in last.split("-"))
            found = [each for each in streams if each.op == op]
            if not found or (found[0].ended and seq >= len(found[0].events)):
                return web.Response(status=204)
            stream, at = found[0], seq
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await response.prepare(request)
        await response.write(b"retry: 1000\n\n")
        await self._send(request, response, stream, at)
        return response

    async def _send(self, request: web.Request, response: web.StreamResponse, stream: Stream, at: int) -> None:
        limit, then = request.get(LIMIT), request.get(THEN, "")
        sent = 0
        while True:
            while at < len(stream.events):
                if sent == limit:
                    return await self._break(request, response, then)
                event = stream.events[at]
                text = f"id: {event['id']}\nevent: {event['event']}\ndata: {event['data']}\n\n"
                await response.write(text.encode())
                at, sent = at + 1, sent + 1
            if stream.ended:
                return None
            if sent == limit:
                return await self._break(request, response, then)
            await response.write(b":\n\n")
            await stream.changed.wait()

    async def _break(self, request: web.Request, response: web.StreamResponse, then: str) -> None:
        assert request.transport is not None
        if then == "cut":
            request.transport.abort()
        elif then == "hang":
            await response.write(b"id: 1-1\nevent: in")
            await asyncio.Event().wait()
        elif then != "end":
            await response.write(then.encode("latin-1"))

    async def _lab_server(self, _: web.Request) -> web.StreamResponse:
        return web.json_response({}, headers={"X-JupyterHub-Version": "5.0.0"})
