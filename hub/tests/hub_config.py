"""Configuration of the real Hub that `test_hub.py` starts; its environment has all addresses."""

import json
import os
from typing import Any

from jupyterhub.auth import Authenticator
from jupyterhub.proxy import Proxy
from traitlets.config import get_config

given = json.loads(os.environ["HUB_TEST"])


class TokenAuthenticator(Authenticator):  # type: ignore[misc]
    """Takes the token for the controller as the password."""

    async def authenticate(self, handler: Any, data: dict[str, str]) -> dict[str, Any]:
        return {"name": data["username"], "auth_state": {"token": data["password"]}}


class NoProxy(Proxy):  # type: ignore[misc]
    """Keeps routes that no one uses, since no test visits a lab. A Hub that starts after a kill gets them too."""

    should_start = False
    routes: dict[str, Any] = {}  # noqa: RUF012

    async def add_route(self, routespec: str, target: str, data: dict[str, Any]) -> None:
        self.routes[routespec] = {"routespec": routespec, "target": target, "data": data}

    async def delete_route(self, routespec: str) -> None:
        self.routes.pop(routespec, None)

    async def get_all_routes(self) -> dict[str, Any]:
        return dict(self.routes)


c = get_config()
c.JupyterHub.spawner_class = "skylab"
c.JupyterHub.authenticator_class = TokenAuthenticator
c.JupyterHub.proxy_class = NoProxy
c.JupyterHub.hub_bind_url = given["url"]
c.JupyterHub.bind_url = given["url"]
c.JupyterHub.db_url = f"sqlite:///{given['folder']}/hub.sqlite"
c.JupyterHub.cookie_secret_file = f"{given['folder']}/cookie_secret"
c.JupyterHub.init_spawners_timeout = 1
c.JupyterHub.cleanup_servers = False
c.JupyterHub.allow_named_servers = True
# A start is answered at once, and followed by its progress.
c.JupyterHub.tornado_settings = {"slow_spawn_timeout": 0}
c.JupyterHub.services = [{"name": "tests", "api_token": given["service_token"]}]
c.JupyterHub.load_roles = [{"name": "tests", "services": ["tests"], "scopes": ["admin:users", "admin:servers"]}]
c.Authenticator.allow_all = True
c.Authenticator.enable_auth_state = True
c.CryptKeeper.keys = [bytes.fromhex(given["key"])]
c.Spawner.http_timeout = 20
c.RESTSpawner.controller_url = given["controller_url"]
c.RESTSpawner.hub_token_file = given["hub_token_file"]
c.RESTSpawner.retry_delay = 0.05
