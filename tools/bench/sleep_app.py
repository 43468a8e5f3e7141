"""What tools.bench.sleeps puts to sleep: it answers at once, talks over a WebSocket, and does not start while the file
that SLEEP_APP_BROKEN names is there."""
import os

BODY = b"ready"


async def lifespan(receive, send) -> None:
    await receive()
    if os.path.exists(os.environ.get("SLEEP_APP_BROKEN", "")):
        return await send({"type": "lifespan.startup.failed", "message": "the shelf is empty"})
    await send({"type": "lifespan.startup.complete"})
    await receive()
    await send({"type": "lifespan.shutdown.complete"})


async def converse(receive, send) -> None:
    await receive()
    await send({"type": "websocket.accept"})
    while (await receive())["type"] == "websocket.receive":
        await send({"type": "websocket.send", "text": str(os.getpid())})


async def app(scope, receive, send) -> None:
    if scope["type"] == "lifespan":
        await lifespan(receive, send)
    elif scope["type"] == "websocket":
        await converse(receive, send)
    elif scope["type"] == "http":
        headers = [(b"content-length", b"%d" % len(BODY)), (b"x-worker", b"%d" % os.getpid())]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": BODY})
