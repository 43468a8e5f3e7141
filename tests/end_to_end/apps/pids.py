"""Says which process answers; at /slow it says hello after a second, as the native example does."""
import asyncio
import os
import time

SLOW_SECONDS = 1


async def asgi(scope, receive, send):
    if scope["type"] == "http":
        body = b"%d" % os.getpid()
        if scope["path"] == "/slow":
            await asyncio.sleep(SLOW_SECONDS)
            body = b"hello\n"
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"%d" % len(body))]})
        await send({"type": "http.response.body", "body": body})


def wsgi(environ, start_response):
    body = b"%d" % os.getpid()
    if environ["PATH_INFO"] == "/slow":
        time.sleep(SLOW_SECONDS)
        body = b"hello\n"
    start_response("200 OK", [("Content-Length", str(len(body)))])
    return [body]
