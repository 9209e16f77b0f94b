"""With a real Hub as a process: the parts that need its `user.py`, `app.py` and pages."""

import asyncio
import html
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import pytest_asyncio
from aiohttp import web
from fake_controller import FakeController, Handler, answer
from real_hub import RealHub, Visitor

pytestmark = pytest.mark.asyncio(loop_scope="module")


@dataclass
class Platform:
    controller: FakeController
    hub: RealHub

    def asked(self, route: str, name: str) -> int:
        return sum(each.username == name for each in self.controller.of(route))

    async def restart(self) -> None:
        await self.hub.end(kill=True)
        await self.hub.start()


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def platform(installed: Path, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Platform]:
    controller = FakeController()
    await controller.start()
    hub = RealHub(tmp_path_factory.mktemp("hub"), installed, controller)
    try:
        await hub.start()
        yield Platform(controller, hub)
        await hub.end(kill=False)
    finally:
        await hub.end(kill=True)
        await controller.stop()
    log = "\n".join(hub.log)
    # Neither the Hub's token, nor a user's.
    assert "token-of" not in log
    assert "Unclosed" not in log


async def test_hub_shows_the_form_takes_it_and_follows_the_spawn(platform: Platform) -> None:
    controller = platform.controller
    async with Visitor(platform.hub, "ada") as ada:
        await ada.login()
        status, page = await ada.get("/hub/spawn")
        assert (status, '<div class="skylab-form">for ada</div>' in page) == (200, True)
        controller.auto = False
        try:
            await ada.post("/hub/spawn", {"image_type": "recommended", "size": "small"})
            tabs = [await ada.watching() for _ in range(2)]
            await controller.until(lambda: platform.asked("events", "ada") == 1)
            controller.current().emit("progress", "60")
            controller.current().emit("info", "pulling <image>")
            controller.finish(data="lab is running")
        finally:
            controller.auto = True
        first, second = await asyncio.gather(*tabs)
        assert first == second
        shown = [(event["progress"], event["message"]) for event in first]
        assert shown[:-1] == [
            (0, "Server requested"),
            (0, "lab creation initiated for ada"),
            (60, "pulling <image>"),
            (100, "lab is running"),
        ]
        assert first[-1]["ready"]
        options = controller.of("create")[-1].body["options"]
        assert {"image_type": ["recommended"], "size": ["small"]} | options == options
        assert (await ada.server())["ready"]
        await ada.api("DELETE", "/server")
        await controller.until(lambda: "ada" not in controller.labs)
        assert platform.asked("delete", "ada") == 1


async def test_hub_spawns_for_a_bot_by_json(platform: Platform) -> None:
    async with Visitor(platform.hub, "bot") as bot:
        await bot.login()
        options = {"image_type": "recommended", "image_tag": "w_2026_01", "size": "small"}
        assert (await bot.api("POST", "/server", options))[0] == 202
        assert (await bot.progress())[-1]["ready"]
        assert platform.controller.labs["bot"].options == options
        env = platform.controller.labs["bot"].env
        assert env["JUPYTERHUB_SERVICE_PREFIX"] == "/user/bot/"
        assert env["JUPYTERHUB_API_TOKEN"]


async def test_hub_shows_the_reason_of_a_failure(platform: Platform) -> None:
    controller, why = platform.controller, "the image <b>x</b> was not found"
    async with Visitor(platform.hub, "eve") as eve:
        await eve.login()
        controller.auto = False
        try:
            await eve.api("POST", "/server", {"image_tag": "x"})
            events = await eve.watching()
            await controller.until(lambda: platform.asked("events", "eve") == 1)
            controller.current("eve").emit("error", why)
            controller.finish("eve", "failed", "lab creation failed")
        finally:
            controller.auto = True
        last = (await events)[-1]
        assert (last["failed"], last["message"]) == (True, f"Spawn failed: {why}")
        assert "html_message" not in last
        _, page = await eve.get("/hub/spawn-pending/eve")
        assert html.escape(why) in page
        assert why not in page
        # A new request removes the remains.
        await eve.api("POST", "/server", {"image_tag": "y"})
        assert (await eve.progress())[-1]["ready"]


async def test_hub_shows_the_refusal_of_outdated_options(platform: Platform) -> None:
    async with Visitor(platform.hub, "late") as late:
        await late.login()
        words = "There is no such size, only small"
        asked_for = asyncio.Event()

        async def refuse(request: web.Request, handle: Handler) -> web.StreamResponse:
            # Only once the page is shown: the Hub answers an immediate failure in another way.
            await asked_for.wait()
            return await answer(422, "invalid", words, "body", "options", "size")(request, handle)

        platform.controller.script("create", refuse)
        await late.post("/hub/spawn", {"size": "gone"})
        events = await late.watching()
        asked_for.set()
        last = (await events)[-1]
        assert (last["failed"], last["message"]) == (True, f"Spawn failed: {words} (options.size)")
        status, page = await late.get("/hub/spawn-pending/late")
        assert status == 422
        assert f"{words} (options.size)" in page


@pytest.mark.parametrize("token", ["", "expired"])
async def test_hub_shows_that_a_login_has_no_usable_token(platform: Platform, token: str) -> None:
    async with Visitor(platform.hub, f"nobody{token}") as nobody:
        await nobody.login(token)
        status, page = await nobody.get("/hub/spawn")
        assert status == 403
        assert "Log out, log in again" in page


async def test_hub_shows_that_the_controller_is_away(platform: Platform) -> None:
    async with Visitor(platform.hub, "early") as early:
        await early.login()
        platform.controller.script("form", answer(503, retry_after=1))
        status, page = await early.get("/hub/spawn")
        assert status == 503
        assert "cannot be reached at the moment" in page


async def test_hub_stops_a_spawn_in_progress(platform: Platform) -> None:
    controller = platform.controller
    async with Visitor(platform.hub, "hasty") as hasty:
        await hasty.login()
        controller.auto = False
        try:
            await hasty.api("POST", "/server", {"image_tag": "x"})
            await controller.until(lambda: platform.asked("events", "hasty") == 1)
        finally:
            controller.auto = True
        status, _ = await hasty.api("DELETE", "/server")
        assert status in (202, 204)
        await controller.until(lambda: platform.asked("delete", "hasty") == 1)
        assert "hasty" not in controller.labs
        await hasty.api("POST", "/server", {"image_tag": "x"})
        assert (await hasty.progress())[-1]["ready"]


async def test_hub_refuses_named_servers_with_a_reason(platform: Platform) -> None:
    async with Visitor(platform.hub, "many") as many:
        await many.login()
        await many.api("POST", "/server", {"image_tag": "x"})
        assert (await many.progress())[-1]["ready"]
        at = len(platform.hub.log)
        await many.api("POST", "/servers/second", {"image_tag": "x"})
        await platform.hub.logged("Named servers are not supported", at)
        _, page = await many.get("/hub/spawn/many/third")
        assert "Named servers are not supported" in page
        assert platform.controller.labs["many"].status == "running"
        assert platform.asked("delete", "many") == 0


async def test_labs_survive_a_hub_start_without_the_controller(platform: Platform) -> None:
    """The lab answers at the URL that the Hub remembers; here it has a server of its own, which stays."""
    controller = platform.controller
    async with Visitor(platform.hub, "alan") as alan:
        await alan.login()
        await alan.api("POST", "/server", {"image_tag": "x"})
        assert (await alan.progress())[-1]["ready"]
        controller.always |= dict.fromkeys(("status", "delete", "create", "events"), answer(503))
        try:
            at = len(platform.hub.log)
            await platform.restart()
            await platform.hub.logged("alan still running", at)
        finally:
            controller.always.clear()
        assert (await alan.server())["ready"]
        assert platform.asked("delete", "alan") == 0


async def test_labs_and_spawns_in_progress_survive_the_hub(platform: Platform) -> None:
    controller = platform.controller
    async with Visitor(platform.hub, "grace") as grace, Visitor(platform.hub, "joan") as joan:
        await grace.login()
        await joan.login()
        await grace.api("POST", "/server", {"image_tag": "x"})
        assert (await grace.progress())[-1]["ready"]
        controller.auto = False
        try:
            await joan.api("POST", "/server", {"image_tag": "x"})
            await controller.until(lambda: platform.asked("events", "joan") == 1)
            at = len(platform.hub.log)
            await platform.restart()
            await platform.hub.logged("grace still running", at)
            assert (await grace.server())["ready"]
            await controller.until(lambda: platform.asked("status", "joan") > 2)
            assert (await joan.server())["pending"] == "check"
            controller.finish("joan")
        finally:
            controller.auto = True
        await platform.hub.logged("joan still running", at)
        assert (await joan.server())["ready"]
        for name in ("grace", "joan"):
            assert (platform.asked("create", name), platform.asked("delete", name)) == (1, 0)
