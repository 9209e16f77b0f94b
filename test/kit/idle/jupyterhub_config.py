"""
A Hub whose servers are processes of this machine. Each server's environment is written to a file, as the controller gets
it in a request for a lab.

HUB_ADMIN_TOKEN     the token of a service that may start any server
LAB_ENVIRONMENT     folder of the virtual environment with JupyterLab
LAB_PYTHONPATH      folder with the packages of this Hub's version
LAB_ACTIVITY_SECONDS  how often servers tell the Hub of activity; without it, as JupyterHub does
"""

import json
import os
from pathlib import Path

from jupyterhub.spawner import SimpleLocalProcessSpawner

c = get_config()  # noqa: F821

folder = Path(os.environ["HUB_FOLDER"])


class LocalLabs(SimpleLocalProcessSpawner):
    """Starts a server here, and writes down its environment and port."""

    async def start(self):
        address = await super().start()
        record = {"env": self.get_env(), "port": self.port}
        (folder / f"{self.user.name}.json").write_text(json.dumps(record))
        return address


c.JupyterHub.spawner_class = LocalLabs
c.SimpleLocalProcessSpawner.home_dir_template = str(folder / "home-{username}")
c.Spawner.cmd = [f"{os.environ['LAB_ENVIRONMENT']}/bin/jupyterhub-singleuser"]
c.Spawner.args = ["--allow-root"]
# Six servers at once on a busy machine answer after half a minute, when the Hub would give them up.
c.Spawner.start_timeout = c.Spawner.http_timeout = 120
c.Spawner.env_keep = ["PATH", "SKYLAB_BOX", "PYTHONDONTWRITEBYTECODE"]
c.Spawner.environment = {"PYTHONPATH": os.environ["LAB_PYTHONPATH"]}
if activity_seconds := os.environ.get("LAB_ACTIVITY_SECONDS"):
    c.Spawner.environment["JUPYTERHUB_ACTIVITY_INTERVAL"] = activity_seconds
    c.JupyterHub.last_activity_interval = int(activity_seconds)
# The tokens of these users' servers have lost `access:servers`.
c.Spawner.server_token_scopes = lambda spawner: ["users:activity!user"] if spawner.user.name.startswith("narrow") else []

c.JupyterHub.authenticator_class = "dummy"
c.Authenticator.allow_all = True
c.JupyterHub.services = [{"name": "tests", "api_token": os.environ["HUB_ADMIN_TOKEN"]}]
c.JupyterHub.load_roles = [{"name": "tests", "services": ["tests"], "scopes": ["admin:users", "admin:servers"]}]

c.JupyterHub.cleanup_servers = False
c.JupyterHub.cleanup_proxy = False
c.ConfigurableHTTPProxy.should_start = False
c.ConfigurableHTTPProxy.api_url = os.environ["HUB_PROXY_API_URL"]
c.JupyterHub.bind_url = os.environ["HUB_URL"]
c.JupyterHub.hub_bind_url = os.environ["HUB_API_URL"]
c.JupyterHub.hub_connect_url = os.environ["HUB_API_URL"]
c.JupyterHub.db_url = f"sqlite:///{folder / 'jupyterhub.sqlite'}"
c.JupyterHub.cookie_secret_file = str(folder / "cookie_secret")
