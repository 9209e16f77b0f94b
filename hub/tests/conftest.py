"""Fixtures: a scripted controller, spawners as a Hub would make them, and the package as a wheel."""

import asyncio
import logging
import subprocess
import sys
import zipfile
from collections.abc import AsyncIterator, Callable
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from fake_controller import HUB_TOKEN, FakeController, token_of
from jupyterhub import orm

from jupyterhub_skylab import RESTSpawner, settings
from jupyterhub_skylab.connections import close_connections

PROJECT = Path(__file__).parent.parent

#: Seconds, short so that nothing waits for long; a test sets the limits that it is about.
FAST = {"retry_delay": 0.01, "outage_seconds": 5.0, "connect_timeout": 2.0, "request_timeout": 5.0}

MakeSpawner = Callable[..., RESTSpawner]


class Person:
    """A user as a spawner sees it."""

    def __init__(self, name: str, auth_state: Any) -> None:
        self.name = name
        self.auth_state = auth_state
        self.url = f"/user/{name}/"
        self.escaped_name = name

    async def get_auth_state(self) -> Any:
        return self.auth_state


@pytest.fixture
async def controller() -> AsyncIterator[FakeController]:
    fake = FakeController()
    await fake.start()
    yield fake
    await close_connections()
    await fake.stop()


@pytest.fixture(autouse=True)
def forget_warnings(monkeypatch: pytest.MonkeyPatch) -> None:
    """Makes warnings that appear once per process appear once per test."""
    monkeypatch.setattr(settings, "_warned", set())
    monkeypatch.setattr(RESTSpawner, "_poll_problem", "")
    for name in ("URL", "TOKEN", "TOKEN_FILE"):
        monkeypatch.delenv(f"SKYLAB_HUB_{name}", raising=False)


def new_spawner(
    url: str, name: str = "ada", *, auth_state: Any = ..., server_name: str = "", **options: Any
) -> RESTSpawner:
    """A spawner of a user, as the Hub would make it."""
    hub = SimpleNamespace(public_host="", api_url="http://127.0.0.1:1/hub/api", base_url="/hub/")
    user = Person(name, {"token": token_of(name)} if auth_state is ... else auth_state)
    orm_spawner = SimpleNamespace(name=server_name, server=None)
    given = FAST | {"controller_url": url, "hub_token": HUB_TOKEN} | options
    spawner = RESTSpawner(user=user, hub=hub, orm_spawner=orm_spawner, **given)
    spawner.log = logging.getLogger("spawner")
    remember(spawner, "", 1)
    spawner.user_options = {"image_type": "recommended", "size": ["small"]}
    spawner.api_token = "token-of-the-lab"
    return spawner


def remember(spawner: RESTSpawner, ip: str, port: int) -> None:
    """Saves the lab's address in the Hub's database."""
    base_url = f"/user/{spawner.user.name}/"
    spawner.orm_spawner.server = orm.Server(proto="http", ip=ip, port=port, base_url=base_url, cookie_name="")


@pytest.fixture
def make_spawner(controller: FakeController) -> MakeSpawner:
    return partial(new_spawner, controller.url)


@pytest.fixture
def spawner(make_spawner: MakeSpawner) -> RESTSpawner:
    return make_spawner()


async def messages(spawner: RESTSpawner) -> list[tuple[int, str]]:
    """The events that a page would show, to the end."""

    async def read() -> list[tuple[int, str]]:
        return [(event["progress"], event["message"]) async for event in spawner.progress()]

    return await asyncio.wait_for(read(), 10)


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The package, built as for PyPI."""
    folder = tmp_path_factory.mktemp("wheel")
    build = ["-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation", "--wheel-dir", str(folder)]
    subprocess.run([sys.executable, *build, str(PROJECT)], check=True, timeout=120)  # noqa: S603
    return next(folder.glob("*.whl"))


@pytest.fixture(scope="session")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the wheel's content, like `site-packages`."""
    folder = tmp_path_factory.mktemp("installed")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder)
    return folder
