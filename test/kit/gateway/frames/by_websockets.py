"""Bytes of frames, as `websockets` writes them: for each line with a side's plan a length and the bytes."""

import json
import random
import struct
import sys
from types import SimpleNamespace

import websockets.frames
from websockets.extensions.permessage_deflate import PerMessageDeflate
from websockets.protocol import Protocol, Side

ALPHABET = b"abcdefghijklmnopqrstuvwxyz"


def payload_of(size):
    return (ALPHABET * (size // 26 + 1))[:size]


def send(protocol, frame):
    data = payload_of(frame["size"])
    match frame["do"]:
        case "data" if not frame["first"]:
            protocol.send_continuation(data, frame["fin"])
        case "data" if frame["kind"] == "text":
            protocol.send_text(data, frame["fin"])
        case "data":
            protocol.send_binary(data, frame["fin"])
        case "ping":
            protocol.send_ping(data)
        case "pong":
            protocol.send_pong(data)
        case "close":
            protocol.send_close(frame["code"], data.decode())


def frames_of(side):
    source = random.Random(side["seed"])
    websockets.frames.secrets = SimpleNamespace(token_bytes=source.randbytes)
    protocol = Protocol(Side.CLIENT if side["isClient"] else Side.SERVER, max_size=None)
    if side["compresses"]:
        protocol.extensions = [PerMessageDeflate(False, False, 15, 15)]
    for frame in side["frames"]:
        send(protocol, frame)
    return b"".join(protocol.data_to_send())


for line in sys.stdin:
    written = frames_of(json.loads(line))
    sys.stdout.buffer.write(struct.pack("!I", len(written)) + written)
    sys.stdout.buffer.flush()
