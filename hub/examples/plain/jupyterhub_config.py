"""
JupyterHub on a machine or in a container of its own, with labs by Skylab.

It is what `npm run demo -- --hub` and the end-to-end tests run, as it stands. What differs from place to place comes by
the environment:

HUB_URL                 where people come, for a proxy on this machine: http://127.0.0.1:8000
HUB_API_URL             where labs reach the Hub: http://10.0.0.5:8081
HUB_PROXY_API_URL       where the Hub tells its proxy of labs: http://127.0.0.1:8001
HUB_FOLDER              a folder for the database and the cookie secret
SKYLAB_CONTROLLER_URL   the controller's API: https://lab.example.org/nublado/spawner/v1
SKYLAB_HUB_TOKEN_FILE   a file with the Hub's own token, of an account with the scope admin:jupyterlab
CONFIGPROXY_AUTH_TOKEN  shared with the proxy
JUPYTERHUB_CRYPT_KEY    seals what is kept of users' logins: openssl rand -hex 32
"""

import os
import re
from pathlib import Path
from urllib.parse import quote

from jupyterhub.auth import Authenticator
from tornado.httpclient import AsyncHTTPClient, HTTPClientError
from tornado.web import HTTPError

c = get_config()  # noqa: F821

folder = Path(os.environ["HUB_FOLDER"])
controller = os.environ["SKYLAB_CONTROLLER_URL"].rstrip("/")

# Labs: the Hub has no right in Kubernetes, it asks the controller.
c.JupyterHub.spawner_class = "skylab"
c.RESTSpawner.controller_url = controller
c.RESTSpawner.hub_token_file = os.environ["SKYLAB_HUB_TOKEN_FILE"]

# Labs outlive the Hub: it must not stop them when it ends, and its proxy must not end with it. Start that beside it:
#   configurable-http-proxy --ip 127.0.0.1 --port 8000 --api-ip 127.0.0.1 --api-port 8001 --default-target $HUB_API_URL
# It speaks plain HTTP, to this machine alone: people elsewhere come by a server with TLS in front of it.
c.JupyterHub.cleanup_servers = False
c.JupyterHub.cleanup_proxy = False
c.ConfigurableHTTPProxy.should_start = False
c.ConfigurableHTTPProxy.api_url = os.environ["HUB_PROXY_API_URL"]

c.JupyterHub.bind_url = os.environ["HUB_URL"]
c.JupyterHub.hub_bind_url = os.environ["HUB_API_URL"]
c.JupyterHub.hub_connect_url = os.environ["HUB_API_URL"]
c.JupyterHub.db_url = f"sqlite:///{folder / 'jupyterhub.sqlite'}"
c.JupyterHub.cookie_secret_file = str(folder / "cookie_secret")


class ControllerAuthenticator(Authenticator):
    """Users log in with their name and, as the password, the token that the controller knows them by.

    It stands for a real login, such as OAuth: what matters to the spawner is only that the user's token is in
    `auth_state`, under the key `token`.
    """

    async def authenticate(self, handler, data):
        name, token = data.get("username", ""), data.get("password", "")
        # The name that is proven has to be the one that the Hub then goes by.
        if self.normalize_username(name) != name or not re.fullmatch(r"[!-~]+", token):
            return None
        answer = await self._ask_for_form(name, token)
        if answer.code in (400, 401, 403):
            return None
        # The form is the user's alone: who gets it has the right token, and the right name. Whatever else is
        # answered proves nothing: an ingress may have a page of its own for everyone.
        if answer.code != 200 or not answer.body.startswith(b'<div class="skylab-form">'):
            self.log.error("a lab form was asked for, and what answered %s is no lab controller", answer.code)
            raise HTTPError(503, "Nobody can log in right now: the lab controller does not answer.")
        return {"name": name, "auth_state": {"token": token}}

    async def _ask_for_form(self, name, token):
        """Follows no redirect: the token is for the controller alone."""
        url = f"{controller}/lab-form/{quote(name, safe='')}"
        headers = {"Authorization": f"Bearer {token}"}
        try:
            return await AsyncHTTPClient().fetch(url, headers=headers, follow_redirects=False, raise_error=False)
        except (OSError, HTTPClientError) as error:
            self.log.error("the lab controller does not answer: %s", error)
            raise HTTPError(503, "Nobody can log in right now: the lab controller does not answer.") from None


c.JupyterHub.authenticator_class = ControllerAuthenticator
c.Authenticator.enable_auth_state = True
c.Authenticator.allow_all = True
