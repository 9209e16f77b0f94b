"""What Schemathesis cannot know of the API: tokens of users, and which odd answers are correct.

SKYLAB_FUZZ_PEOPLE names a JSON file: {"users": {name: token}}. That of labs has "admin": token, and for the routes of
activity "labs": {name: token}; that of tenants has "tenants": [name], that of apps "apps": [id], "templates": [id] and
"groups": [name], that of containers "operator": token, "containers": {uuid: owner}, one of them "ended", and
"instances": [id].
"""

import hashlib
import json
import os
import re

import schemathesis
from schemathesis.core.failures import Failure
from schemathesis.transport.requests import SameHostRedirectsSession

with open(os.environ["SKYLAB_FUZZ_PEOPLE"], encoding="utf-8") as file:
    PEOPLE = json.load(file)
USERS = PEOPLE["users"]
NAMES = sorted(USERS)
ADMIN = PEOPLE.get("admin")
LABS = PEOPLE.get("labs", {})
OPERATOR = PEOPLE.get("operator")
OWNERS = PEOPLE.get("containers", {})
TOKENS = [*USERS.values(), *LABS.values(), *(token for token in (ADMIN, OPERATOR) if token)]
# Existing values of parameters in paths.
EXISTING = {
    "username": NAMES,
    **({"name": PEOPLE["tenants"]} if "tenants" in PEOPLE else {}),
    **({"id": PEOPLE["apps"]} if "apps" in PEOPLE else {}),
    **({"uuid": sorted(OWNERS)} if OWNERS else {}),
}
# The same of parameters in queries.
EXISTING_IN_QUERIES = {"container_uuid": sorted(OWNERS), "instance_id": PEOPLE.get("instances", [])}
EVENT_ID = re.compile(r"[0-9]{1,16}-[0-9]{1,9}")

# Clients do not follow the 303 of a create: it leads to a route of administrators (docs/clients.md).
SameHostRedirectsSession.get_redirect_target = lambda self, response: None


def draw(text: str, parts: int) -> int:
    """Maps a text to a part, always the same, so that a seed repeats a run."""
    return int(hashlib.sha256(text.encode("utf-8", "replace")).hexdigest(), 16) % parts


def scopes_of(operation) -> set:
    security = operation.definition.raw.get("security", [])
    return {scope for requirement in security for scopes in requirement.values() for scope in scopes}


def name_existing(case) -> str:
    """Uses an existing user or tenant in most good requests: a name drawn at random has no lab, no token and no tenant."""
    given = case.path_parameters or {}
    parameter = next((each for each in EXISTING if each in given), None)
    name = str(given.get(parameter, case.id))
    is_good = case.meta is not None and case.meta.generation.mode.is_positive
    existing = PEOPLE["templates"] if "/templates/" in case.path else EXISTING.get(parameter, [])
    if parameter is None or name in existing or not is_good or draw(name, 10) == 0:
        return name
    case.path_parameters[parameter] = existing[draw(name, len(existing))]
    return case.path_parameters[parameter]


def name_in_query(case) -> None:
    """Uses an existing container or machine in most good requests."""
    is_good = case.meta is not None and case.meta.generation.mode.is_positive
    for parameter, existing in EXISTING_IN_QUERIES.items():
        given = str((case.query or {}).get(parameter, ""))
        if is_good and existing and given and given not in existing and draw(given, 10) > 0:
            case.query[parameter] = existing[draw(given, len(existing))]


def follow_what_ends(case) -> None:
    """Output is followed until its container has ended, so only such a one is followed."""
    if case.path.endswith("/log") and "follow" in (case.query or {}):
        case.path_parameters["uuid"] = PEOPLE["ended"]


IMAGE_OPTIONS = ("image_tag", "image_list", "image_dropdown")


def name_an_image(case) -> None:
    """Uses an existing image in half of the good creates: the document cannot list the registry's images."""
    body = case.body
    is_good = case.meta is not None and case.meta.generation.mode.is_positive
    if not is_good or not isinstance(body, dict) or not isinstance(body.get("options"), dict) or draw(json.dumps(body, default=str), 2) == 0:
        return
    for option in IMAGE_OPTIONS:
        body["options"].pop(option, None)
    body["options"]["image_type"] = "recommended"


def name_a_template(case) -> None:
    """Uses an existing template and group in half of the good creations of apps."""
    body = case.body
    is_good = case.meta is not None and case.meta.generation.mode.is_positive
    if not is_good or not isinstance(body, dict) or "templateId" not in body or draw(json.dumps(body, default=str), 2) == 0:
        return
    body["templateId"] = PEOPLE["templates"][0]
    body["groupName"] = PEOPLE["groups"][0]
    for key in ("instanceType", "env"):
        body.pop(key, None)


def ask_for_little(case) -> None:
    """Lets half of the good containers fit a machine: the document cannot list the site's types."""
    body = case.body
    is_good = case.meta is not None and case.meta.generation.mode.is_positive
    if not is_good or not isinstance(body, dict) or "runtime_constraints" not in body or draw(json.dumps(body, default=str), 2) == 0:
        return
    body["runtime_constraints"] = {"vcpus": 1, "ram": 1}
    for key in ("mounts", "scheduling_parameters"):
        body.pop(key, None)


@schemathesis.auth()
class Tokens:
    """Chooses a token with the right to ask: an administrator's, the user's in the path, or a user's, one for each tenant."""

    def get(self, case, context):
        return ADMIN or TOKENS[0]

    def set(self, case, data, context):
        token = data
        follow_what_ends(case)
        name = name_existing(case)
        name_an_image(case)
        name_a_template(case)
        name_in_query(case)
        ask_for_little(case)
        if case.path.startswith("/activity/lab/"):
            token = LABS.get(name) or LABS[sorted(LABS)[draw(name, len(LABS))]]
        elif "exec:notebook" in scopes_of(context.operation):
            token = USERS.get(OWNERS.get(name, name)) or USERS[NAMES[draw(name, len(NAMES))]]
        elif any("managementToken" in each for each in context.operation.definition.raw.get("security", [])):
            token = OPERATOR
        case.headers["Authorization"] = f"Bearer {token}"


@schemathesis.check
def unavailable_says_when(ctx, response, case):
    """Fails for a 503 without Retry-After."""
    if response.status_code == 503 and "retry-after" not in response.headers:
        raise Failure(operation=case.operation.label, title="503 without Retry-After", message=response.text)


@schemathesis.check
def tells_nothing_of_the_inside(ctx, response, case):
    """Fails when a body quotes a stack trace, a path of the program or a token."""
    text = response.text or ""
    for word in ("node_modules", "node:internal", "    at ", *TOKENS):
        if word in text:
            raise Failure(operation=case.operation.label, title="A body reveals internals", message=text[:500])


@schemathesis.hook
def filter_failure(context, failure, case, response) -> bool:
    """Returns False for answers that follow the specification and only break a convention."""
    kind = type(failure).__name__
    if failure.title == "SSE event violates schema":
        # Schemathesis takes the schema of a stream for that of one event; the document has it for the text of the stream.
        return False
    if kind == "AcceptedNegativeData" and failure.message.endswith("in header - object with unexpected properties"):
        # No server refuses a header that it does not know.
        return False
    if kind == "UseAfterFree":
        # After 202 the lab is still shown until its deletion is done, and its events can be read for ten minutes more.
        # 204 says that no event follows the named one.
        # A container stays, and is Cancelled.
        is_stream = "text/event-stream" in str(response.headers.get("content-type"))
        return not (b'"terminating"' in response.content or "/containers/" in case.path or is_stream or response.status_code == 204)
    if kind == "RejectedPositiveData" and response.status_code == 400:
        # Header values that Schemathesis counts as valid although the document's pattern forbids them.
        headers = {name.lower(): value for name, value in (case.headers or {}).items()}
        return EVENT_ID.fullmatch(str(headers.get("last-event-id"))) is not None
    return True
