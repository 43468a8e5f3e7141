"""The sidecar's door: served like the others, in no count, and in nobody's way when the worker retires."""
import json
import subprocess
import time

import pytest
from handover_fixtures import alone as worker  # noqa: F401
from http_client import Connection
from master import PYTHON, Master

GRACE_SECONDS = 1  # moult.sidecar
BUSY_SECONDS = 5  # what a worker may be late by where the machine has more to do
LONG_SECONDS = 40  # of a request that nobody waits for; --graceful-timeout is shorter, and longer than the two above
ASGI = [("uvicorn", "asyncio", "httptools"), ("uvicorn", "asyncio", "h11"), ("uvicorn", "uvloop", "httptools"),
        ("uvicorn.workers.UvicornWorker",), ("asgi",)]
WSGI = [("gthread",), ("sync",)]
COUNTED = ("REQUESTS_STARTED", "REQUESTS_FINISHED", "CALLS_STARTED", "CALLS_FINISHED", "LAST_VISITOR_ACTIVITY_NS",
           "OLDEST_PLAIN_REQUEST_NS", "OPEN_CONNECTIONS", "UPGRADED_CONNECTIONS")


def master_of(cell, **more):
    kind, *rest = cell
    has_asgi = [PYTHON, "-c", "import gunicorn.workers.gasgi"]
    if kind == "asgi" and subprocess.run(has_asgi, capture_output=True).returncode:
        pytest.skip("gunicorn 23 and later")
    if rest:
        more["server_options"] = dict(zip(("loop", "http"), rest))
    else:
        more["worker_class"] = kind
    return Master("wsgi_app:app" if cell in WSGI else "asgi_app:app", sidecar=True, graceful_timeout_seconds=30.0,
                  **more)


@pytest.fixture(scope="module", params=ASGI + WSGI, ids="-".join)
def server(request):
    with master_of(request.param, threads=4 if request.param == ("gthread",) else None) as master:
        master.loaded()
        master.cell = request.param
        yield master
        for bad in ("bad message", "was destroyed", "never retrieved", "Traceback"):
            assert bad not in master.log(), master.log()


def counts(worker):
    return {name: worker.read(name) for name in COUNTED}


def of_asgi(server):
    if server.cell in WSGI:
        pytest.skip("WSGI")


def asks(server, connection, path):
    """Back when the app has the request."""
    with server.logs_once_more("held"):
        connection.send(path)


def ends_soon(worker, began, seconds=0):
    assert worker.gone() == 0, "nothing of a visitor's was cut"
    assert time.monotonic() - began < seconds + BUSY_SECONDS


def test_what_it_asks_is_answered_and_counted_nowhere(server, worker):
    with Connection(server.sidecar_port) as sidecar:
        for _ in range(2):
            answer = sidecar.get("/")
            assert answer.status == 200 and answer.text() == "hello from %d" % worker.pid
            if answer.headers.get("connection") == "close":
                break
        assert worker.shows(OPEN_CONNECTIONS=0)
        assert set(counts(worker).values()) == {0}
    with Connection(server.port) as visitor:
        assert visitor.get("/").status == 200
        worker.shows(REQUESTS_STARTED=1, REQUESTS_FINISHED=1)


def test_nobody_makes_a_call_there(server, worker):
    wsgi = server.cell in WSGI
    forged = [("X-Moult-Schedule-Name", "nightly"), ("X-Moult-Schedule-At", "2026-01-01T00:00:00Z")]
    with Connection(server.sidecar_port) as sidecar:
        seen = json.loads(sidecar.get("/environ" if wsgi else "/scope", headers=forged).text())
    assert seen["call"] is None and "moult" not in json.dumps(seen["headers"]).lower()


def test_idle_connections_end_with_the_worker(server, worker):
    with Connection(server.sidecar_port) as sidecar:
        sidecar.get("/")
        began = time.monotonic()
        worker.retire(30)
        assert sidecar.is_closed()
        ends_soon(worker, began, GRACE_SECONDS)


def test_a_websocket_is_counted_nowhere_and_ends_with_the_worker(server, worker):
    of_asgi(server)
    with Connection(server.sidecar_port) as chat:
        chat.upgrade("/ws", headers=[("X-Moult-Schedule-Name", "nightly")]).send_text("headers")
        assert "moult" not in chat.frame()[1].decode()
        assert set(counts(worker).values()) == {0}
        began = time.monotonic()
        worker.retire(30)
        if server.cell != ("asgi",):  # which says no more
            assert chat.close_code() == 1012
        ends_soon(worker, began, GRACE_SECONDS)


def test_a_request_in_flight_has_a_second(server, worker):
    with Connection(server.sidecar_port) as sidecar:
        asks(server, sidecar, "/sleep?0.6")
        worker.retire(30)
        assert sidecar.answer().status == 200
        ends_soon(worker, time.monotonic(), GRACE_SECONDS)


def test_one_that_takes_longer_is_cut(server, worker):
    with Connection(server.sidecar_port) as sidecar:
        asks(server, sidecar, "/sleep?%d" % LONG_SECONDS)
        began = time.monotonic()
        worker.retire(30)
        ends_soon(worker, began, GRACE_SECONDS)
        assert worker.read("REQUESTS_STARTED") == 0


def test_visitors_are_waited_for_as_ever(server, worker):
    if server.cell == ("sync",):
        pytest.skip("one request at a time")
    with Connection(server.sidecar_port) as sidecar, Connection(server.port) as visitor:
        visitor.send("/sleep?3")
        worker.shows(REQUESTS_STARTED=1)
        asks(server, sidecar, "/sleep?%d" % LONG_SECONDS)
        worker.retire(30, nobody_adopts=True)
        assert visitor.answer().status == 200
        ends_soon(worker, time.monotonic())


@pytest.mark.parametrize("cell", [ASGI[0], *WSGI], ids="-".join)
def test_nobody_speaks_tls_there(cell, certificate):
    with master_of(cell, **certificate) as master:
        master.loaded()
        worker = master.worker()
        for where, tls in ((master.sidecar_port, False), (master.port, True)):
            with Connection(where, tls=tls) as client:
                assert client.get("/").status == 200
        worker.kill()
