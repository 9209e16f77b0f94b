"""Counts the events without data that httpx-sse finds in one stream."""

import os

import httpx
from httpx_sse import connect_sse

headers = {"Authorization": f"Bearer {os.environ['TOKEN']}"}
url = f"{os.environ['API']}/labs/{os.environ['LAB_USER']}/events"
with httpx.Client(headers=headers, timeout=60) as client, connect_sse(client, "GET", url) as source:
    print(sum(not event.data for event in source.iter_sse()))
