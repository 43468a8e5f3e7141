"""uvicorn with TLS, which ends in the worker: its connections cannot move."""
import json
import time

import pytest
from http_client import Connection
from master import Master

COMBINATIONS = [(loop, http) for loop in ("asyncio", "uvloop") for http in ("httptools", "h11")]


@pytest.fixture(params=COMBINATIONS, ids="-".join)
def tls_server(certificate, request):
    with Master("asgi_app:app", server_options=dict(zip(("loop", "http"), request.param)), **certificate) as master:
        master.loaded()
        yield master


def test_tls_ends_in_the_worker_but_for_the_internal_door(tls_server):
    worker = tls_server.worker()
    with Connection(tls_server.port, tls=True) as client, Connection(tls_server.internal_path) as inside:
        assert json.loads(client.get("/scope").text())["scheme"] == "https"
        assert json.loads(inside.get("/scope").text())["scheme"] == "http"
        assert worker.drain == "close" and worker.shows(REQUESTS_FINISHED=1, CALLS_FINISHED=1)


def test_what_cannot_move_is_answered_with_a_close_and_closed_when_idle(tls_server):
    worker = tls_server.worker()
    port = tls_server.port
    with Connection(port, tls=True) as busy, Connection(port, tls=True) as idle, Connection(port, tls=True) as stream:
        idle.get("/")
        stream.send("/stream?0.3").read_until(b"first")
        busy.send("/sleep?1")
        worker.shows(REQUESTS_STARTED=3)
        worker.retire()
        assert worker.next_message() == {"STOPPING": "1"}
        assert idle.is_closed()
        answer = busy.answer()
        assert answer.status == 200 and answer.headers["connection"] == "close" and busy.is_closed()
        stream.read_until(b"last")
    assert worker.gone(5) == 0
    assert worker.next_message() is None
    assert worker.shows(REQUESTS_STARTED=3, REQUESTS_FINISHED=3)


def test_what_cannot_move_has_the_answer_to_a_request_that_is_half_received(tls_server):
    worker = tls_server.worker()
    with Connection(tls_server.port, tls=True) as client, Connection(tls_server.port, tls=True) as fresh:
        client.get("/")
        client.socket.sendall(b"GET /sleep?0 HTTP/1.1\r\nHo")
        worker.shows(OPEN_CONNECTIONS=2)
        time.sleep(0.1)
        worker.retire()
        worker.next_message()
        client.socket.sendall(b"st: x\r\n\r\n")
        for answer in (client.answer(), fresh.get("/")):
            assert answer.status == 200 and answer.headers["connection"] == "close"
    assert worker.gone(5) == 0


def test_a_body_that_the_app_left_ends_no_worker_and_nobody_elses_request(tls_server):
    worker = tls_server.worker()
    port = tls_server.port
    half = b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\n01234"
    with Connection(port, tls=True) as left, Connection(port, tls=True) as whole, Connection(port, tls=True) as busy:
        for client in (left, whole):
            client.socket.sendall(half)
            assert client.answer().status == 200
        whole.socket.sendall(b"56789")
        busy.send("/sleep?0.5")
        worker.shows(REQUESTS_STARTED=3)
        worker.retire()
        assert worker.next_message() == {"STOPPING": "1"}
        left.socket.sendall(b"56789")
        assert left.is_closed() and whole.is_closed()
        answer = busy.answer()
        assert answer.status == 200 and answer.headers["connection"] == "close"
    assert worker.gone(5) == 0 and worker.shows(REQUESTS_STARTED=3, REQUESTS_FINISHED=3)


def test_idle_clients_that_do_not_read_hold_a_retiring_worker_for_a_second(tls_server):
    worker = tls_server.worker()
    clients = [Connection(tls_server.port, tls=True) for _ in range(6)]
    for client in clients:
        client.get("/")
    began = time.monotonic()
    worker.retire(20.0)
    assert worker.gone() == 0, tls_server.log()
    assert time.monotonic() - began < 8
    for client in clients:
        assert client.is_closed()
        client.socket.close()


def test_a_client_that_reads_late_has_its_whole_answer(tls_server):
    worker = tls_server.worker()
    with Connection(tls_server.port, tls=True) as client:
        client.send("/big?10000000")
        client.read_until(b"\r\n\r\n")
        worker.retire(20.0)
        time.sleep(3)  # the client's own pause
        assert len(client.read_exactly(10000000)) == 10000000 and client.is_closed()
    assert worker.gone() == 0, tls_server.log()
