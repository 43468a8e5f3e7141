"""An ASGI app that grows when it is told to: by a request, or by SIGUSR2, which finds one worker among several."""
import asyncio
import json
import os
import signal
import time
from urllib.parse import parse_qsl

MEGABYTE = 1_000_000
SHARED = [str(number) for number in range(int(os.environ.get("SHARED_OBJECTS", "0")))]
BALLAST = os.urandom(int(os.environ.get("BALLAST_MB", "0")) * MEGABYTE)  # what the code weighs before any request
KEPT = []


def grow(megabytes: int) -> None:
    KEPT.append(b"x" * (megabytes * MEGABYTE))  # written to, so it is resident


def grow_as_told() -> None:
    with open(os.environ["GROW_FILE"]) as file:
        grow(int(file.read()))


def touch() -> int:
    """Reads every shared object: the reference counts are written, so each worker gets pages of its own."""
    return sum(len(text) for text in SHARED)


async def act(path: str, query: dict) -> object:
    if path == "/leak":
        grow(int(query["mb"]))
    elif path == "/touch":
        touch()
    elif path == "/slow":
        await asyncio.sleep(float(query["seconds"]))
    elif path == "/block":
        time.sleep(float(query["seconds"]))
    elif path == "/stubborn":
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        time.sleep(float(query["seconds"]))
    return {"pid": os.getpid()}


async def lifespan(receive, send) -> None:
    await receive()
    if os.path.exists(os.environ.get("FAIL_FILE", "")):
        await asyncio.sleep(0.3)  # so that an onlooker has a chance to see it
        return await send({"type": "lifespan.startup.failed", "message": "the flag says no"})
    await asyncio.sleep(float(os.environ.get("STARTUP_SECONDS", "0")))
    if "GROW_FILE" in os.environ:
        asyncio.get_running_loop().add_signal_handler(signal.SIGUSR2, grow_as_told)
    await send({"type": "lifespan.startup.complete"})
    await receive()
    await asyncio.sleep(float(os.environ.get("SHUTDOWN_SECONDS", "0")))
    return await send({"type": "lifespan.shutdown.complete"})


async def app(scope, receive, send) -> None:
    if scope["type"] == "lifespan":
        return await lifespan(receive, send)
    query = dict(parse_qsl(scope["query_string"].decode()))
    body = json.dumps(await act(scope["path"], query)).encode()
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-type", b"application/json")]})
    return await send({"type": "http.response.body", "body": body})
