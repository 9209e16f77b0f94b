"""
A Hub configured by Helm values as Zero to JupyterHub's chart (4.4) does it, for the parts that concern a spawner, in the
chart's order: what the chart says itself, then `hub.config` by its sections, then `hub.extraConfig` by its names. The
chart's own file needs a pod around it.

The Hub's address is made of the name of its Service and of a namespace; here the two together are 127.0.0.1.
"""

import json
import os
import pathlib
from urllib.parse import urlsplit

c = get_config()  # noqa: F821

values = json.loads(pathlib.Path(os.environ["HELM_VALUES"]).read_text())


def get_config(key, default=None):
    value = values
    for level in key.split("."):
        if not isinstance(value, dict) or level not in value:
            return default
        value = value[level]
    return value


def get_name(name):
    return {"hub": "127.0.0"}[name]


def get_name_env(name, suffix=""):
    return {"hub_SERVICE_PORT": str(urlsplit(os.environ["HUB_API_URL"]).port)}[name + suffix]


# The chart's settings before it reads any value.
c.JupyterHub.spawner_class = "kubespawner.KubeSpawner"
c.ConfigurableHTTPProxy.api_url = os.environ["HUB_PROXY_API_URL"]
c.ConfigurableHTTPProxy.should_start = False
c.JupyterHub.cleanup_servers = False
c.JupyterHub.last_activity_interval = 60
c.JupyterHub.tornado_settings = {"slow_spawn_timeout": 0}
c.JupyterHub.db_url = f"sqlite:///{os.environ['HUB_FOLDER']}/jupyterhub.sqlite"
c.JupyterHub.hub_bind_url = os.environ["HUB_API_URL"]
c.JupyterHub.hub_connect_url = "http://hub:" + get_name_env("hub", "_SERVICE_PORT")
c.KubeSpawner.namespace = os.environ["POD_NAMESPACE"]

# The values that the chart reads by name. Helm has already removed keys that are null.
c.JupyterHub.concurrent_spawn_limit = get_config("hub.concurrentSpawnLimit")
c.JupyterHub.allow_named_servers = get_config("hub.allowNamedServers")
c.Spawner.consecutive_failure_limit = get_config("hub.consecutiveFailureLimit")
c.KubeSpawner.start_timeout = get_config("singleuser.startTimeout")
if get_config("singleuser.cmd", ...) is not ...:
    c.Spawner.cmd = get_config("singleuser.cmd")
c.JupyterHub.services = []
c.JupyterHub.load_roles = []
if get_config("cull.enabled", False):
    times = [f"--timeout={get_config('cull.timeout')}", f"--cull-every={get_config('cull.every')}"]
    command = ["python3", "-m", "jupyterhub_idle_culler", *times]
    c.JupyterHub.services.append({"name": "jupyterhub-idle-culler", "command": command})
    scopes = ["list:users", "read:users:activity", "read:servers", "delete:servers"]
    role = {"name": "jupyterhub-idle-culler", "scopes": scopes, "services": ["jupyterhub-idle-culler"]}
    c.JupyterHub.load_roles.append(role)

for section, settings in get_config("hub.config", {}).items():
    c[section].update(settings)

for name, code in sorted(get_config("hub.extraConfig", {}).items()):
    exec(compile(code, name, "exec"))
