"""Reads one event stream with sseclient-py: one line of JSON for each event."""

import json
import os

import requests
from sseclient import SSEClient

headers = {"Authorization": f"Bearer {os.environ['TOKEN']}", "Accept": "text/event-stream"}
url = f"{os.environ['API']}/labs/{os.environ['LAB_USER']}/events"
with requests.get(url, headers=headers, stream=True, timeout=60) as answer:
    answer.raise_for_status()
    for event in SSEClient(answer).events():
        print(json.dumps([event.id, event.event, event.data]))
