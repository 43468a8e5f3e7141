"""Answers as long as they are asked for, which do not wait for a request's body."""
from urllib.parse import parse_qsl


async def app(scope, receive, send) -> None:
    if scope["type"] != "http":
        return
    size = int(dict(parse_qsl(scope["query_string"].decode())).get("bytes", "2"))
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"%d" % size)]})
    await send({"type": "http.response.body", "body": b"x" * size})
