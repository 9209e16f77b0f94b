"""`options_form`: the user's own form, or an error."""

from typing import Any

import pytest
from conftest import MakeSpawner
from fake_controller import FakeController, answer, cut, hang, page, token_of

from jupyterhub_skylab import RESTSpawner
from jupyterhub_skylab.errors import LabError


async def test_form_is_the_users_own(controller: FakeController, spawner: RESTSpawner) -> None:
    assert await spawner.get_options_form() == '<div class="skylab-form">for ada</div>'
    assert [(each.route, each.token) for each in controller.seen] == [("form", token_of("ada"))]


async def test_form_can_be_configured(make_spawner: MakeSpawner) -> None:
    assert await make_spawner(options_form="<b>ours</b>").get_options_form() == "<b>ours</b>"


@pytest.mark.parametrize(
    ("failure", "status"),
    [
        (answer(401, "unauthorized", "a valid token is required"), 403),
        (answer(403, "scope_missing", "the token lacks the scope"), 403),
        (answer(503), 503),
        (answer(500), 503),
        (page(200, "garbage", "text/plain"), 503),
        (page(200, "x" * 2_000_000), 503),
        (hang, 503),
    ],
)
async def test_form_raises_the_controllers_message(
    controller: FakeController, make_spawner: MakeSpawner, failure: Any, status: int
) -> None:
    """As an error, which the Hub shows on a page: for an empty form it would start a lab at once."""
    controller.script("form", failure)
    with pytest.raises(LabError) as raised:
        await make_spawner(request_timeout=0.2).get_options_form()
    assert raised.value.status_code == status
    assert raised.value.jupyterhub_message


async def test_form_fails_without_a_token(make_spawner: MakeSpawner) -> None:
    with pytest.raises(LabError) as raised:
        await make_spawner(auth_state=None).get_options_form()
    assert raised.value.status_code == 403


async def test_form_fails_when_the_controller_is_away(controller: FakeController, spawner: RESTSpawner) -> None:
    controller.always["form"] = cut
    with pytest.raises(LabError) as raised:
        await spawner.get_options_form()
    assert raised.value.status_code == 503
