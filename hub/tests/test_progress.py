"""`progress` and the state in the Hub's database."""

import asyncio
import json
from contextlib import aclosing

import pytest
from conftest import MakeSpawner, messages
from fake_controller import FakeController

from jupyterhub_skylab import RESTSpawner
from jupyterhub_skylab.progress import MOST_CHARACTERS, MOST_EVENTS, MOST_STORED, Log, Progress


async def test_progress_gives_two_tabs_the_same_events_as_they_come(
    controller: FakeController, spawner: RESTSpawner
) -> None:
    controller.auto = False
    start = asyncio.create_task(spawner.start())
    await controller.until(lambda: bool(controller.of("events")))
    tabs = [asyncio.create_task(messages(spawner)) for _ in range(2)]
    async with aclosing(spawner.progress()) as events:
        assert (await anext(events))["message"] == "lab creation initiated for ada"
        controller.current().emit("progress", "70")
        controller.current().emit("error", "the node is slow")
        assert await anext(events) == {
            "progress": 70,
            "message": "the node is slow",
            "html_message": '<span class="text-break">the node is slow</span>',
        }
    controller.finish(data="lab is running")
    await start
    whole = [(0, "lab creation initiated for ada"), (70, "the node is slow"), (100, "lab is running")]
    assert [await tab for tab in tabs] == [whole, whole]
    assert await messages(spawner) == whole


async def test_progress_waits_for_a_pending_start(spawner: RESTSpawner) -> None:
    """The page may open it before `start` has begun: `pre_spawn_hook` comes first."""
    assert await messages(spawner) == []
    spawner._spawn_pending = True
    tab = asyncio.create_task(messages(spawner))
    await asyncio.sleep(0)
    await spawner.start()
    assert (await tab)[-1] == (100, "lab is running")


async def test_progress_ends_the_log_when_a_new_operation_begins() -> None:
    progress = Progress()
    first = await progress.begin()
    tab = asyncio.create_task(_collect(progress))
    await asyncio.sleep(0)
    second = await progress.begin()
    assert await tab == []
    await progress.finish(second, "done")
    await progress.finish(second, "not twice")
    assert [event["message"] for event in await _collect(progress)] == ["done"]
    assert first.complete


async def test_progress_escapes_html() -> None:
    progress = Progress()
    log = await progress.begin()
    await progress.finish(log, "pulled <img src=x onerror='x'> & \"y\"")
    [event] = await _collect(progress)
    assert event["message"] == "pulled <img src=x onerror='x'> & \"y\""
    shown = "pulled &lt;img src=x onerror=&#x27;x&#x27;&gt; &amp; &quot;y&quot;"
    assert event["html_message"] == f'<span class="text-break">{shown}</span>'


async def _collect(progress: Progress) -> list[dict[str, object]]:
    return [event async for event in progress.follow(lambda: False)]


async def test_state_survives_the_hub(make_spawner: MakeSpawner) -> None:
    spawner = make_spawner()
    await spawner.start()
    shown = await messages(spawner)
    state = json.loads(json.dumps(spawner.get_state()))
    assert state["progress"] == 100
    assert state["complete"] is True
    again = make_spawner()
    again.load_state(state)
    assert await messages(again) == shown
    again.clear_state()
    assert await messages(again) == []
    assert again.api_token == ""
    # JupyterHub takes a lab without any state for a missing one.
    assert again.get_state() == {"events": [], "progress": 0, "complete": False}


@pytest.mark.parametrize("state", [{}, {"events": 7}, {"events": []}, {"events": [{"progress": 3}, 7]}, {"pid": 7}])
async def test_state_of_another_spawner_is_ignored(spawner: RESTSpawner, state: dict[str, object]) -> None:
    spawner.load_state(state)
    assert await messages(spawner) == []


async def test_progress_ends_a_stored_log_without_an_end(spawner: RESTSpawner) -> None:
    """The Hub that wrote it has died, so nothing more will come."""
    spawner.load_state({"events": [{"progress": 3, "message": "x"}], "progress": "3", "complete": False})
    assert await messages(spawner) == [(3, "x")]


async def test_state_is_bounded(spawner: RESTSpawner) -> None:
    log = await spawner._progress.begin()
    for number in range(MOST_EVENTS + 50):
        log.add(f"{number} " + "x" * 2 * MOST_CHARACTERS)
    log.finish("the last")
    shown = await messages(spawner)
    assert len(shown) == MOST_EVENTS
    assert shown[-1] == (100, "the last")
    assert len(shown[0][1]) == MOST_CHARACTERS
    state = spawner.get_state()["events"]
    assert len(state) == MOST_STORED
    assert state[-1] == {"progress": 100, "message": "the last"}


async def test_progress_drops_the_oldest_events_for_a_slow_reader() -> None:
    log = Log()
    for number in range(MOST_EVENTS + 2):
        log.add(str(number))
    assert log.since(1)[0]["message"] == "2"
    assert log.since(log.count) == []
