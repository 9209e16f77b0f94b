"""A real Hub as a process of its own, with the wheel's content on its path, and its users."""

import asyncio
import json
import os
import re
import secrets
import socket
import sys
from pathlib import Path
from typing import Any

import aiohttp
from fake_controller import HUB_TOKEN, FakeController, token_of

CONFIG = Path(__file__).parent / "hub_config.py"
LIMIT = 30


def free_port() -> int:
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        port: int = bound.getsockname()[1]
        return port


class RealHub:
    """A Hub that can be killed and started again on the same database."""

    def __init__(self, folder: Path, installed: Path, controller: FakeController) -> None:
        self.url = f"http://127.0.0.1:{free_port()}"
        self.service_token = secrets.token_hex(16)
        self.log: list[str] = []
        self._changed = asyncio.Event()
        token_file = folder / "token"
        token_file.write_text(HUB_TOKEN)
        given = {
            "url": self.url,
            "folder": str(folder),
            "service_token": self.service_token,
            "key": secrets.token_hex(32),
            "controller_url": controller.url,
            "hub_token_file": str(token_file),
        }
        self._environment = {
            "PATH": os.environ.get("PATH", ""),
            "PYTHONPATH": str(installed),
            "HUB_TEST": json.dumps(given),
        }
        self._folder = folder
        self._process: asyncio.subprocess.Process | None = None
        self._reader: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Starts it, and waits until it answers."""
        self._process = await asyncio.create_subprocess_exec(
            *[sys.executable, "-m", "jupyterhub", "-f", str(CONFIG)],
            cwd=self._folder,
            env=self._environment,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
        )
        at = len(self.log)
        self._reader = asyncio.create_task(self._read(self._process))
        await self.logged("JupyterHub is now running", at)

    async def end(self, *, kill: bool) -> None:
        """Ends it by SIGKILL or SIGTERM."""
        if self._process is None or self._reader is None:
            return
        (self._process.kill if kill else self._process.terminate)()
        await asyncio.wait_for(self._process.wait(), LIMIT)
        await self._reader
        self._process = None

    async def logged(self, words: str, at: int = 0) -> None:
        """Waits until the log has this text, from line `at` on."""

        async def wait() -> None:
            while not any(words in line for line in self.log[at:]):
                assert self._reader is None or not self._reader.done(), "\n".join(self.log[-40:])
                await self._changed.wait()

        try:
            await asyncio.wait_for(wait(), LIMIT)
        except asyncio.TimeoutError:
            raise AssertionError(f"no {words!r} in\n" + "\n".join(self.log[-40:])) from None

    async def _read(self, process: asyncio.subprocess.Process) -> None:
        assert process.stdout is not None
        async for line in process.stdout:
            self.log.append(line.decode().rstrip())
            self._tell()
        self._tell()

    def _tell(self) -> None:
        changed, self._changed = self._changed, asyncio.Event()
        changed.set()


class Visitor:
    """A user with a browser, and their bot."""

    def __init__(self, hub: RealHub, name: str) -> None:
        self.name = name
        self._hub = hub
        self._browser = aiohttp.ClientSession(cookie_jar=aiohttp.CookieJar(unsafe=True))
        self._bot = aiohttp.ClientSession(headers={"Authorization": f"token {hub.service_token}"})

    async def __aenter__(self) -> "Visitor":
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._browser.close()
        await self._bot.close()

    async def login(self, token: str | None = None) -> None:
        data = {"username": self.name, "password": token_of(self.name) if token is None else token}
        status, _ = await self.post("/hub/login", data, follow=False)
        assert status == 302

    async def get(self, path: str) -> tuple[int, str]:
        async with self._browser.get(self._hub.url + path) as response:
            return response.status, await response.text()

    async def post(self, path: str, data: dict[str, str], *, follow: bool = True) -> tuple[int, str]:
        """Sends a form as its page would."""
        _, page = await self.get(path)
        found = re.search(r'name="_xsrf"\s+value="([^"]+)"', page) or re.search(r"_xsrf=([^\"&]+)", page)
        assert found, page
        url = f"{self._hub.url}{path}"
        form = data | {"_xsrf": found[1]}
        async with self._browser.post(url, data=form, allow_redirects=follow) as response:
            return response.status, await response.text()

    async def api(self, method: str, path: str = "", body: Any = None) -> tuple[int, str]:
        """Sends a request about this user to the Hub's API."""
        url = f"{self._hub.url}/hub/api/users/{self.name}{path}"
        async with self._bot.request(method, url, json=body) as response:
            return response.status, await response.text()

    async def server(self) -> dict[str, Any]:
        """The user's server in the Hub's API; empty without one."""
        _, body = await self.api("GET")
        found: dict[str, Any] = json.loads(body)["servers"].get("", {})
        return found

    async def watching(self) -> "asyncio.Task[list[dict[str, Any]]]":
        """Opens the progress of the current spawn, and follows it to its end."""
        begun = asyncio.Event()
        task = asyncio.create_task(self.progress(begun))
        await asyncio.wait([task, asyncio.ensure_future(begun.wait())], return_when=asyncio.FIRST_COMPLETED)
        return task

    async def progress(self, begun: asyncio.Event | None = None) -> list[dict[str, Any]]:
        """All events of the current spawn, as its page gets them. Sets `begun` at the first one."""
        found = []
        async with self._bot.get(f"{self._hub.url}/hub/api/users/{self.name}/server/progress") as response:
            assert response.status == 200, await response.text()
            async for line in response.content:
                if line.startswith(b"data:"):
                    found.append(json.loads(line.removeprefix(b"data:")))
                    if begun is not None:
                        begun.set()
        return found
