"""Apps that write each request down, one JSON line in $CALLS: what of it is moult's, when it began, when it ended.

/slow: it takes $SLOW seconds. /status/N: it is answered N. `app` is ASGI, `wsgi` is WSGI.
"""
import asyncio
import json
import os
import time

MARK = "moult.scheduled_call"


def write(**line) -> None:
    file = os.open(os.environ["CALLS"], os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o666)
    os.write(file, (json.dumps({"pid": os.getpid(), "time": time.time(), **line}) + "\n").encode())
    os.close(file)


def seconds_of(path: str) -> float:
    return float(os.environ.get("SLOW", "1")) if path.startswith("/slow") else 0


def status_of(path: str) -> int:
    return int(path.rpartition("/")[2]) if path.startswith("/status/") else 200


async def app(scope, receive, send) -> None:
    if scope["type"] == "lifespan":
        await receive()
        await asyncio.sleep(float(os.environ.get("STARTUP_SECONDS", "0")))
        await send({"type": "lifespan.startup.complete"})
        await receive()
        await send({"type": "lifespan.shutdown.complete"})
        return
    headers = {name.decode().lower(): value.decode() for name, value in scope["headers"]}
    ours = {name: value for name, value in headers.items() if "moult" in name}
    path = scope["path"]
    write(what="begins", path=path, query=scope["query_string"].decode(), method=scope["method"], headers=ours,
          mark=scope.get(MARK), all=sorted(headers))
    await asyncio.sleep(seconds_of(path))
    write(what="ends", headers=ours)
    body = json.dumps({"headers": ours, "mark": scope.get(MARK)}).encode()
    await send({"type": "http.response.start", "status": status_of(path),
                "headers": [(b"content-length", str(len(body)).encode())]})
    await send({"type": "http.response.body", "body": body})


def wsgi(environ, start_response):
    ours = {name[5:].lower().replace("_", "-"): value for name, value in environ.items()
            if name.startswith("HTTP_") and "MOULT" in name}
    path = environ["PATH_INFO"]
    write(what="begins", path=path, query=environ["QUERY_STRING"], method=environ["REQUEST_METHOD"], headers=ours,
          mark=environ.get(MARK), all=[])
    time.sleep(seconds_of(path))
    write(what="ends", headers=ours)
    body = json.dumps({"headers": ours, "mark": environ.get(MARK)}).encode()
    start_response(f"{status_of(path)} So", [("Content-Length", str(len(body)))])
    return [body]
