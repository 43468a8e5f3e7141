"""What lasts: WebSockets that say which process answers, and streams of server-sent events (/events?count=N, ten a
second; without a count they have no end)."""
import asyncio
import itertools
import os
from urllib.parse import parse_qsl

PAUSE_SECONDS = 0.1


async def app(scope, receive, send):
    if scope["type"] == "websocket":
        await converse(receive, send)
    elif scope["type"] == "http":
        await stream(send, dict(parse_qsl(scope["query_string"].decode())).get("count"))


async def converse(receive, send):
    assert (await receive())["type"] == "websocket.connect"
    await send({"type": "websocket.accept"})
    while (await receive())["type"] == "websocket.receive":
        await send({"type": "websocket.send", "text": str(os.getpid())})


async def stream(send, count):
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-type", b"text/event-stream")]})
    for number in range(int(count)) if count else itertools.count():
        await send({"type": "http.response.body", "body": b"data: %d\n\n" % number, "more_body": True})
        await asyncio.sleep(PAUSE_SECONDS)
    await send({"type": "http.response.body", "body": b""})
