"""Options, their defaults, and the connections that they configure."""

import asyncio
import ssl
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import trustme
from conftest import MakeSpawner, new_spawner
from fake_controller import FakeController
from jupyterhub.spawner import Spawner
from traitlets import TraitError
from traitlets.config import Config

from jupyterhub_skylab import RESTSpawner, connections, settings
from jupyterhub_skylab.connections import close_connections
from jupyterhub_skylab.settings import IGNORED, SpawnerSettings


def test_defaults(monkeypatch: pytest.MonkeyPatch) -> None:
    spawner = RESTSpawner()
    assert spawner.controller_url == settings.DEFAULT_URL
    assert (spawner.hub_token, spawner.hub_token_file, spawner.user_token_key) == ("", "", "token")
    assert spawner.verify_tls
    # Longer than the 600 s after which the controller gives up, to hear its reason.
    assert spawner.start_timeout == 630
    assert spawner.env_keep == []
    # Long enough to lose two of the controller's heartbeats, and for two outages of a minute.
    assert spawner.event_timeout >= 3 * 15
    assert spawner.outage_seconds >= 2 * 60


def test_environment_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SKYLAB_CONTROLLER_URL", "https://lab.example.org/api/")
    monkeypatch.setenv("SKYLAB_HUB_TOKEN", "secret")
    monkeypatch.setenv("SKYLAB_HUB_TOKEN_FILE", "/run/token")
    spawner = RESTSpawner()
    assert (spawner.hub_token, spawner.hub_token_file) == ("secret", "/run/token")
    assert spawner.controller_url == "https://lab.example.org/api"


@pytest.mark.parametrize("url", ["https://u:secret@lab.example.org/api", "lab.example.org"])
def test_url_from_the_environment_is_checked_too(monkeypatch: pytest.MonkeyPatch, url: str) -> None:
    monkeypatch.setenv("SKYLAB_CONTROLLER_URL", url)
    with pytest.raises(TraitError, match="controller_url") as raised:
        _ = RESTSpawner().controller_url
    assert "secret" not in str(raised.value)


def test_configuration_belongs_to_the_class() -> None:
    config = Config()
    config.RESTSpawner.controller_url = "https://lab.example.org/api/"
    config.Spawner.start_timeout = 700
    spawner = RESTSpawner(config=config)
    assert (spawner.controller_url, spawner.start_timeout) == ("https://lab.example.org/api", 700)


async def test_options_cause_no_warning(caplog: pytest.LogCaptureFixture) -> None:
    spawner = new_spawner("http://127.0.0.1:1")
    await spawner._run_apply_user_options({"image_type": "recommended", "size": ["small"]})
    assert caplog.text == ""
    assert spawner.user_options == {"image_type": "recommended", "size": ["small"]}


@pytest.mark.parametrize(
    "url", ["", "lab.example.org", "ftp://x", "http://", "http://u:p@x", "http://u@x", "http://x?a=b", "http://x#f"]
)
def test_invalid_url_is_refused(url: str) -> None:
    with pytest.raises(TraitError, match="controller_url"):
        RESTSpawner(controller_url=url)


@pytest.mark.parametrize("name", ["connect_timeout", "outage_seconds"])
@pytest.mark.parametrize("value", [0, -1, float("nan"), float("inf")])
def test_times_must_be_positive(name: str, value: float) -> None:
    with pytest.raises(TraitError, match=name):
        RESTSpawner(**{name: value})


def test_every_option_has_a_help_text() -> None:
    own = set(RESTSpawner.class_traits(config=True)) - set(Spawner.class_traits(config=True))
    assert own == set(SpawnerSettings.class_own_traits(config=True))
    for name in own:
        assert RESTSpawner.class_traits()[name].help.strip(), name
        if name.endswith(("_timeout", "_seconds", "_delay")):
            assert "econds" in RESTSpawner.class_traits()[name].help, name


def test_option_without_effect_is_warned_of_once(caplog: pytest.LogCaptureFixture) -> None:
    config = Config()
    values: dict[str, Any] = dict.fromkeys(IGNORED, 1)
    config.Spawner = Config(values | {"cmd": ["mine"], "args": ["--x"], "mem_limit": "1G", "mem_guarantee": "1G"})
    for _ in range(2):
        RESTSpawner(config=config)
    messages = [record.getMessage() for record in caplog.records if "no effect" in record.getMessage()]
    assert sorted(messages) == sorted(
        f"Spawner.{name} has no effect: the lab controller settles it" for name in IGNORED
    )


def test_defaults_cause_no_warning(caplog: pytest.LogCaptureFixture) -> None:
    RESTSpawner()
    assert "no effect" not in caplog.text


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"controller_url": "http://skylab.skylab:8080/api"}, ["controller_url is http:// to skylab.skylab"]),
        ({"controller_url": "http://10.0.0.1/api"}, ["controller_url is http:// to 10.0.0.1"]),
        ({"controller_url": "https://skylab.skylab/api", "verify_tls": False}, ["verify_tls is False"]),
        ({"controller_url": "http://127.0.0.1:1"}, []),
        ({"controller_url": "http://localhost:1", "verify_tls": False}, []),
        ({"controller_url": "http://[::1]:1"}, []),
        ({"controller_url": "https://skylab.skylab/api"}, []),
    ],
)
def test_tokens_over_plain_http_are_warned_of_once(
    options: dict[str, Any], words: list[str], caplog: pytest.LogCaptureFixture
) -> None:
    for name in ("ada", "grace"):
        new_spawner("http://127.0.0.1:1", name, **options)._controller()
    messages = [record.getMessage() for record in caplog.records]
    assert len(messages) == len(words)
    assert all(part in line for line, part in zip(messages, words, strict=True))


@pytest.fixture
async def with_tls(tmp_path: Path) -> AsyncIterator[tuple[FakeController, str]]:
    """A controller with a certificate of an untrusted authority, and that authority's file."""
    authority = trustme.CA()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("127.0.0.1").configure_cert(context)
    file = tmp_path / "ca.pem"
    authority.cert_pem.write_to_path(str(file))
    fake = FakeController()
    await fake.start(context)
    yield fake, str(file)
    await close_connections()
    await fake.stop()


async def test_connections_check_certificates(
    with_tls: tuple[FakeController, str], make_spawner: MakeSpawner, tmp_path: Path
) -> None:
    controller, ca_file = with_tls

    async def polled(**options: Any) -> int | None:
        return await make_spawner(controller_url=controller.url, **options).poll()

    assert await polled() is None
    assert not controller.seen
    assert await polled(ca_file=ca_file) == 0
    assert await polled(verify_tls=False) == 0
    assert await polled(ca_file=str(tmp_path / "missing")) is None
    (tmp_path / "bad").write_text("no certificate")
    assert await polled(ca_file=str(tmp_path / "bad")) is None


async def test_connections_are_shared_by_all_users(controller: FakeController, make_spawner: MakeSpawner) -> None:
    await asyncio.gather(*(make_spawner(f"user-{number}").start() for number in range(20)))
    pools = connections._open[asyncio.get_running_loop()]
    assert len(pools) == 1


async def test_connections_keep_no_cookies(controller: FakeController, make_spawner: MakeSpawner) -> None:
    """An ingress sets one for a session; another user's request must not carry it."""
    from aiohttp import web

    async def sets_a_cookie(_: web.Request, handle: Any) -> web.StreamResponse:
        response: web.StreamResponse = await handle()
        response.set_cookie("session", "of-ada")
        return response

    controller.script("form", sets_a_cookie)
    # By name: addresses never keep cookies.
    url = controller.url.replace("127.0.0.1", "localhost")
    await make_spawner("ada", controller_url=url).get_options_form()
    await make_spawner("grace", controller_url=url).get_options_form()
    assert "Cookie" not in controller.of("form")[1].headers


def test_connections_cause_no_warning_when_their_loop_has_ended() -> None:
    """As at the end of a Hub, which closes no connections."""

    async def use() -> None:
        fake = FakeController()
        await fake.start()
        assert await new_spawner(fake.url).poll() == 0
        await fake.stop()

    asyncio.run(use())
    those = [each for pools in connections._open.values() for each in pools.values()]
    connections._leave()
    assert those
    assert all(each.requests.closed and each.streams.closed for each in those)
    connections._open.clear()
