"""
JupyterHub on a machine or in a container of its own, with labs by Skylab.

`npm run demo -- --hub` and the end-to-end tests run it unchanged. The environment has the settings of a site:

HUB_URL                 the address for people, of a proxy on this machine: http://127.0.0.1:8000
HUB_API_URL             the address of the Hub for labs: http://10.0.0.5:8081
HUB_PROXY_API_URL       the address of the proxy's API for the Hub: http://127.0.0.1:8001
HUB_FOLDER              a folder for the database and the cookie secret
SKYLAB_CONTROLLER_URL   the controller's API: https://lab.example.org/nublado/spawner/v1
SKYLAB_HUB_TOKEN_FILE   a file with the Hub's own token, of an account with the scope admin:jupyterlab
CONFIGPROXY_AUTH_TOKEN  shared with the proxy
JUPYTERHUB_CRYPT_KEY    encrypts the stored logins of users: openssl rand -hex 32
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

# Labs outlive the Hub: it must not stop them when it ends, and its proxy must not end with it. Start the proxy:
#   configurable-http-proxy --ip 127.0.0.1 --port 8000 --api-ip 127.0.0.1 --api-port 8001 --default-target $HUB_API_URL
# The proxy serves plain HTTP on this machine only: put a server with TLS in front of it for other machines.
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
    """Users log in with their name and, as the password, their token for the controller.

    It takes the place of a real login, such as OAuth. The spawner needs only the user's token in `auth_state`, under
    the key `token`.
    """

    async def authenticate(self, handler, data):
        name, token = data.get("username", ""), data.get("password", "")
        # The proven name must be the name that the Hub uses.
        if self.normalize_username(name) != name or not re.fullmatch(r"[!-~]+", token):
            return None
        answer = await self._ask_for_form(name, token)
        if answer.code in (400, 401, 403):
            return None
        # Only the user gets the form: it proves both token and name. Any other answer proves nothing, since an ingress
        # may have a page of its own for everyone.
        if answer.code != 200 or not answer.body.startswith(b'<div class="skylab-form">'):
            self.log.error("a lab form was asked for, and what answered %s is no lab controller", answer.code)
            raise HTTPError(503, "Nobody can log in right now: the lab controller does not answer.")
        return {"name": name, "auth_state": {"token": token}}

    async def _ask_for_form(self, name, token):
        """Follows no redirect: only the controller must get the token."""
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
