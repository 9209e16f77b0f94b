"""A creation of which nobody knows what came: it may arrive when its start has long been given up."""

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


async def test_a_start_without_outcome_polls_as_running(controller: FakeController, spawner: RESTSpawner) -> None:
    """Its creation may still be on its way: `User.stop` stops nothing that polls as stopped."""
    controller.script("create", hang)
    await given_up(controller, spawner)
    assert await spawner.poll() is None
    # Now it arrives.
    controller.labs["ada"] = Lab("pending")
    controller.begin("ada", "lab creation initiated")
    await spawner.stop()
    assert await spawner.poll() == 0
    assert controller.labs == {}


async def test_a_creation_that_arrives_after_the_stop_makes_no_lab(
    controller: FakeController, spawner: RESTSpawner
) -> None:
    late = Late()
    controller.script("create", late)
    await given_up(controller, spawner)
    await spawner.stop()
    late.go.set()
    await asyncio.wait_for(late.done.wait(), 10)
    assert controller.labs == {}
    first, repeat = (each.headers["Idempotency-Key"] for each in controller.of("create"))
    assert first == repeat
    # By now there is nothing that could arrive.
    await spawner.stop()
    assert len(controller.of("create")) == 2


@pytest.mark.parametrize("status", [401, 403, 422])
async def test_a_refusal_settles_nothing_that_was_asked_before(
    controller: FakeController, spawner: RESTSpawner, status: int
) -> None:
    controller.script("create", cut, answer(status, "permission_denied"))
    with pytest.raises(LabError):
        await spawner.start()
    assert await spawner.poll() is None
    # The stop asks once more, is refused again, and deletes all the same.
    controller.script("create", answer(status, "permission_denied"))
    await spawner.stop()
    assert len(controller.of("delete")) == 1
    assert await spawner.poll() == 0


async def test_what_was_refused_at_once_is_settled(controller: FakeController, spawner: RESTSpawner) -> None:
    controller.script("create", answer(403, "permission_denied"))
    with pytest.raises(LabError):
        await spawner.start()
    assert await spawner.poll() == 0


async def test_a_creation_of_long_ago_cannot_arrive_any_more(
    controller: FakeController, spawner: RESTSpawner, monkeypatch: pytest.MonkeyPatch
) -> None:
    controller.script("create", cut, answer(403, "permission_denied"))
    with pytest.raises(LabError):
        await spawner.start()
    monkeypatch.setattr(creation, "KEY_SECONDS", 0.0)
    assert await spawner.poll() == 0
    await spawner.stop()
    assert len(controller.of("create")) == 2
