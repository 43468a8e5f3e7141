"""An app with a schedule of its own: /due?EXPRESSION says when it is next due. $DUE: said when it is imported. For
tests."""
import datetime
import os
import time

import moult

KNOWN = {"datetime": datetime, "time": time, "fail": lambda: 1 / 0, "late": lambda: time.time() - 1e6}
if "DUE" in os.environ:
    moult.next_due(eval(os.environ["DUE"], KNOWN))


def say(expression):
    try:
        moult.next_due(eval(expression, KNOWN))
        return b"taken"
    except Exception as error:
        return ("%s: %s" % (type(error).__name__, error)).encode()


async def app(scope, receive, send):
    if scope["type"] != "http":
        return
    body = say(scope["query_string"].decode())
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"%d" % len(body))]})
    await send({"type": "http.response.body", "body": body})


def wsgi(environ, start_response):
    body = say(environ["QUERY_STRING"])
    start_response("200 OK", [("Content-Length", str(len(body)))])
    return [body]
