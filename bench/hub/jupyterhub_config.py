"""
The Hub of `npm run bench -- hub`: the same one for both spawners.

BENCH_SPAWNER           the spawner: skylab, kubespawner, or hooks: kubespawner whose hooks make all objects of a lab
BENCH_KUBESPAWNER       kubespawner's traitlets for pods like those of Skylab, as JSON
BENCH_LABS              for hooks: a file with namespace and objects of each user's lab, as JSON
BENCH_STUB_URL          the stub that answers for all labs
BENCH_TOKEN             the load's token, with an administrator's rights over users and their servers
HUB_…, SKYLAB_…         as in hub/examples/plain/jupyterhub_config.py; RESTSpawner takes its defaults from SKYLAB_…
"""

import json
import os
from pathlib import Path

c = get_config()  # noqa: F821

stub_url = os.environ["BENCH_STUB_URL"]
is_ours = os.environ["BENCH_SPAWNER"] == "skylab"

# Pods on nodes of KWOK have no server. Either spawner does all of its work, and then returns the stub's address instead.
if is_ours:
    from jupyterhub_skylab import RESTSpawner

    class BenchSpawner(RESTSpawner):
        async def start(self):
            await super().start()
            return stub_url

else:
    from kubespawner import KubeSpawner

    class BenchSpawner(KubeSpawner):
        def _get_pod_url(self, pod):
            return stub_url


c.JupyterHub.spawner_class = BenchSpawner
if os.environ["BENCH_SPAWNER"] == "hooks":
    import sys

    sys.dont_write_bytecode = True
    sys.path.insert(0, str(Path(__file__).parent))
    import hooks

    hooks.configure(c, json.loads(Path(os.environ["BENCH_LABS"]).read_text()))
for name, value in json.loads(os.environ["BENCH_KUBESPAWNER"]).items():
    setattr(c.KubeSpawner, name, value)
# RESTSpawner's time-outs for both: slow spawns are to be measured, not given up.
c.Spawner.start_timeout = 630
c.Spawner.http_timeout = 120

# All at once. A spawn is answered at once and its progress followed; a stop is answered when it is done.
c.JupyterHub.concurrent_spawn_limit = 0
c.JupyterHub.active_server_limit = 0
c.JupyterHub.tornado_settings = {"slow_spawn_timeout": 0, "slow_stop_timeout": 630}

folder = Path(os.environ["HUB_FOLDER"])
c.JupyterHub.db_url = f"sqlite:///{folder / 'jupyterhub.sqlite'}"
c.JupyterHub.cookie_secret_file = str(folder / "cookie_secret")
c.JupyterHub.bind_url = os.environ["HUB_URL"]
c.JupyterHub.hub_bind_url = os.environ["HUB_API_URL"]
c.JupyterHub.hub_connect_url = os.environ["HUB_API_URL"]
c.JupyterHub.cleanup_servers = False
c.JupyterHub.cleanup_proxy = False
c.ConfigurableHTTPProxy.should_start = False
c.ConfigurableHTTPProxy.api_url = os.environ["HUB_PROXY_API_URL"]

# Users never log in here: the load makes them, with the `auth_state` that a login would have left.
c.JupyterHub.authenticator_class = "dummy"
c.Authenticator.allow_all = True
c.Authenticator.enable_auth_state = True
c.JupyterHub.services = [{"name": "bench", "api_token": os.environ["BENCH_TOKEN"]}]
c.JupyterHub.load_roles = [
    {"name": "bench", "services": ["bench"], "scopes": ["admin:users", "admin:servers"]}
]
