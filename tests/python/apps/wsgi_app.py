"""A Flask app, for tests."""
import json
import os
import time

from flask import Flask, Response, request

app = Flask(__name__)


@app.route("/")
def hello():
    return "hello from %d" % os.getpid()


@app.route("/sleep")
def sleep():
    print("held", flush=True)
    time.sleep(float(request.query_string))
    return "slept"


@app.route("/raise")
def fail():
    raise RuntimeError("the app raised")


@app.route("/stream")
def stream():
    seconds = float(request.query_string)

    def chunks():
        yield "first"
        time.sleep(seconds)
        yield "last"
    return Response(chunks())


@app.route("/environ")
def environ():
    ours = {name: value for name, value in request.environ.items() if name.startswith("HTTP_X_MOULT")}
    return json.dumps({"headers": ours, "call": request.environ.get("moult.scheduled_call"),
                       "script_name": request.environ["SCRIPT_NAME"], "scheme": request.scheme})


@app.route("/status")
def status():
    return "", int(request.query_string)


def create():
    return app
