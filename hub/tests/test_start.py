"""`start`: what is asked for, what is shown, and what comes of refusals and outages."""

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
    """The error that a start ends with; its words are the last thing that its page shows."""
    with pytest.raises(LabError) as raised:
        await spawner.start()
    error = raised.value
    assert (await messages(spawner))[-1] == (100, error.jupyterhub_message)
    return error


async def test_asks_with_the_tokens_of_user_and_hub(controller: FakeController, spawner: RESTSpawner) -> None:
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
    # Neither what is nothing, nor what is the Hub's own.
    assert not {"NOTHING", "PATH", "LANG"} & set(body["env"])


async def test_shows_what_happens_with_the_progress_last_reported(spawner: RESTSpawner) -> None:
    await spawner.start()
    assert await messages(spawner) == [
        (0, "lab creation initiated for ada"),
        (40, "pulling <image>"),
        (100, "lab is running"),
    ]
    assert all("html_message" not in event for event in spawner.get_state()["events"])


async def test_quotes_the_user_in_the_path(controller: FakeController, make_spawner: MakeSpawner) -> None:
    name = "ada b@example.org%2F?#é"
    await make_spawner(name).start()
    assert {each.username for each in controller.seen} == {name}


async def test_each_start_has_a_key_of_its_own(controller: FakeController, spawner: RESTSpawner) -> None:
    await spawner.start()
    await spawner.stop()
    await spawner.start()
    keys = [each.headers["Idempotency-Key"] for each in controller.of("create")]
    assert len(set(keys)) == 2


@pytest.mark.parametrize("failure", [lost_reply, cut])
async def test_a_lost_reply_is_the_same_creation(
    controller: FakeController, spawner: RESTSpawner, failure: Any
) -> None:
    controller.script("create", failure)
    await spawner.start()
    first, second = controller.of("create")
    assert first.headers["Idempotency-Key"] == second.headers["Idempotency-Key"]
    assert not controller.of("delete")
    assert len(controller.streams["ada"]) == 1


async def test_a_create_without_answer_is_repeated(controller: FakeController, make_spawner: MakeSpawner) -> None:
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
async def test_answers_of_an_outage_are_borne(controller: FakeController, spawner: RESTSpawner, failure: Any) -> None:
    controller.script("create", failure, failure)
    controller.script("status", failure)
    await spawner.start()
    assert len(controller.of("create")) == 3


async def test_waits_as_long_as_it_is_asked_to(controller: FakeController, spawner: RESTSpawner) -> None:
    controller.script("create", answer(503, retry_after=1))
    begun = asyncio.get_running_loop().time()
    await spawner.start()
    assert asyncio.get_running_loop().time() - begun >= 1


async def test_the_controller_comes_back(controller: FakeController, spawner: RESTSpawner) -> None:
    await controller.stop()
    start = asyncio.create_task(spawner.start())
    await asyncio.sleep(0)
    await controller.start()
    assert await start


async def test_an_outage_without_end_is_told_in_words(controller: FakeController, make_spawner: MakeSpawner) -> None:
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
async def test_a_refusal_is_final_and_in_the_controllers_words(
    controller: FakeController, spawner: RESTSpawner, failure: Any, status: int, words: str
) -> None:
    controller.script("create", failure)
    error = await refusal(spawner)
    assert error.status_code == status
    assert error.jupyterhub_message.startswith(words)
    assert len(controller.of("create")) == 1


@pytest.mark.parametrize("auth_state", [None, {}, {"token": None}, {"token": ""}, {"token": "a\r\nX: y"}, "token"])
async def test_a_login_without_token_is_told(make_spawner: MakeSpawner, auth_state: Any) -> None:
    error = await refusal(make_spawner(auth_state=auth_state))
    assert error.status_code == 403
    assert "Log out" in error.jupyterhub_message


async def test_the_token_has_a_key_of_its_own(make_spawner: MakeSpawner) -> None:
    auth_state = {"access_token": token_of("ada"), "token": "another"}
    assert await make_spawner(auth_state=auth_state, user_token_key="access_token").start()


async def test_named_servers_are_refused(controller: FakeController, make_spawner: MakeSpawner) -> None:
    spawner = make_spawner(server_name="second")
    for attempt in (spawner.start(), spawner.lab_form()):
        with pytest.raises(LabError) as raised:
            await attempt
        assert "Named servers" in raised.value.jupyterhub_message
    # Above all, what becomes of them does not touch the lab that the user has.
    assert await spawner.poll() == 0
    await spawner.stop()
    assert not controller.seen


async def test_files_are_no_options(spawner: RESTSpawner) -> None:
    spawner.user_options = {"file": [b"\xff"]}
    assert (await refusal(spawner)).status_code == 422


async def test_another_lab_is_deleted_first(controller: FakeController, spawner: RESTSpawner) -> None:
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


async def test_a_lab_that_cannot_be_deleted_is_told(controller: FakeController, spawner: RESTSpawner) -> None:
    controller.auto = False
    controller.running()
    start = asyncio.create_task(refusal(spawner))
    await controller.until(lambda: bool(controller.of("events")))
    controller.current().emit("error", "a finalizer stands in the way")
    controller.finish(event="failed", data="timed out")
    assert (await start).jupyterhub_message == "a finalizer stands in the way"


async def test_whoever_keeps_making_labs_wins(controller: FakeController, spawner: RESTSpawner) -> None:
    controller.always["create"] = answer(409, "lab_exists", "A lab for ada exists")
    assert "keeps creating" in (await refusal(spawner)).jupyterhub_message
    assert len(controller.of("create")) == 3


async def test_a_failed_lab_says_why(controller: FakeController, spawner: RESTSpawner) -> None:
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


async def test_a_wrong_token_of_the_hub_is_told(
    controller: FakeController, make_spawner: MakeSpawner, caplog: pytest.LogCaptureFixture
) -> None:
    spawner = make_spawner(hub_token="wrong-token-of-the-hub")
    with pytest.raises(LabError) as raised:
        await spawner.start()
    assert "Tell an administrator" in raised.value.jupyterhub_message
    assert "a valid token is required" in caplog.text
    assert "wrong-token-of-the-hub" not in caplog.text


async def test_a_lab_that_is_gone_at_once_is_told(controller: FakeController, spawner: RESTSpawner) -> None:
    controller.script("status", answer(404, "unknown_user", "this user has no lab"))
    with pytest.raises(LabError) as raised:
        await spawner.start()
    assert raised.value.jupyterhub_message == "The lab was gone as soon as it had started."


async def test_what_completed_may_be_another_operation(controller: FakeController, spawner: RESTSpawner) -> None:
    """The portal deleted our creation before its events were asked for, and made another lab meanwhile."""
    controller.auto = False
    start = asyncio.create_task(spawner.start())
    await controller.until(lambda: bool(controller.of("events")))
    controller.current().emit("complete", "the deletion")
    await controller.until(lambda: bool(controller.of("status")))
    controller.finish(data="the lab")
    assert await start


async def test_a_cancelled_start_leaves_the_lab_to_stop(controller: FakeController, spawner: RESTSpawner) -> None:
    """As the Hub does it when the user presses "Stop", and after `start_timeout`."""
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


async def test_no_token_is_told_to_anyone(
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
    told = caplog.text + str(raised.value) + repr(spawner.get_state())
    assert "token-of" not in told
