"""gthread, with TLS and without: no client and no thread of the app keeps a worker past its deadline or from others."""
import time
from pathlib import Path

import pytest
from handover_fixtures import alone as worker  # noqa: F401
from http_client import Connection
from master import Master, say, until
from parking import Parking

APPS = Path(__file__).parent / "apps"
HALF_A_HEAD = b"GET / HTTP/1.1\r\nHo"
READING_APP = """
def app(environ, start_response):
    print("asked", flush=True)
    print("read %d" % len(environ["wsgi.input"].read()), flush=True)
    return []
"""
SLOW_HEAD_APP = """
import os, time
import gunicorn.util
from plain_wsgi import app
write, written = gunicorn.util.write, []
def write_and_wait(sock, head, chunked=False):
    write(sock, head, chunked)
    if not written:
        written.append(head)
        print("the head has left", flush=True)
        while not os.path.exists("go"):
            time.sleep(0.01)
gunicorn.util.write = write_and_wait
"""
BUSY_APP = """
import atexit, threading, time
def note(): print("an atexit function ran", flush=True)
atexit.register(note)
def app(environ, start_response):
    print("held", flush=True)
    time.sleep(60)
"""


@pytest.fixture(params=["plain", "tls"])
def tls(request):
    return request.param == "tls"


@pytest.fixture
def server(tls, certificate):
    with Master("plain_wsgi:app", worker_class="gthread", threads=4, **(certificate if tls else {})) as master:
        master.loaded()
        yield master


def close_all(clients):
    for client in clients:
        client.socket.close()


def test_clients_that_send_half_a_head_do_not_keep_a_worker_past_its_deadline(server, worker, tls):
    clients = [Connection(server.port, tls=tls) for _ in range(3)]
    for client in clients:
        client.socket.sendall(HALF_A_HEAD)
    waiting = [Connection(server.port) for _ in range(9)]  # some for a thread; with TLS their handshake is no handshake
    for client in waiting:
        client.socket.sendall(HALF_A_HEAD[:3])
    worker.shows(OPEN_CONNECTIONS=12)
    began = time.monotonic()
    worker.retire(4.0)
    assert worker.gone() == 0
    assert 1 < time.monotonic() - began < 5
    close_all(clients + waiting)


def test_a_worker_whose_requests_are_cut_leaves_its_busy_threads_and_runs_the_atexit_functions(tmp_path):
    (tmp_path / "busy.py").write_text(BUSY_APP)
    with Master("busy:app", worker_class="gthread", threads=2, directory=str(tmp_path)) as server:
        server.loaded()
        worker = server.worker()
        clients = [Connection(server.port).send("/") for _ in range(2)]
        until(lambda: server.log().count("held") == 2, "both are in the app")
        began = time.monotonic()
        worker.retire(3.0)
        assert worker.gone() == 75
        assert time.monotonic() - began < 4 and "an atexit function ran" in server.log()
        assert worker.next_message() == {"STOPPING": "1"}
        assert worker.next_message() == {"STATUS": "at the deadline 2 requests were still in flight"}
        close_all(clients)


def test_an_app_that_waits_for_the_rest_of_a_body_at_the_deadline_does_not_take_the_half_for_the_whole(tmp_path):
    (tmp_path / "reading.py").write_text(READING_APP)
    with Master("reading:app", worker_class="gthread", threads=2, directory=str(tmp_path)) as server:
        server.loaded()
        worker = server.worker()
        with Connection(server.port) as client:
            client.socket.sendall(b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\n01234")
            until(lambda: "asked" in server.log(), "the app is called")
            worker.retire(2.0)
            assert worker.gone() == 75 and client.is_closed()
        assert "read" not in server.log()


def test_at_the_deadline_only_what_was_not_given_to_the_master_is_shut():
    with Master("plain_wsgi:app", worker_class="gthread", threads=4) as server, Parking() as parking:
        server.loaded()
        worker = parking.add(server.worker())
        with Connection(server.port) as given, Connection(server.port) as held:
            given.get("/")
            held.socket.sendall(HALF_A_HEAD)
            worker.shows(OPEN_CONNECTIONS=2)
            parking.most = None  # the master takes it, and does not say so
            parking.retire(worker, 3.0)
            until(lambda: parking.unanswered, "it is given")
            assert worker.gone() == 0 and held.is_closed()
            successor = parking.add(server.worker(1))
            parking.park_unanswered()
            assert given.get("/").text() == "hello from %d" % successor.pid
        successor.kill()


def test_an_answer_whose_head_has_left_when_a_stop_is_announced_does_not_end_its_connection_untold(tmp_path):
    (tmp_path / "slow_head.py").write_text(SLOW_HEAD_APP)
    (tmp_path / "plain_wsgi.py").write_text((APPS / "plain_wsgi.py").read_text())
    with Master("slow_head:app", worker_class="gthread", threads=4, directory=str(tmp_path)) as server:
        server.loaded()
        worker = server.worker()
        with Connection(server.port) as client, Connection(server.port) as another:
            client.send("/")
            until(lambda: "the head has left" in server.log(), "it is being answered")
            say(worker.channel, ("ANNOUNCE_CLOSE", 1))
            until(lambda: another.get("/").headers["connection"] == "close", "the worker has heard it")
            (tmp_path / "go").touch()
            assert client.answer().headers["connection"] == "keep-alive"
            assert client.get("/").headers["connection"] == "close" and client.is_closed()
        worker.kill()


def test_clients_that_do_not_close_after_a_close_hold_up_nobody(server, worker, tls):
    clients = []
    say(worker.channel, ("ANNOUNCE_CLOSE", 1))
    began = time.monotonic()
    for _ in range(6):
        clients.append(Connection(server.port, tls=tls))
        answer = clients[-1].get("/", headers=[("Connection", "close")])
        assert answer.status == 200 and answer.headers["connection"] == "close"
    assert time.monotonic() - began < 4
    worker.retire(nobody_adopts=True)
    assert worker.gone() == 0 and time.monotonic() - began < 8
    assert worker.next_message() == {"STOPPING": "1"} and worker.next_message() is None
    close_all(clients)


def test_what_a_client_sends_after_the_last_request_does_not_cost_it_the_answer(server, worker, tls):
    with Connection(server.port, tls=tls) as client:
        client.send("/big?100000", headers=[("Connection", "close")])
        worker.shows(REQUESTS_FINISHED=1)
        client.socket.sendall(b"more")
        assert len(client.answer().body) == 100000
        assert client.is_closed()
