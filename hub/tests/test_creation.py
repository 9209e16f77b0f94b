"""Creations with an unknown outcome: they can arrive long after their start was given up."""

import asyncio

import pytest
from fake_controller import FakeController, Lab, Late, answer, cut, hang

from jupyterhub_skylab import RESTSpawner, creation
from jupyterhub_skylab.errors import LabError


async def given_up(controller: FakeController, spawner: RESTSpawner) -> None:
    """A start that is cancelled while its creation is on its way."""
    start = asyncio.create_task(spawner.start())
    await controller.until(lambda: bool(controller.of("create")))
    start.cancel()
    with pytest.raises(asyncio.CancelledError):
        await start


async def test_poll_says_running_when_the_creation_has_no_outcome(
    controller: FakeController, spawner: RESTSpawner
) -> None:
    """The creation may still be on its way, and `User.stop` stops nothing that polls as stopped."""
    controller.script("create", hang)
    await given_up(controller, spawner)
    assert await spawner.poll() is None
    # Now it arrives.
    controller.labs["ada"] = Lab("pending")
    controller.begin("ada", "lab creation initiated")
    await spawner.stop()
    assert await spawner.poll() == 0
    assert controller.labs == {}


async def test_stop_prevents_a_lab_of_a_late_creation(controller: FakeController, spawner: RESTSpawner) -> None:
    late = Late()
    controller.script("create", late)
    await given_up(controller, spawner)
    await spawner.stop()
    late.go.set()
    await asyncio.wait_for(late.done.wait(), 10)
    assert controller.labs == {}
    first, repeat = (each.headers["Idempotency-Key"] for each in controller.of("create"))
    assert first == repeat
    # By now nothing can arrive any more.
    await spawner.stop()
    assert len(controller.of("create")) == 2


@pytest.mark.parametrize("status", [401, 403, 422])
async def test_stop_settles_a_lost_creation_when_a_repeat_was_refused(
    controller: FakeController, spawner: RESTSpawner, status: int
) -> None:
    controller.script("create", cut, answer(status, "permission_denied"))
    with pytest.raises(LabError):
        await spawner.start()
    assert await spawner.poll() is None
    # The stop repeats the creation, is refused again, and deletes all the same.
    controller.script("create", answer(status, "permission_denied"))
    await spawner.stop()
    assert len(controller.of("delete")) == 1
    assert await spawner.poll() == 0


async def test_poll_says_stopped_when_the_first_creation_was_refused(
    controller: FakeController, spawner: RESTSpawner
) -> None:
    controller.script("create", answer(403, "permission_denied"))
    with pytest.raises(LabError):
        await spawner.start()
    assert await spawner.poll() == 0


async def test_poll_says_stopped_when_the_lost_creation_is_too_old_to_arrive(
    controller: FakeController, spawner: RESTSpawner, monkeypatch: pytest.MonkeyPatch
) -> None:
    controller.script("create", cut, answer(403, "permission_denied"))
    with pytest.raises(LabError):
        await spawner.start()
    monkeypatch.setattr(creation, "KEY_SECONDS", 0.0)
    assert await spawner.poll() == 0
    await spawner.stop()
    assert len(controller.of("create")) == 2
