"""Connections that end with their worker, though it hands over: declined, too late, or nobody will adopt them."""
import pytest
from http_client import Connection
from master import Master, until


def test_one_that_is_declined_after_its_app_left_a_body_is_served_on(server, parking, worker):
    parking.most = 0
    with Connection(server.port) as client:
        client.socket.sendall(b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\n01234")
        assert client.answer().status == 200
        client.socket.sendall(b"56789")
        parking.retire(worker)
        until(lambda: parking.counts["declined"], "it is declined")
        answer = client.get("/")
        assert answer.status == 200 and answer.headers["connection"] == "close" and client.is_closed()
        assert worker.gone() == 0 and parking.statuses == []


@pytest.fixture
def small_server():
    """gthread with as many connections as it may have after the eighth."""
    with Master("plain_wsgi:app", worker_class="gthread", threads=2, server_options={"worker_connections": "8"}) as one:
        one.loaded()
        yield one


def test_gthread_with_as_many_connections_as_it_may_have_hears_the_master(small_server, parking):
    worker = parking.add(small_server.worker())
    clients = [Connection(small_server.port) for _ in range(8)]
    worker.shows(OPEN_CONNECTIONS=8)
    parking.retire(worker)
    assert worker.gone() == 0 and parking.held() == 8 and parking.statuses == []
    for client in clients:
        client.socket.close()


def test_gthread_with_as_many_connections_as_it_may_have_answers_those_that_the_master_declines(small_server, parking):
    parking.most = 0
    worker = parking.add(small_server.worker())
    clients = [Connection(small_server.port) for _ in range(8)]
    worker.shows(OPEN_CONNECTIONS=8)
    parking.retire(worker)
    until(lambda: parking.counts["declined"] == 8, "all are declined")
    for client in clients:
        answer = client.get("/")
        assert answer.status == 200 and answer.headers["connection"] == "close" and client.is_closed()
        client.socket.close()
    assert worker.gone() == 0 and parking.statuses == []
