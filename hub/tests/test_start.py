"""`start`: the request, the progress that it shows, and its reaction to refusals and outages."""

import asyncio
import logging
from typing import Any

import pytest
from conftest import MakeSpawner, messages
from fake_controller import (
    HUB_TOKEN,
    FakeController,
    answer,
    cut,
    hang,
    lost_reply,
    page,
    token_of,
)

from jupyterhub_skylab import RESTSpawner
from jupyterhub_skylab.errors import LabError


async def refusal(spawner: RESTSpawner) -> LabError:
    """The error that ends a start; its message is the last line of the page."""
    with pytest.raises(LabError) as raised:
        await spawner.start()
    error = raised.value
    assert (await messages(spawner))[-1] == (100, error.jupyterhub_message)
    return error


async def test_start_uses_the_tokens_of_user_and_hub(controller: FakeController, spawner: RESTSpawner) -> None:
    spawner.environment = {"DEBUG": 1, "NOTHING": None, "LATE": lambda _: "made now"}
    assert await spawner.start() == f"http://127.0.0.1:{controller.port}/user/ada/"
    assert [(each.route, each.token) for each in controller.seen] == [
        ("create", token_of("ada")),
        ("events", token_of("ada")),
        ("status", HUB_TOKEN),
    ]
    body = controller.of("create")[0].body
    assert body["options"] == {"image_type": "recommended", "size": ["small"]}
    assert body["env"] | {"JUPYTERHUB_API_TOKEN": "token-of-the-lab", "DEBUG": "1", "LATE": "made now"} == body["env"]
    # Neither empty options, nor the Hub's own.
    assert not {"NOTHING", "PATH", "LANG"} & set(body["env"])


async def test_start_shows_events_with_the_last_reported_progress(spawner: RESTSpawner) -> None:
    await spawner.start()
    assert await messages(spawner) == [
        (0, "lab creation initiated for ada"),
        (40, "pulling <image>"),
        (100, "lab is running"),
    ]
    assert all("html_message" not in event for event in spawner.get_state()["events"])


async def test_start_quotes_the_user_in_the_path(controller: FakeController, make_spawner: MakeSpawner) -> None:
    name = "ada b@example.org%2F?#é"
    await make_spawner(name).start()
    assert {each.username for each in controller.seen} == {name}


async def test_start_has_a_key_of_its_own_each_time(controller: FakeController, spawner: RESTSpawner) -> None:
    await spawner.start()
    await spawner.stop()
    await spawner.start()
    keys = [each.headers["Idempotency-Key"] for each in controller.of("create")]
    assert len(set(keys)) == 2


@pytest.mark.parametrize("failure", [lost_reply, cut])
async def test_start_repeats_the_same_creation_after_a_lost_reply(
    controller: FakeController, spawner: RESTSpawner, failure: Any
) -> None:
    controller.script("create", failure)
    await spawner.start()
    first, second = controller.of("create")
    assert first.headers["Idempotency-Key"] == second.headers["Idempotency-Key"]
    assert not controller.of("delete")
    assert len(controller.streams["ada"]) == 1


async def test_start_repeats_a_create_without_answer(controller: FakeController, make_spawner: MakeSpawner) -> None:
    controller.script("create", hang)
    await make_spawner(request_timeout=0.1).start()
    assert len(controller.of("create")) == 2


@pytest.mark.parametrize(
    "failure",
    [
        answer(500, "internal", "internal error"),
        answer(502),
        answer(504),
        answer(429, "too_many", retry_after=0),
        answer(408, "malformed"),
        page(404),
        page(200),
        page(503),
        page(302),
    ],
)
async def test_start_survives_error_answers_of_an_outage(
    controller: FakeController, spawner: RESTSpawner, failure: Any
) -> None:
    controller.script("create", failure, failure)
    controller.script("status", failure)
    await spawner.start()
    assert len(controller.of("create")) == 3


async def test_start_waits_as_long_as_retry_after_says(controller: FakeController, spawner: RESTSpawner) -> None:
    controller.script("create", answer(503, retry_after=1))
    begun = asyncio.get_running_loop().time()
    await spawner.start()
    assert asyncio.get_running_loop().time() - begun >= 1


async def test_start_succeeds_when_the_controller_comes_back(controller: FakeController, spawner: RESTSpawner) -> None:
    await controller.stop()
    start = asyncio.create_task(spawner.start())
    await asyncio.sleep(0)
    await controller.start()
    assert await start


async def test_start_names_an_outage_that_does_not_end(controller: FakeController, make_spawner: MakeSpawner) -> None:
    await controller.stop()
    error = await refusal(make_spawner(outage_seconds=0.05))
    assert error.status_code == 503
    assert "cannot be reached" in error.jupyterhub_message


@pytest.mark.parametrize(
    ("failure", "status", "words"),
    [
        (
            answer(422, "invalid", "There is no such size, only small", "body", "options", "size"),
            422,
            "There is no such size, only small (options.size)",
        ),
        (answer(403, "forbidden", "This image is kept from you\n\x1b"), 403, "This image is kept from you  "),
        (answer(500, "misconfigured", "A Secret is missing: 100% of it"), 500, "A Secret is missing: 100% of it"),
        (answer(404, "not_found", "no such route"), 404, "no such route"),
        (page(413), 413, "The lab controller refused the request (413)."),
        (answer(401, "unauthorized", "a valid token is required"), 403, "Your login has expired."),
    ],
)
async def test_start_fails_at_once_with_the_controllers_refusal(
    controller: FakeController, spawner: RESTSpawner, failure: Any, status: int, words: str
) -> None:
    controller.script("create", failure)
    error = await refusal(spawner)
    assert error.status_code == status
    assert error.jupyterhub_message.startswith(words)
    assert len(controller.of("create")) == 1


@pytest.mark.parametrize("auth_state", [None, {}, {"token": None}, {"token": ""}, {"token": "a\r\nX: y"}, "token"])
async def test_start_names_a_login_without_token(make_spawner: MakeSpawner, auth_state: Any) -> None:
    error = await refusal(make_spawner(auth_state=auth_state))
    assert error.status_code == 403
    assert "Log out" in error.jupyterhub_message


async def test_start_reads_the_token_from_the_configured_key(make_spawner: MakeSpawner) -> None:
    auth_state = {"access_token": token_of("ada"), "token": "another"}
    assert await make_spawner(auth_state=auth_state, user_token_key="access_token").start()


async def test_start_refuses_named_servers(controller: FakeController, make_spawner: MakeSpawner) -> None:
    spawner = make_spawner(server_name="second")
    for attempt in (spawner.start(), spawner.lab_form()):
        with pytest.raises(LabError) as raised:
            await attempt
        assert "Named servers" in raised.value.jupyterhub_message
    # Nor does the end of the named server touch the user's lab.
    assert await spawner.poll() == 0
    await spawner.stop()
    assert not controller.seen


async def test_start_ignores_uploaded_files(spawner: RESTSpawner) -> None:
    spawner.user_options = {"file": [b"\xff"]}
    assert (await refusal(spawner)).status_code == 422


async def test_start_deletes_an_existing_lab_first(controller: FakeController, spawner: RESTSpawner) -> None:
    controller.running()
    await spawner.start()
    assert [each.route for each in controller.seen] == ["create", "delete", "events", "create", "events", "status"]
    first, second = controller.of("create")
    assert first.headers["Idempotency-Key"] != second.headers["Idempotency-Key"]
    assert await messages(spawner) == [
        (0, "lab deletion initiated for ada"),
        (0, "lab creation initiated for ada"),
        (40, "pulling <image>"),
        (100, "lab is running"),
    ]


async def test_start_names_a_lab_that_cannot_be_deleted(controller: FakeController, spawner: RESTSpawner) -> None:
    controller.auto = False
    controller.running()
    start = asyncio.create_task(refusal(spawner))
    await controller.until(lambda: bool(controller.of("events")))
    controller.current().emit("error", "a finalizer stands in the way")
    controller.finish(event="failed", data="timed out")
    assert (await start).jupyterhub_message == "a finalizer stands in the way"


async def test_start_gives_up_when_others_keep_making_labs(controller: FakeController, spawner: RESTSpawner) -> None:
    controller.always["create"] = answer(409, "lab_exists", "A lab for ada exists")
    assert "keeps creating" in (await refusal(spawner)).jupyterhub_message
    assert len(controller.of("create")) == 3


async def test_start_shows_why_a_lab_failed(controller: FakeController, spawner: RESTSpawner) -> None:
    controller.auto = False
    start = asyncio.create_task(spawner.start())
    await controller.until(lambda: bool(controller.of("events")))
    controller.current().emit("error", "the image <b>x</b> was not found")
    controller.finish(event="failed", data="lab creation failed")
    with pytest.raises(LabError) as raised:
        await start
    assert raised.value.jupyterhub_message == "the image <b>x</b> was not found"
    assert (await messages(spawner))[-1] == (100, "the image <b>x</b> was not found")
    assert await spawner.poll() == 2


async def test_start_names_a_wrong_token_of_the_hub(
    controller: FakeController, make_spawner: MakeSpawner, caplog: pytest.LogCaptureFixture
) -> None:
    spawner = make_spawner(hub_token="wrong-token-of-the-hub")
    with pytest.raises(LabError) as raised:
        await spawner.start()
    assert "Tell an administrator" in raised.value.jupyterhub_message
    assert "a valid token is required" in caplog.text
    assert "wrong-token-of-the-hub" not in caplog.text


async def test_start_names_a_lab_that_is_gone_at_once(controller: FakeController, spawner: RESTSpawner) -> None:
    controller.script("status", answer(404, "unknown_user", "this user has no lab"))
    with pytest.raises(LabError) as raised:
        await spawner.start()
    assert raised.value.jupyterhub_message == "The lab was gone as soon as it had started."


async def test_start_returns_the_lab_of_a_newer_operation(controller: FakeController, spawner: RESTSpawner) -> None:
    """The portal deleted our creation before its events were requested, and made another lab meanwhile."""
    controller.auto = False
    start = asyncio.create_task(spawner.start())
    await controller.until(lambda: bool(controller.of("events")))
    controller.current().emit("complete", "the deletion")
    await controller.until(lambda: bool(controller.of("status")))
    controller.finish(data="the lab")
    assert await start


async def test_start_leaves_the_lab_to_stop_when_cancelled(controller: FakeController, spawner: RESTSpawner) -> None:
    """As the Hub does when the user presses "Stop", and after `start_timeout`."""
    controller.auto = False
    start = asyncio.create_task(spawner.start())
    await controller.until(lambda: bool(controller.of("events")))
    start.cancel()
    with pytest.raises(asyncio.CancelledError):
        await start
    assert (await messages(spawner))[-1] == (100, "The start was given up.")
    assert await spawner.poll() is None
    controller.auto = True
    await spawner.stop()
    assert controller.labs == {}


async def test_start_reveals_no_token(
    controller: FakeController, make_spawner: MakeSpawner, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    spawner = make_spawner(outage_seconds=0.05)
    await spawner.start()
    controller.script("delete", cut)
    await spawner.stop()
    await controller.stop()
    with pytest.raises(LabError) as raised:
        await spawner.start()
    shown = caplog.text + str(raised.value) + repr(spawner.get_state())
    assert "token-of" not in shown
