"""What the load client asks, as an ASGI and a WSGI app (`tools.load_client.echo_app:asgi` and `:wsgi`):

    GET  /echo/SIZE/TOKEN     the token over and over, SIZE bytes of it; a Content-Length says so
    GET  /stream/SIZE/TOKEN   the same without a Content-Length, in pieces
    POST /echo                the body that was sent
    GET  /leak/SIZE           keeps so many bytes for as long as the process lives
    GET  /                    "ready"

Each answer names the process that gave it, in X-Worker. A worker of the ASGI app boots for ECHO_BOOT_SECONDS.
"""
import asyncio
import os

BOOT_SECONDS = float(os.environ.get("ECHO_BOOT_SECONDS", "0"))
PIECE_BYTES = 65536
kept = []  # what leaks


def pattern(token: str, size: int) -> bytes:
    line = token.encode() + b"\n"
    return (line * (size // len(line) + 1))[:size]


def answer(method: str, path: str, body: bytes) -> "tuple[int, bytes, bool]":
    """Status, body, and whether it is to be sent in pieces of unsaid length."""
    words = path.strip("/").split("/")
    if method == "POST" and words == ["echo"]:
        return 200, body, False
    if method == "GET" and words[0] in ("echo", "stream") and len(words) == 3:
        return 200, pattern(words[2], int(words[1])), words[0] == "stream"
    if method == "GET" and words[0] == "leak" and len(words) == 2:
        kept.append(bytearray(b"x") * int(words[1]))  # written to, so it is resident
        return 200, b"kept", False
    return (200, b"ready", False) if path == "/" else (404, b"no such thing", False)


def pieces(body: bytes) -> "list[bytes]":
    return [body[at:at + PIECE_BYTES] for at in range(0, len(body), PIECE_BYTES)]


def headers(body: bytes, streamed: bool) -> "list[tuple[str, str]]":
    named = [("content-type", "application/octet-stream"), ("x-worker", str(os.getpid()))]
    return named if streamed else [*named, ("content-length", str(len(body)))]


async def lifespan(receive, send) -> None:
    await receive()
    await asyncio.sleep(BOOT_SECONDS)
    await send({"type": "lifespan.startup.complete"})
    await receive()
    await send({"type": "lifespan.shutdown.complete"})


async def asgi(scope, receive, send) -> None:
    if scope["type"] == "lifespan":
        await lifespan(receive, send)
    if scope["type"] != "http":
        return
    received, more = [], True
    while more:
        message = await receive()
        if message["type"] == "http.disconnect":
            return
        received.append(message.get("body", b""))
        more = message.get("more_body", False)
    status, body, streamed = answer(scope["method"], scope["path"], b"".join(received))
    head = [(name.encode(), value.encode()) for name, value in headers(body, streamed)]
    await send({"type": "http.response.start", "status": status, "headers": head})
    for piece in pieces(body) if streamed else ():
        await send({"type": "http.response.body", "body": piece, "more_body": True})
    await send({"type": "http.response.body", "body": b"" if streamed else body})


def wsgi(environ, start_response):
    sent = environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0))
    status, body, streamed = answer(environ["REQUEST_METHOD"], environ["PATH_INFO"], sent)
    start_response("200 OK" if status == 200 else "404 Not Found", headers(body, streamed))
    return pieces(body) if streamed else [body]
