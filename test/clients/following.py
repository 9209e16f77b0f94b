"""Sends creates with Python's clients, by their defaults and by options: one line of JSON for each answer."""

import json
import os

import httpx
import requests

url, token = os.environ["CREATE_URL"], os.environ["TOKEN"]
body = {"options": {"image_type": "recommended", "size": "small"}}
headers = {"Authorization": f"Bearer {token}", "Idempotency-Key": "one"}
minimal = {**headers, "Prefer": "return=minimal"}


def tell(what: str, answer) -> None:
    print(json.dumps({"client": what, "status": answer.status_code, "redirects": len(answer.history)}))


tell("requests", requests.post(url, json=body, headers=headers, timeout=30))
tell("requests, not following", requests.post(url, json=body, headers=headers, timeout=30, allow_redirects=False))
tell("requests, minimal", requests.post(url, json=body, headers=minimal, timeout=30))
tell("httpx", httpx.post(url, json=body, headers=headers, timeout=30))
tell("httpx, following", httpx.post(url, json=body, headers=headers, timeout=30, follow_redirects=True))
tell("httpx, following, minimal", httpx.post(url, json=body, headers=minimal, timeout=30, follow_redirects=True))
