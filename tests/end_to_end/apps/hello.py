"""A plain ASGI app with switches: what it does is in the path, how it starts is in the environment."""
import asyncio
import ctypes
import json
import os
import signal
import time
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import parse_qsl

time.sleep(float(os.environ.get("IMPORT_SECONDS", "0")))
if "IMPORT_ERROR" in os.environ:
    raise RuntimeError(os.environ["IMPORT_ERROR"])
if "IMPORT_EXIT" in os.environ:
    os._exit(int(os.environ["IMPORT_EXIT"]))

LOADED_BY = os.getpid()
GIL_HOLDER = ctypes.PyDLL(None)  # calls into C through it keep the GIL
KEPT = []
threads = ThreadPoolExecutor(2)


def spin(seconds: float) -> None:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        pass


def leave_orphans(count: int) -> None:
    """Grandchildren whose parent is gone before they end, each with another exit code."""
    child = os.fork()
    if child != 0:
        os.waitpid(child, 0)
        return
    for number in range(count):
        if os.fork() == 0:
            time.sleep(0.2)
            os._exit(number % 256)
    os._exit(0)


async def act(path: str, query: dict) -> object:
    seconds = float(query.get("seconds", "0"))
    if path == "/slow":
        await asyncio.sleep(seconds)
    elif path == "/block":
        time.sleep(seconds)
    elif path == "/spin":
        await asyncio.get_running_loop().run_in_executor(threads, spin, seconds)
    elif path == "/hog":
        spin(seconds)
    elif path == "/gil":
        GIL_HOLDER.sleep(int(seconds))
    elif path == "/exit":
        os._exit(int(query.get("code", "0")))
    elif path == "/signal":
        os.kill(os.getpid(), getattr(signal, query["name"]))
    elif path == "/leak":
        KEPT.append(b"x" * int(query["bytes"]))
    elif path == "/env":
        return os.environ.get(query["name"])
    elif path == "/who":
        return {"uid": os.getuid(), "gid": os.getgid(), "groups": os.getgroups(), "cwd": os.getcwd()}
    elif path == "/orphans":
        leave_orphans(int(query["count"]))
    elif path == "/print":
        print(query["text"], flush=True)
    return {"pid": os.getpid(), "loaded_by": LOADED_BY, "parent": os.getppid(), "path": path}


async def lifespan(receive, send) -> None:
    await receive()
    await asyncio.sleep(float(os.environ.get("STARTUP_SECONDS", "0")))
    await send({"type": "lifespan.startup.complete"})
    if "DIE_AFTER_READY" in os.environ:
        asyncio.get_running_loop().call_later(float(os.environ["DIE_AFTER_READY"]), os._exit, 7)
    await receive()
    if "SHUTDOWN_FILE" in os.environ:
        with open(os.environ["SHUTDOWN_FILE"], "a") as file:
            file.write(f"{os.getpid()}\n")
    await send({"type": "lifespan.shutdown.complete"})


async def app(scope, receive, send) -> None:
    if scope["type"] == "lifespan":
        return await lifespan(receive, send)
    if scope["type"] != "http":
        return None
    query = dict(parse_qsl(scope["query_string"].decode()))
    body = json.dumps(await act(scope["path"], query)).encode()
    await send({"type": "http.response.start", "status": 200,
                "headers": [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]})
    await send({"type": "http.response.body", "body": body})
    return None


def factory():
    return app
