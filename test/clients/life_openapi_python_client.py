"""The life of a lab through the client that openapi-python-client made of the document: one line of JSON."""

import json
import os

from skylab_client import AuthenticatedClient
from skylab_client.api.labs import create_lab, delete_lab, follow_events, get_lab, get_own_lab, list_labs
from skylab_client.models import CreateLab, CreateLabOptions, ErrorBody, ErrorType, ImageType, Lab, Size

user_name = os.environ["LAB_USER"]


def client_of(token: str) -> AuthenticatedClient:
    return AuthenticatedClient(base_url=os.environ["ORIGIN"], token=token, timeout=60)


user, admin = client_of(os.environ["TOKEN"]), client_of(os.environ["ADMIN"])


def refusal(answer) -> list:
    assert isinstance(answer.parsed, ErrorBody), answer
    first = answer.parsed.detail[0]
    assert isinstance(first.type_, ErrorType), first
    return [int(answer.status_code), first.type_.value]


def last_event() -> str:
    text = follow_events.sync(user_name, client=user)
    assert isinstance(text, str), text
    return [line for line in text.splitlines() if line.startswith("event: ")][-1].removeprefix("event: ")


body = CreateLab(options=CreateLabOptions(image_type=ImageType.RECOMMENDED, size=Size.SMALL))
created = create_lab.sync_detailed(user_name, client=user, body=body, prefer="return=minimal")
outcome = last_event()
lab = get_own_lab.sync(client=user)
assert isinstance(lab, Lab), lab
print(
    json.dumps(
        {
            "created": int(created.status_code),
            "location": created.headers["Location"],
            "outcome": outcome,
            "status": lab.status.value,
            "first": lab.events[0].event.value,
            "listed": user_name in list_labs.sync(client=admin),
            "again": refusal(create_lab.sync_detailed(user_name, client=user, body=body)),
            "forbidden": refusal(get_lab.sync_detailed(user_name, client=user)),
            "deleted": int(delete_lab.sync_detailed(user_name, client=admin).status_code),
            "deletion": last_event(),
            "gone": refusal(get_own_lab.sync_detailed(client=user)),
        }
    )
)
