"""`stop`: deletes the lab and waits for its end, whatever happens to tokens and replicas."""

import asyncio
from typing import Any

import pytest
from conftest import MakeSpawner, messages
from fake_controller import HUB_TOKEN, FakeController, answer, cut, events, hang, lost_reply, page, token_of

from jupyterhub_skylab import RESTSpawner
from jupyterhub_skylab.errors import LabError


async def test_stop_deletes_and_waits(controller: FakeController, spawner: RESTSpawner) -> None:
    controller.running()
    controller.auto = False
    stop = asyncio.create_task(spawner.stop())
    await controller.until(lambda: bool(controller.of("events")))
    assert not stop.done()
    controller.current().emit("progress", "50")
    controller.current().emit("info", "the pod is gone")
    controller.finish(data="lab is deleted")
    await stop
    assert [(each.route, each.token) for each in controller.seen] == [
        ("delete", HUB_TOKEN),
        ("events", token_of("ada")),
    ]
    assert await messages(spawner) == [
        (0, "lab deletion initiated for ada"),
        (50, "the pod is gone"),
        (100, "lab is deleted"),
    ]


async def test_stop_succeeds_without_a_lab(controller: FakeController, spawner: RESTSpawner) -> None:
    await spawner.stop()
    assert [each.route for each in controller.seen] == ["delete"]


@pytest.mark.parametrize("failure", [cut, lost_reply, hang, answer(500), answer(503, retry_after=0), page(404)])
async def test_stop_survives_an_outage(controller: FakeController, make_spawner: MakeSpawner, failure: Any) -> None:
    controller.running()
    controller.script("delete", failure)
    controller.script("events", events(0, "cut"), failure)
    await make_spawner(request_timeout=0.2, event_timeout=0.2).stop(now=True)
    assert controller.labs == {}


@pytest.mark.parametrize("auth_state", [None, {"token": "expired"}])
async def test_stop_polls_the_status_without_a_usable_token_of_the_user(
    controller: FakeController, make_spawner: MakeSpawner, auth_state: Any
) -> None:
    controller.running()
    controller.auto = False
    spawner = make_spawner(auth_state=auth_state)
    stop = asyncio.create_task(spawner.stop())
    await controller.until(lambda: len(controller.of("status")) > 2)
    assert not stop.done()
    controller.finish(data="lab is deleted")
    await stop
    assert {each.token for each in controller.of("status")} == {HUB_TOKEN}
    assert await messages(spawner) == [(0, "lab deletion initiated for ada"), (100, "The lab is gone.")]


async def test_stop_logs_a_failed_deletion(
    controller: FakeController, make_spawner: MakeSpawner, caplog: pytest.LogCaptureFixture
) -> None:
    controller.running()
    controller.auto = False
    spawner = make_spawner(auth_state=None)
    stop = asyncio.create_task(spawner.stop())
    await controller.until(lambda: bool(controller.of("status")))
    controller.current().emit("error", "a finalizer stands in the way")
    controller.finish(event="failed", data="timed out")
    with pytest.raises(LabError) as raised:
        await stop
    assert raised.value.jupyterhub_message == "a finalizer stands in the way"
    # The Hub itself logs nothing.
    assert "the lab was not stopped: a finalizer" in caplog.text
    assert (await messages(spawner))[-1] == (100, "a finalizer stands in the way")


@pytest.mark.parametrize("state", ["running", "pending"])
async def test_stop_repeats_a_lost_deletion(controller: FakeController, make_spawner: MakeSpawner, state: str) -> None:
    """Redis lost its data during the deletion; a compare found the lab complete and restored its record."""
    controller.running()
    controller.auto = False
    stop = asyncio.create_task(make_spawner(auth_state=None).stop())
    await controller.until(lambda: bool(controller.of("status")))
    controller.auto = True
    controller.labs["ada"].status = state
    await stop
    assert len(controller.of("delete")) == 2
    assert controller.labs == {}


async def test_stop_gives_up_when_others_keep_making_labs(
    controller: FakeController, make_spawner: MakeSpawner
) -> None:
    controller.running()
    controller.always["delete"] = answer(202)
    with pytest.raises(LabError) as raised:
        await make_spawner(auth_state=None).stop()
    assert "keeps creating" in raised.value.jupyterhub_message


async def test_stop_logs_a_refusal_of_the_hub(controller: FakeController, make_spawner: MakeSpawner) -> None:
    controller.running()
    with pytest.raises(LabError) as raised:
        await make_spawner(hub_token="wrong").stop()
    assert raised.value.status_code == 500


async def test_stop_logs_an_outage_that_does_not_end(controller: FakeController, make_spawner: MakeSpawner) -> None:
    await controller.stop()
    with pytest.raises(LabError) as raised:
        await make_spawner(outage_seconds=0.05).stop()
    assert raised.value.status_code == 503
