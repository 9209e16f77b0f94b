"""A Hub that used kubespawner before: its database has kubespawner's state, and the controller knows no lab."""

from conftest import MakeSpawner, messages
from fake_controller import FakeController

#: The state that kubespawner 7.1 leaves for a running server.
STATE = {
    "kubespawner_version": "7.1.0",
    "pod_name": "jupyter-ada",
    "namespace": "jupyterhub",
    "dns_name": "jupyter-ada.jupyterhub.svc.cluster.local",
    "pvc_name": "claim-ada",
}


async def test_poll_says_stopped_for_a_server_of_kubespawner(
    controller: FakeController, make_spawner: MakeSpawner
) -> None:
    spawner = make_spawner()
    spawner.load_state(STATE)
    assert await spawner.poll() == 0
    # As the Hub does: for it, the server ended while the Hub was away.
    await spawner.stop()
    assert controller.labs == {}
    spawner.clear_state()
    assert not STATE.keys() & spawner.get_state().keys()


async def test_start_works_after_kubespawner(controller: FakeController, make_spawner: MakeSpawner) -> None:
    spawner = make_spawner()
    spawner.load_state(STATE)
    await spawner.start()
    assert controller.labs["ada"].status == "running"
    assert (await messages(spawner))[-1][0] == 100
