"""`start` follows events over lost connections, other replicas, silence and garbage."""

import asyncio
from typing import Any

import pytest
from conftest import MakeSpawner, messages
from fake_controller import FakeController, answer, events, hang, page

from jupyterhub_skylab import RESTSpawner
from jupyterhub_skylab.errors import LabError

WHOLE = [(0, "lab creation initiated for ada"), (40, "pulling <image>"), (100, "lab is running")]


@pytest.mark.parametrize("then", ["cut", "end", "id: 1-2\nevent: info\ndata: half an event", "\x00\x01\x02\n\n"])
async def test_start_resumes_after_the_last_event(controller: FakeController, spawner: RESTSpawner, then: str) -> None:
    controller.script("events", events(1, then), events(1, then), events(1, then))
    await spawner.start()
    assert await messages(spawner) == WHOLE
    op = controller.current().op
    ids = [each.headers.get("Last-Event-ID") for each in controller.of("events")]
    assert ids == [None, f"{op}-1", f"{op}-2", f"{op}-3"]


async def test_start_reopens_a_silent_stream(controller: FakeController, make_spawner: MakeSpawner) -> None:
    controller.script("events", events(2, "hang"))
    spawner = make_spawner(event_timeout=0.2)
    await spawner.start()
    assert await messages(spawner) == WHOLE


async def test_start_stays_patient_when_comments_come(controller: FakeController, make_spawner: MakeSpawner) -> None:
    """A long pull has no events, and is no outage: each comment restarts the limit."""
    controller.auto = False
    controller.script("events", *[events(0, "hang")] * 6)
    spawner = make_spawner(outage_seconds=0.1, event_timeout=0.05)
    start = asyncio.create_task(spawner.start())
    await controller.until(lambda: len(controller.of("events")) > 6)
    controller.finish(data="lab is running")
    await start


@pytest.mark.parametrize(
    "garbage",
    [
        "event: info\ndata: \xff\xfe\n\n",
        "event: info\ndata: " + "x" * 1_000_000 + "\n\n",
        "event: info\n" + "data: x\n" * 20_000 + "\n",
    ],
    ids=["bytes", "line without end", "event without end"],
)
async def test_start_treats_garbage_as_a_lost_connection(
    controller: FakeController, spawner: RESTSpawner, garbage: str
) -> None:
    controller.script("events", events(1, garbage))
    await spawner.start()
    assert await messages(spawner) == WHOLE
    assert len(controller.of("events")) == 2


@pytest.mark.parametrize("failure", [answer(500), answer(503, retry_after=0), page(200), page(404), hang])
async def test_start_survives_an_outage(controller: FakeController, make_spawner: MakeSpawner, failure: Any) -> None:
    controller.script("events", failure, events(1, "cut"), failure)
    spawner = make_spawner(event_timeout=0.2)
    await spawner.start()
    assert await messages(spawner) == WHOLE


async def test_start_fails_when_the_outage_does_not_end(controller: FakeController, make_spawner: MakeSpawner) -> None:
    controller.always["events"] = answer(503)
    spawner = make_spawner(outage_seconds=0.05)
    with pytest.raises(LabError) as raised:
        await spawner.start()
    assert raised.value.status_code == 503
    # The creation may still complete: the Hub, which gave it up, has to stop it.
    assert await spawner.poll() is None


async def test_start_reads_crlf_several_lines_and_unknown_events(
    controller: FakeController, spawner: RESTSpawner
) -> None:
    odd = "event: info\r\ndata: two\r\ndata: lines\r\n\r\nevent: news\ndata: x\n\nevent: progress\ndata: much\n\n"
    controller.script("events", events(0, odd))
    await spawner.start()
    assert (await messages(spawner))[0] == (0, "two lines")


async def test_start_polls_the_status_when_the_token_expires(controller: FakeController, spawner: RESTSpawner) -> None:
    """The user's token expires after the first event; the lab's status has the others."""
    controller.auto = False
    controller.script("events", events(1, "cut"), answer(401, "unauthorized", "a valid token is required"))
    start = asyncio.create_task(spawner.start())
    await controller.until(lambda: bool(controller.of("status")))
    controller.current().emit("progress", "40")
    controller.current().emit("info", "pulling <image>")
    seen = len(controller.of("status"))
    await controller.until(lambda: len(controller.of("status")) > seen + 1)
    controller.finish(data="lab is running")
    await start
    assert [text for _, text in await messages(spawner)][:2] == [text for _, text in WHOLE][:2]
    assert (await messages(spawner))[1] == WHOLE[1]
    assert len(await messages(spawner)) == 3


@pytest.mark.parametrize("state", ["failed", "terminating", None])
async def test_start_reads_the_outcome_from_the_status(
    controller: FakeController, spawner: RESTSpawner, state: str | None
) -> None:
    controller.auto = False
    controller.script("events", answer(403, "scope_missing", "the token lacks the scope"))
    start = asyncio.create_task(spawner.start())
    await controller.until(lambda: bool(controller.of("status")))
    if state is None:
        del controller.labs["ada"]
    else:
        controller.labs["ada"].status = state
    with pytest.raises(LabError) as raised:
        await start
    words = {"failed": "The lab failed.", "terminating": "The lab was stopped while", None: "The lab is gone."}
    assert raised.value.jupyterhub_message.startswith(words[state])


async def test_start_finds_the_new_stream_when_the_old_one_is_lost(
    controller: FakeController, spawner: RESTSpawner
) -> None:
    """Redis lost its data; the lab had started, and has a new operation with a new stream."""
    controller.auto = False
    controller.script("events", events(1, "cut"))
    start = asyncio.create_task(spawner.start())
    await controller.until(lambda: bool(controller.of("events")))
    controller.streams.clear()
    stream = controller.begin("ada", "found again")
    await controller.until(lambda: len(controller.of("events")) > 2)
    controller.finish(data="lab is running")
    await start
    assert [each.headers.get("Last-Event-ID") for each in controller.of("events")][2] == f"{stream.op}-1"
    assert [text for _, text in await messages(spawner)] == [
        "lab creation initiated for ada",
        "found again",
        "lab is running",
    ]


async def test_start_fails_when_the_failed_event_has_no_id(controller: FakeController, spawner: RESTSpawner) -> None:
    controller.auto = False
    controller.script("events", events(1, "event: failed\ndata: its record was lost\n\n"))
    with pytest.raises(LabError) as raised:
        await spawner.start()
    assert raised.value.jupyterhub_message == "its record was lost"


async def test_stop_ends_a_start(controller: FakeController, spawner: RESTSpawner) -> None:
    controller.auto = False
    start = asyncio.create_task(spawner.start())
    await controller.until(lambda: bool(controller.of("events")))
    controller.auto = True
    await spawner.stop()
    with pytest.raises(LabError) as raised:
        await start
    assert raised.value.jupyterhub_message == "superseded by a deletion"
    # Pages show the later operation, the stop.
    assert [text for _, text in await messages(spawner)] == ["lab deletion initiated for ada", "lab is deleted"]


async def test_start_succeeds_when_the_user_follows_too_many_streams(
    controller: FakeController, make_spawner: MakeSpawner
) -> None:
    controller.auto = False
    controller.always["events"] = answer(429, "too_many_requests", retry_after=1)
    start = asyncio.create_task(make_spawner(outage_seconds=0.05).start())
    await controller.until(lambda: len(controller.of("status")) > 3)
    controller.finish()
    assert (await start).startswith("http://127.0.0.1")
