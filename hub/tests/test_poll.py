"""`poll` and `get_url`: what the Hub concludes from answers, and what it must not conclude."""

import asyncio
import logging
from pathlib import Path
from typing import Any

import pytest
from conftest import MakeSpawner, remember
from fake_controller import HUB_TOKEN, FakeController, Lab, answer, cut, hang, page

from jupyterhub_skylab import RESTSpawner


@pytest.mark.parametrize(
    ("state", "result"), [("pending", None), ("running", None), ("terminating", None), ("failed", 2)]
)
async def test_poll_maps_the_state(
    controller: FakeController, spawner: RESTSpawner, state: str, result: int | None
) -> None:
    controller.running()
    controller.labs["ada"].status = state
    assert await spawner.poll() == result


async def test_poll_is_0_without_a_lab(spawner: RESTSpawner) -> None:
    assert await spawner.poll() == 0


@pytest.mark.parametrize(
    "failure",
    [
        cut,
        hang,
        answer(500),
        answer(503, retry_after=30),
        answer(401, "unauthorized"),
        answer(403, "scope_missing"),
        answer(404, "not_found", "no such route"),
        page(404),
        page(200),
        page(200, '{"status": "strange"}', "application/json"),
        page(200, "[" * 100_000, "application/json"),
        page(404, '{"detail": [{"msg": 7, "type": "unknown_user"}]}', "application/json"),
    ],
)
async def test_poll_says_running_when_the_state_is_unknown(
    controller: FakeController, make_spawner: MakeSpawner, failure: Any
) -> None:
    controller.always["status"] = failure
    assert await make_spawner(request_timeout=0.2).poll() is None


async def test_poll_logs_an_outage_once(
    controller: FakeController, make_spawner: MakeSpawner, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    spawners = [make_spawner(name) for name in ("ada", "grace")]
    await controller.stop()
    for _ in range(2):
        for spawner in spawners:
            assert await spawner.poll() is None
    await controller.start()
    for spawner in spawners:
        assert await spawner.poll() == 0
    messages = [record.message for record in caplog.records if record.name == "jupyterhub_skylab"]
    assert len(messages) == 2
    assert "cannot be used" in messages[0]
    assert "answers again" in messages[1]


async def test_poll_logs_a_problem_of_the_hub_once(
    make_spawner: MakeSpawner, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    for name in ("ada", "grace"):
        spawner = make_spawner(name, hub_token_file=str(tmp_path / "missing"))
        assert await spawner.poll() is None
    assert caplog.text.count("cannot be polled") == 1
    assert await make_spawner(hub_token="").poll() is None
    assert caplog.text.count("cannot be polled") == 2


async def test_poll_says_running_after_an_unexpected_error(
    spawner: RESTSpawner, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken() -> None:
        raise AttributeError

    monkeypatch.setattr(spawner, "_controller", broken)
    assert await spawner.poll() is None


async def test_poll_reads_the_token_file_each_time(
    controller: FakeController, make_spawner: MakeSpawner, tmp_path: Path
) -> None:
    file = tmp_path / "token"
    file.write_text("old\n")
    spawner = make_spawner(hub_token="unused", hub_token_file=str(file))
    assert await spawner.poll() is None
    file.write_text(f" {HUB_TOKEN}\n")
    assert await spawner.poll() == 0
    assert [each.token for each in controller.seen] == ["old", HUB_TOKEN]


async def test_url_is_the_labs(controller: FakeController, spawner: RESTSpawner) -> None:
    controller.running()
    assert await spawner.get_url() == f"http://127.0.0.1:{controller.port}/"


async def test_url_waits_for_a_lab_in_progress(controller: FakeController, spawner: RESTSpawner) -> None:
    """The Hub died while the lab was being created, and the controller is away for a moment."""
    controller.labs["ada"] = Lab("pending")
    controller.begin("ada", "lab creation initiated")
    controller.script("status", cut, answer(503))
    url = asyncio.create_task(spawner.get_url())
    await controller.until(lambda: len(controller.of("status")) > 3)
    assert not url.done()
    controller.finish()
    assert await url == f"http://127.0.0.1:{controller.port}/"


async def test_url_is_the_stored_one_in_an_outage(controller: FakeController, make_spawner: MakeSpawner) -> None:
    await controller.stop()
    spawner = make_spawner()
    remember(spawner, "nb-ada.nublado-ada", 8888)
    assert await spawner.get_url() == "http://nb-ada.nublado-ada:8888/user/ada/"


async def test_url_never_raises_after_a_restart(controller: FakeController, make_spawner: MakeSpawner) -> None:
    """An error would end the Hub's start, so it gets the stored URL, and checks the lab itself."""
    gone = make_spawner()
    assert await gone.get_url() == gone.server.url
    refused = make_spawner(hub_token="wrong")
    assert await refused.get_url() == refused.server.url
    await controller.stop()
    endless = make_spawner(start_timeout=1)
    assert await endless.get_url() == endless.server.url


async def test_url_of_a_named_server_is_the_stored_one(make_spawner: MakeSpawner) -> None:
    spawner = make_spawner(server_name="second")
    remember(spawner, "x", 1)
    assert await spawner.get_url() == "http://x:1/user/ada/"
