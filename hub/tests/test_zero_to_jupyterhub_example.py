"""The Helm values' hook that renews tokens. With a real Hub: test/integration/zero-to-jupyterhub.test.ts."""

import asyncio
import logging
import sys
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import yaml  # type: ignore[import-untyped]
from tornado.httpclient import HTTPClientError
from tornado.web import HTTPError
from traitlets.config import Config

EXAMPLE = Path(__file__).parents[1] / "examples" / "zero-to-jupyterhub" / "values.yaml"

pytestmark = pytest.mark.skipif(not EXAMPLE.exists(), reason="only the repository has the example")

NOW = int(time.time())
YOUNG = {"iat": NOW, "exp": NOW + 600}
HALF = {"iat": NOW - 400, "exp": NOW + 300}
OVER = {"iat": NOW - 600, "exp": NOW - 1}


@pytest.fixture
def renew_token(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The hook as the chart runs it. Tokens are their own claims here."""
    monkeypatch.setitem(sys.modules, "jwt", SimpleNamespace(decode=lambda token, options: dict(token)))
    monkeypatch.setenv("POD_NAMESPACE", "jupyterhub")
    code = yaml.safe_load(EXAMPLE.read_text(encoding="utf-8"))["hub"]["extraConfig"]["50-skylab"]
    config = Config()
    given = {"c": config, "get_name": lambda name: name, "get_name_env": lambda name, suffix: "8081"}
    exec(compile(code, EXAMPLE, "exec"), given)  # noqa: S102
    return config.GenericOAuthenticator.refresh_user_hook


class Person:
    """A user of the Hub. Reading and writing `auth_state` pauses, as with encryption."""

    name = "ada"

    def __init__(self, token: Any, *, active: bool = False, refresh: str | None = "refresh-1") -> None:
        self.active = active
        self.auth_state: Any = {"access_token": token, "refresh_token": refresh, "oauth_user": {"sub": "ada"}}

    async def get_auth_state(self) -> Any:
        found = self.auth_state
        await asyncio.sleep(0)
        return found

    async def save_auth_state(self, auth_state: Any) -> None:
        await asyncio.sleep(0)
        self.auth_state = auth_state


class Provider:
    """An OAuthenticator with a provider that takes each refresh token once, or fails by `error`."""

    log = logging.getLogger("authenticator")
    user_auth_state_key = "oauth_user"

    def __init__(self, error: Exception | None = None, *, rotates: bool = True) -> None:
        self.error = error
        self.rotates = rotates
        self.asked: list[str] = []

    def build_refresh_token_request_params(self, refresh_token: str) -> dict[str, str]:
        return {"refresh_token": refresh_token}

    async def get_token_info(self, _: Any, params: dict[str, str]) -> dict[str, Any]:
        self.asked.append(params["refresh_token"])
        await asyncio.sleep(0)
        if self.error is not None:
            raise self.error
        return {"access_token": YOUNG} | ({"refresh_token": f"refresh-{len(self.asked) + 1}"} if self.rotates else {})

    def build_auth_state_dict(self, tokens: dict[str, Any], claims: Any) -> dict[str, Any]:
        return tokens | {self.user_auth_state_key: claims}


async def renewed(hook: Any, provider: Provider, user: Person) -> Any:
    return await hook(provider, user, user.auth_state)


async def test_hook_keeps_a_young_token(renew_token: Any) -> None:
    provider = Provider()
    assert await renewed(renew_token, provider, Person(YOUNG)) is True
    assert provider.asked == []


@pytest.mark.parametrize("token", [HALF, OVER, {"exp": NOW + 600}])
@pytest.mark.parametrize(("rotates", "kept"), [(True, "refresh-2"), (False, "refresh-1")])
async def test_hook_renews_an_older_token(renew_token: Any, token: Any, rotates: bool, kept: str) -> None:
    user = Person(token)
    assert await renewed(renew_token, Provider(rotates=rotates), user) is True
    assert user.auth_state == {"access_token": YOUNG, "refresh_token": kept, "oauth_user": {"sub": "ada"}}


@pytest.mark.parametrize(
    ("token", "active", "answer"), [(HALF, False, True), (HALF, True, True), (OVER, True, True), (OVER, False, False)]
)
@pytest.mark.parametrize("refresh", ["refresh-1", None])
async def test_hook_asks_for_a_login_when_refused_expired_and_without_lab(
    renew_token: Any, token: Any, active: bool, answer: bool, refresh: str | None
) -> None:
    user = Person(token, active=active, refresh=refresh)
    for code in (400, 401):
        assert await renewed(renew_token, Provider(HTTPClientError(code)), user) is answer


@pytest.mark.parametrize("active", [True, False])
async def test_hook_asks_for_a_login_without_token_unless_a_lab_runs(renew_token: Any, active: bool) -> None:
    user = Person(None, active=active)
    user.auth_state = None
    assert await renewed(renew_token, Provider(), user) is active


@pytest.mark.parametrize(
    "error",
    [
        ConnectionRefusedError(),
        HTTPClientError(599),
        HTTPClientError(503),
        HTTPError(500, "Bad response: {'id_token': 'a secret'}"),
        ValueError("a secret is not JSON"),
    ],
)
async def test_hook_logs_no_user_out_when_the_provider_is_away(
    renew_token: Any, error: Exception, caplog: pytest.LogCaptureFixture
) -> None:
    assert await renewed(renew_token, Provider(error), Person(OVER)) is True
    assert caplog.messages == [f"The token of ada was not renewed: {type(error).__name__}"]


@pytest.mark.parametrize("token", ["opaque", {"iat": NOW}, {}])
async def test_hook_keeps_a_token_without_times(renew_token: Any, token: Any) -> None:
    assert await renewed(renew_token, Provider(), Person(token)) is True


async def test_hook_uses_a_refresh_token_once_for_requests_at_once(renew_token: Any) -> None:
    """The third request has read the Hub's database before the others have written it."""
    provider, user = Provider(), Person(HALF)
    before = user.auth_state
    assert await asyncio.gather(*(renewed(renew_token, provider, user) for _ in range(2))) == [True, True]
    assert await renew_token(provider, user, before) is True
    assert provider.asked == ["refresh-1"]


async def test_hook_renews_each_user_separately(renew_token: Any) -> None:
    provider, grace = Provider(), Person(HALF)
    grace.name = "grace"
    await asyncio.gather(renewed(renew_token, provider, Person(HALF)), renewed(renew_token, provider, grace))
    assert len(provider.asked) == 2
    assert grace.auth_state["access_token"] == YOUNG
