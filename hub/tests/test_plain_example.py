"""The example for a plain Hub: a login proves to be the controller's user of that name."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from fake_controller import HUB_TOKEN, FakeController, Handler, answer, cut, page, token_of
from jupyterhub.auth import Authenticator
from tornado.web import HTTPError
from traitlets.config import Config

EXAMPLE = Path(__file__).parents[1] / "examples" / "plain" / "jupyterhub_config.py"

pytestmark = pytest.mark.skipif(not EXAMPLE.exists(), reason="only the repository has the example")

FORM = '<div class="skylab-form">for anyone</div>'


@pytest.fixture
def authenticator(controller: FakeController, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Authenticator:
    """The authenticator as a Hub makes it from the example."""
    given = {
        "HUB_URL": "http://127.0.0.1:8000",
        "HUB_API_URL": "http://127.0.0.1:8081",
        "HUB_PROXY_API_URL": "http://127.0.0.1:8001",
        "HUB_FOLDER": str(tmp_path),
        "SKYLAB_CONTROLLER_URL": controller.url,
        "SKYLAB_HUB_TOKEN_FILE": str(tmp_path / "token"),
    }
    for name, value in given.items():
        monkeypatch.setenv(name, value)
    config = Config()
    exec(compile(EXAMPLE.read_text(encoding="utf-8"), EXAMPLE, "exec"), {"get_config": lambda: config})  # noqa: S102
    return config.JupyterHub.authenticator_class(config=config)


async def login(authenticator: Authenticator, name: str = "ada", token: str | None = None) -> Any:
    """The Hub's model of the user who logged in; None when refused."""
    data = {"username": name, "password": token_of(name) if token is None else token}
    return await authenticator.get_authenticated_user(None, data)


async def test_login_accepts_the_right_token(controller: FakeController, authenticator: Authenticator) -> None:
    user = await login(authenticator)
    assert (user["name"], user["auth_state"]) == ("ada", {"token": token_of("ada")})
    assert [(each.route, each.username) for each in controller.seen] == [("form", "ada")]


@pytest.mark.parametrize("token", ["wrong", HUB_TOKEN, token_of("grace")])
async def test_login_refuses_another_token(authenticator: Authenticator, token: str) -> None:
    assert await login(authenticator, token=token) is None


@pytest.mark.parametrize(("name", "token"), [("Ada", None), ("ada", ""), ("ada", "two words"), ("ada", "a\r\nb: c")])
async def test_login_refuses_an_impossible_name_without_a_request(
    controller: FakeController, authenticator: Authenticator, name: str, token: str | None
) -> None:
    """The Hub would turn `Ada` into another name, which nobody has proven."""
    assert await login(authenticator, name, token) is None
    assert controller.seen == []


async def test_login_refuses_a_mapped_name(authenticator: Authenticator) -> None:
    authenticator.username_map = {"ada": "grace"}
    assert await login(authenticator) is None


@pytest.mark.parametrize("status", [400, 401, 403])
async def test_login_refuses_what_the_controller_refuses(
    controller: FakeController, authenticator: Authenticator, status: int
) -> None:
    controller.script("form", answer(status))
    assert await login(authenticator) is None


@pytest.mark.parametrize(
    "step",
    [
        page(200, "<h1>Log in first</h1>"),
        page(200, f"<p>You asked for</p>{FORM}"),
        page(200, "", "application/json"),
        page(404),
        answer(500),
        answer(503, retry_after=1),
        cut,
    ],
)
async def test_login_refuses_an_answer_that_is_no_form(
    controller: FakeController, authenticator: Authenticator, step: Any
) -> None:
    controller.always["form"] = step
    with pytest.raises(HTTPError) as raised:
        await login(authenticator)
    assert raised.value.status_code == 503
    assert "the lab controller does not answer" in str(raised.value.log_message)


@pytest.fixture
async def elsewhere() -> AsyncIterator[FakeController]:
    """A server that answers everyone with a form."""
    other = FakeController()
    other.always["form"] = page(200, FORM)
    await other.start()
    yield other
    await other.stop()


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
async def test_login_follows_no_redirect(
    controller: FakeController, elsewhere: FakeController, authenticator: Authenticator, status: int
) -> None:
    """The token must not go there either."""

    async def redirect(_: web.Request, __: Handler) -> web.StreamResponse:
        return web.Response(status=status, headers={"Location": f"{elsewhere.url}/lab-form/ada"})

    controller.script("form", redirect)
    with pytest.raises(HTTPError) as raised:
        await login(authenticator)
    assert (raised.value.status_code, elsewhere.seen) == (503, [])


async def test_login_names_an_outage_of_the_controller(
    controller: FakeController, authenticator: Authenticator
) -> None:
    await controller.stop()
    with pytest.raises(HTTPError) as raised:
        await login(authenticator)
    assert raised.value.status_code == 503
    assert "the lab controller does not answer" in str(raised.value.log_message)
