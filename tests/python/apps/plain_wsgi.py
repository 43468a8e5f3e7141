"""A WSGI app without a framework, for tests."""
import json
import os
import time


def app(environ, start_response):
    path, query = environ["PATH_INFO"], environ["QUERY_STRING"]
    if path == "/body":
        return answer(start_response, b"%d" % len(environ["wsgi.input"].read()))
    if path == "/big":
        return answer(start_response, b"x" * int(query))
    if path == "/sleep":
        time.sleep(float(query))
    if path in ("/", "/sleep"):
        return answer(start_response, b"hello from %d" % os.getpid())
    return described(environ, start_response)


def answer(start_response, body):
    start_response("200 OK", [("Content-Type", "text/plain"), ("Content-Length", str(len(body)))])
    return [body]


def described(environ, start_response):
    ours = {name: value for name, value in environ.items() if name.startswith("HTTP_X_MOULT")}
    body = json.dumps({"headers": ours, "call": environ.get("moult.scheduled_call"),
                       "script_name": environ["SCRIPT_NAME"], "scheme": environ["wsgi.url_scheme"]}).encode()
    start_response("200 OK", [("Content-Type", "application/json"), ("Content-Length", str(len(body)))])
    return [body]


def create():
    return app
