"""Readers that ask for a stream and take nothing, over connections with the least buffers a kernel gives.

Reads one line of JSON, {"port", "streams": [{"name", "token", "count"}]}; prints "stuck" when all have sent their
requests; ends with its input.
"""

import json
import socket
import sys

question = json.loads(sys.stdin.readline())
sockets = []
for stream in question["streams"]:
    for _ in range(stream["count"]):
        reader = socket.socket()
        # Before it connects: later the window would be announced already.
        reader.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1)
        reader.connect(("127.0.0.1", question["port"]))
        path = f"/nublado/spawner/v1/labs/{stream['name']}/events"
        head = f"GET {path} HTTP/1.1\r\nHost: bench\r\nAuthorization: Bearer {stream['token']}\r\n\r\n"
        reader.sendall(head.encode())
        sockets.append(reader)
print("stuck", flush=True)
sys.stdin.read()
