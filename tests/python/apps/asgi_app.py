"""A plain ASGI app, for tests: no framework, so that what is seen is the server's."""
import asyncio
import json
import os
import time

hooks = []


def after_fork():
    hooks.append("post_fork in %d" % os.getpid())


async def app(scope, receive, send):
    if scope["type"] == "lifespan":
        await lifespan(receive, send)
    elif scope["type"] == "websocket":
        await websocket(scope, receive, send)
    else:
        await http(scope, receive, send)


async def lifespan(receive, send):
    while True:
        message = await receive()
        if message["type"] == "lifespan.startup":
            await asyncio.sleep(float(os.environ.get("STARTUP_SECONDS", "0")))
            await send({"type": "lifespan.startup.complete"})
        else:
            print("lifespan shutdown", flush=True)
            await send({"type": "lifespan.shutdown.complete"})
            return


async def http(scope, receive, send):
    path = scope["path"]
    query = scope["query_string"].decode()
    if path == "/sleep":
        print("held", flush=True)
        await asyncio.sleep(float(query))
    elif path == "/block":
        print("held", flush=True)
        time.sleep(float(query))
    elif path == "/stuck":
        stuck_in_c()
    elif path == "/raise":
        raise RuntimeError("the app raised")
    elif path == "/stream":
        await stream(send, float(query))
        return
    elif path == "/scope":
        await answer(send, json.dumps({
            "headers": [[name.decode(), value.decode()] for name, value in scope["headers"]],
            "call": scope.get("moult.scheduled_call"), "root_path": scope["root_path"], "scheme": scope["scheme"],
            "client": (scope["client"] or [None])[0],
            "hooks": hooks}).encode())
        return
    elif path == "/later":
        await answer(send, b"hello from %d" % os.getpid())
        await asyncio.sleep(float(query))
        print("done later", flush=True)
        return
    elif path == "/big":
        await answer(send, b"x" * int(query))
        return
    elif path == "/status":
        await answer(send, b"", int(query))
        return
    elif path == "/body":
        size, more = 0, True
        while more:
            message = await receive()
            size += len(message.get("body", b""))
            more = message.get("more_body", False)
        await answer(send, b"%d" % size)
        return
    await answer(send, b"hello from %d" % os.getpid())


def stuck_in_c():
    """Sleeps in C with the interpreter lock held: no Python code of this process runs meanwhile."""
    import ctypes
    print("held", flush=True)
    ctypes.PyDLL(None).sleep(60)


async def answer(send, body, status=200):
    await send({"type": "http.response.start", "status": status,
                "headers": [(b"content-type", b"text/plain"), (b"content-length", b"%d" % len(body))]})
    await send({"type": "http.response.body", "body": body})


async def stream(send, seconds):
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": b"first", "more_body": True})
    await asyncio.sleep(seconds)
    await send({"type": "http.response.body", "body": b"last"})


async def websocket(scope, receive, send):
    await receive()
    await send({"type": "websocket.accept"})
    while True:
        message = await receive()
        if message["type"] == "websocket.disconnect":
            return
        headers = ",".join(name.decode() for name, _ in scope["headers"])
        text = headers if message.get("text") == "headers" else message.get("text")
        await send({"type": "websocket.send", "text": text})
