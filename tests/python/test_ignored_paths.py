"""Requests for --idle-ignore paths: the app answers them like all others, and they are no visitor's activity, whatever
the server."""
import time

import gunicorn.workers
import pytest
from http_client import Connection
from master import Master
from moult.ignored_paths import IgnoredPaths

ADAPTERS = {
    "httptools": ("asgi_app:app", {"server_options": {"http": "httptools"}}),
    "h11": ("asgi_app:app", {"server_options": {"http": "h11"}}),
    "root-path": ("asgi_app:app", {"root_path": "/shop"}),
    "UvicornWorker": ("asgi_app:app", {"worker_class": "uvicorn.workers.UvicornWorker"}),
    "sync": ("plain_wsgi:app", {"worker_class": "sync"}),
    "gthread": ("plain_wsgi:app", {"worker_class": "gthread", "threads": 4}),
}
if "asgi" in gunicorn.workers.SUPPORTED_WORKERS:
    ADAPTERS["asgi"] = ("asgi_app:app", {"worker_class": "asgi"})


@pytest.fixture(params=ADAPTERS)
def served(request):
    app, settings = ADAPTERS[request.param]
    with Master(app, idle_ignore=["/healthz", "/sleep"], **settings) as master:
        master.loaded()
        worker = master.worker()
        yield master, worker
        worker.kill()


def get(where, path, **more):
    with Connection(where) as client:
        return client.get(path, **more)


def test_a_health_check_is_answered_and_counted_and_no_activity(served):
    master, worker = served
    for path in ("/healthz", "/healthz?full=1"):
        assert get(master.port, path).status == 200
    assert worker.shows(REQUESTS_STARTED=2, REQUESTS_FINISHED=2, LAST_VISITOR_ACTIVITY_NS=0, OLDEST_PLAIN_REQUEST_NS=0)
    get(master.port, "/healthz/", method="GET")
    assert worker.shows(REQUESTS_STARTED=3, REQUESTS_FINISHED=3)
    visited = worker.read("LAST_VISITOR_ACTIVITY_NS")
    assert visited > 0
    get(master.port, "/healthz")
    assert worker.shows(REQUESTS_FINISHED=4, LAST_VISITOR_ACTIVITY_NS=visited)
    get(master.port, "/healthz", method="POST", body=b"x")
    assert worker.shows(REQUESTS_FINISHED=5)
    assert worker.read("LAST_VISITOR_ACTIVITY_NS") > visited
    get(master.internal_path, "/healthz")
    assert worker.shows(REQUESTS_FINISHED=5, CALLS_STARTED=1, CALLS_FINISHED=1)


def test_a_health_check_is_never_in_flight(served):
    master, worker = served
    with Connection(master.port) as client:
        client.send("/sleep?0.4")
        until = time.monotonic() + 0.3
        while time.monotonic() < until:
            started, finished = worker.read("REQUESTS_STARTED"), worker.read("REQUESTS_FINISHED")
            assert started <= finished  # read in this order: both rise when it is answered
            time.sleep(0.01)
        assert client.answer().status == 200
    assert worker.shows(REQUESTS_STARTED=1, REQUESTS_FINISHED=1, LAST_VISITOR_ACTIVITY_NS=0)


def test_a_health_check_that_is_cut_off_is_finished():
    with Master("asgi_app:app", idle_ignore=["/sleep"]) as master:
        master.loaded()
        worker = master.worker()
        with Connection(master.port) as client:
            client.send("/sleep?5")
            assert worker.shows(OPEN_CONNECTIONS=1)
            time.sleep(0.1)
        assert worker.shows(OPEN_CONNECTIONS=0, REQUESTS_STARTED=1, REQUESTS_FINISHED=1, LAST_VISITOR_ACTIVITY_NS=0)
        worker.kill()


def test_which_requests_these_are():
    ignored = IgnoredPaths(["/healthz", "/"], "/shop/")
    for method, path in [("GET", b"/healthz"), ("HEAD", b"/healthz?a"), ("GET", b"/"), ("GET", b"/shop/healthz")]:
        assert ignored.has(method, path), path
    for method, path in [("POST", b"/healthz"), ("GET", b"/healthz/"), ("GET", b"/%68ealthz"), ("GET", b""),
                         ("GET", b"/shop"), ("OPTIONS", b"/"), ("GET", b"/health")]:
        assert not ignored.has(method, path), path
    assert not IgnoredPaths([]).has("GET", b"/")
