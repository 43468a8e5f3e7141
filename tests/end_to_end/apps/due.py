"""Apps with a schedule of their own: /in?SECONDS and it is next due so many seconds after that; /say?TEXT and the
worker says that to moult as it is."""
import time

import moult


def act(path, query):
    if path == "/in":
        due = time.time() + float(query)
        moult.next_due(lambda: due)
        return b"%f" % due
    return b"hello"


async def app(scope, receive, send):
    if scope["type"] != "http":
        return
    body = act(scope["path"], scope["query_string"].decode())
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"%d" % len(body))]})
    await send({"type": "http.response.body", "body": body})


def wsgi(environ, start_response):
    body = act(environ["PATH_INFO"], environ["QUERY_STRING"])
    start_response("200 OK", [("Content-Length", str(len(body)))])
    return [body]
