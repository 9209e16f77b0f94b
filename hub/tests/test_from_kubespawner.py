"""A Hub whose servers were kubespawner's: its database has their state, and the controller knows none of them."""

from conftest import MakeSpawner, messages
from fake_controller import FakeController

#: As kubespawner 7.1 leaves it for a server that runs.
STATE = {
    "kubespawner_version": "7.1.0",
    "pod_name": "jupyter-ada",
    "namespace": "jupyterhub",
    "dns_name": "jupyter-ada.jupyterhub.svc.cluster.local",
    "pvc_name": "claim-ada",
}


async def test_a_server_of_kubespawner_counts_as_stopped(controller: FakeController, make_spawner: MakeSpawner) -> None:
    spawner = make_spawner()
    spawner.load_state(STATE)
    assert await spawner.poll() == 0
    # So the Hub does, to whom it is a server that ended while the Hub was away.
    await spawner.stop()
    assert controller.labs == {}
    spawner.clear_state()
    assert not STATE.keys() & spawner.get_state().keys()


async def test_the_next_start_is_like_any_other(controller: FakeController, make_spawner: MakeSpawner) -> None:
    spawner = make_spawner()
    spawner.load_state(STATE)
    await spawner.start()
    assert controller.labs["ada"].status == "running"
    assert (await messages(spawner))[-1][0] == 100
