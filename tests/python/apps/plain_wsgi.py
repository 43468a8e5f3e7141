"""A WSGI app without a framework, for tests."""
import json


def app(environ, start_response):
    ours = {name: value for name, value in environ.items() if name.startswith("HTTP_X_MOULT")}
    body = json.dumps({"headers": ours, "call": environ.get("moult.scheduled_call"),
                       "script_name": environ["SCRIPT_NAME"], "scheme": environ["wsgi.url_scheme"]}).encode()
    start_response("200 OK", [("Content-Type", "application/json"), ("Content-Length", str(len(body)))])
    return [body]


def create():
    return app
