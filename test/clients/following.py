"""Sends creates with Python's clients, with their defaults and with options: one line of JSON for each response."""

import json
import os

import httpx
import requests

url, token = os.environ["CREATE_URL"], os.environ["TOKEN"]
body = {"options": {"image_type": "recommended", "size": "small"}}
headers = {"Authorization": f"Bearer {token}", "Idempotency-Key": "one"}
minimal = {**headers, "Prefer": "return=minimal"}


def show(what: str, answer) -> None:
    print(json.dumps({"client": what, "status": answer.status_code, "redirects": len(answer.history)}))


show("requests", requests.post(url, json=body, headers=headers, timeout=30))
show("requests, not following", requests.post(url, json=body, headers=headers, timeout=30, allow_redirects=False))
show("requests, minimal", requests.post(url, json=body, headers=minimal, timeout=30))
show("httpx", httpx.post(url, json=body, headers=headers, timeout=30))
show("httpx, following", httpx.post(url, json=body, headers=headers, timeout=30, follow_redirects=True))
show("httpx, following, minimal", httpx.post(url, json=body, headers=minimal, timeout=30, follow_redirects=True))
