"""Connections that end with their worker, though it hands over: declined, too late, or nobody will adopt them."""
import os
import select
import signal
import socket
import time

import pytest
from handover_fixtures import asgi_only
from http_client import Connection
from master import APPS, PATIENCE_SECONDS, Master, say, until
from moult.handover import MAX_UNANSWERED
from parking import Parking, receive_with_fds


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


def test_where_nobody_will_adopt_what_is_in_flight_says_close_and_who_was_just_accepted_is_answered(
        server, parking, worker):
    with Connection(server.port) as busy, Connection(server.port) as fresh, Connection(server.unix_path) as idle:
        idle.get("/")
        busy.send("/sleep?0.5")
        worker.shows(REQUESTS_STARTED=2, OPEN_CONNECTIONS=3)
        parking.retire(worker, nobody_adopts=True)
        until(lambda: parking.said["STOPPING"], "STOPPING")
        for answer in (fresh.get("/"), busy.answer()):
            assert answer.status == 200 and answer.headers["connection"] == "close"
        assert fresh.is_closed() and busy.is_closed() and idle.is_closed()
        assert worker.gone() == 0 and parking.counts["stored"] == 0 and parking.statuses == []
    assert worker.shows(REQUESTS_STARTED=3, REQUESTS_FINISHED=3)


def test_who_was_just_accepted_does_not_pay_for_a_time_in_which_the_worker_stood_still(server, parking, worker):
    with Connection(server.port) as busy, Connection(server.port) as fresh:
        busy.send("/sleep?3")
        worker.shows(REQUESTS_STARTED=1, OPEN_CONNECTIONS=2)
        parking.retire(worker, nobody_adopts=True)
        until(lambda: parking.said["STOPPING"], "STOPPING")
        os.kill(worker.pid, signal.SIGSTOP)
        time.sleep(1.3)  # longer than it waits for clients that say nothing
        os.kill(worker.pid, signal.SIGCONT)
        time.sleep(0.1)
        answer = fresh.get("/")
        assert answer.status == 200 and answer.headers["connection"] == "close" and fresh.is_closed()
        assert busy.answer().status == 200 and worker.gone() == 0 and parking.statuses == []


def test_told_later_that_nobody_will_adopt_a_worker_takes_back_what_waited(server, alone):
    """The master answers nobody: 64 are with it, and the others wait."""
    clients = [Connection(server.port) for _ in range(MAX_UNANSWERED + 6)]
    alone.shows(OPEN_CONNECTIONS=len(clients))
    with Connection(server.port) as busy:
        busy.send("/sleep?2")
        alone.shows(REQUESTS_STARTED=1)
        alone.retire()
        given = []
        while len(given) < MAX_UNANSWERED:
            message, fds = receive_with_fds(alone.channel)
            given += [message["FDSTORE"]] if fds else []
            for fd in fds:
                os.close(fd)
        alone.retire(nobody_adopts=True)
        answer = busy.answer()
        assert answer.status == 200 and answer.headers["connection"] == "close" and busy.is_closed()
    ended = select.select([client.socket for client in clients], [], [], PATIENCE_SECONDS)[0]
    assert ended, "those that waited are closed when the time for their first request is over"
    for number in given[:-1]:
        say(alone.channel, ("HELD", number))
    say(alone.channel, ("DECLINED", given[-1]))
    assert alone.gone() == 0
    assert alone.next_message() is None, "nothing was given after that, and nothing was cut"
    for client in clients:
        assert client.is_closed()
        client.socket.close()


def test_what_waits_at_the_deadline_is_closed_and_told(server, parking, worker):
    parking.most = None  # the master answers nobody, so the others wait
    clients = [Connection(server.port) for _ in range(MAX_UNANSWERED + 6)]
    worker.shows(OPEN_CONNECTIONS=len(clients))
    parking.retire(worker, 2.0)
    assert worker.gone() == 0
    until(lambda: parking.statuses, "a STATUS")
    assert parking.statuses == ["at the deadline 6 idle connections were closed"]
    for client in clients:
        client.socket.close()


def test_gthread_behind_the_proxy_protocol_gives_nothing_so_that_no_client_names_its_own_address():
    with Master("plain_wsgi:app", worker_class="gthread", threads=2, server_options={"proxy_protocol": "true"}) as one:
        one.loaded()
        worker = one.worker()
        assert worker.drain == "close"
        with Connection(one.port) as client:
            client.socket.sendall(b"PROXY TCP4 192.0.2.1 192.0.2.2 1 80\r\n")
            assert client.get("/").status == 200
        worker.kill()


def test_a_websocket_that_comes_while_a_request_is_answered_is_not_given_for_it(server, parking, worker):
    asgi_only(server)
    with Connection(server.port) as client:
        client.get("/")
        client.socket.sendall(b"GET / HTTP/1.1\r\nHo")
        time.sleep(0.1)  # nothing tells that half a head was read
        parking.retire(worker)
        until(lambda: parking.said["STOPPING"], "STOPPING")
        client.ask_for_upgrade("/ws", before=b"st: x\r\n\r\n")
        client.read_until(b"hello from")
        time.sleep(0.2)  # nothing tells that it is not given
        assert parking.counts["stored"] == 0
    assert worker.gone() == 0 and parking.statuses == []


SLOW_REQUEST = b"GET /sleep?0.1 HTTP/1.1\r\nHost: x\r\n\r\n"


def test_who_has_pipelined_more_than_the_drain_has_time_for_is_told_to_close(server, parking, worker):
    with Connection(server.port) as client:
        client.socket.sendall(SLOW_REQUEST * 100)
        worker.shows(REQUESTS_STARTED=1)
        parking.retire(worker, 6.0)
        while client.answer().headers.get("connection") != "close":
            pass
    assert worker.gone() == 0 and parking.statuses == [] and parking.counts["stored"] == 0
    assert 3 < worker.read("REQUESTS_FINISHED") < 60


def test_who_is_never_between_two_requests_is_told_to_close(server, parking, worker):
    asgi_only(server)  # gthread takes its chance between two reads
    with Connection(server.port) as client:
        client.socket.sendall(SLOW_REQUEST * 2)
        worker.shows(REQUESTS_STARTED=1)
        parking.retire(worker, 6.0)
        while client.answer().headers.get("connection") != "close":
            client.socket.sendall(SLOW_REQUEST)
    assert worker.gone() == 0 and parking.statuses == [] and parking.counts["stored"] == 0


def test_gthread_waits_for_a_first_request_longer_than_a_short_keep_alive():
    with Master("plain_wsgi:app", worker_class="gthread", threads=2, keep_alive_seconds=1.0) as one:
        one.loaded()
        worker = one.worker()
        with Connection(one.port) as slow, Connection(one.port) as silent, Connection(one.port) as kept:
            kept.get("/")
            began = time.monotonic()
            assert kept.is_closed()
            time.sleep(max(0.0, began + 2.5 - time.monotonic()))  # the client's own pause
            assert slow.get("/").status == 200
            assert silent.is_closed() and time.monotonic() - began > 4
        worker.kill()


def test_gthread_reads_a_body_that_the_app_left_neither_forever_nor_to_any_length():
    with Master("plain_wsgi:app", worker_class="gthread", threads=2) as one, Parking() as parking:
        if "gunicorn 20." not in str(one.loaded()):
            pytest.skip("later versions read it by themselves")
        worker = parking.add(one.worker())
        head = b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 10000000\r\n\r\n"
        with Connection(one.port) as trickling, Connection(one.port) as pouring:
            began = time.monotonic()
            for client in (trickling, pouring):
                client.socket.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 65536)
                client.socket.sendall(head)
                assert client.answer().status == 200
            poured = 0
            while parking.counts["closing"] == 0:
                poured += pouring.socket.send(b"x" * 65536)
                assert poured < 9000000
            while parking.counts["closing"] == 1:
                trickling.socket.sendall(b"x")
                time.sleep(0.1)
                assert time.monotonic() - began < 30
            worker.shows(OPEN_CONNECTIONS=0)
        worker.kill()


def test_when_a_stop_is_announced_each_answer_says_close_while_the_worker_serves_on(server, alone):
    with Connection(server.port) as busy, Connection(server.port) as idle, Connection(server.unix_path) as silent:
        idle.get("/")
        busy.send("/sleep?2")
        alone.shows(REQUESTS_STARTED=2, OPEN_CONNECTIONS=3)
        say(alone.channel, ("ANNOUNCE_CLOSE", 1))
        answers = [busy.answer(), idle.get("/"), silent.get("/")]
        with Connection(server.port) as later:
            answers.append(later.get("/"))
            for answer in answers:
                assert answer.status == 200 and answer.headers["connection"] == "close"
            for client in (busy, idle, silent, later):
                assert client.is_closed()
    alone.retire(nobody_adopts=True)
    assert alone.gone() == 0 and alone.shows(REQUESTS_STARTED=5, REQUESTS_FINISHED=5)


COMES_LATE = '''
import asyncio
import os
import socket
import sys
import threading

from asgi_app import app

sleep, turns_left = asyncio.sleep, int(os.environ["TURNS"])


def sleep_and_come(seconds):
    """In the place of asyncio.sleep(): a client comes in one of the turns in which the worker closes its doors."""
    global turns_left
    caller = sys._getframe(1)
    if caller.f_code.co_name == "_stop_accepting":
        turns_left -= 1
        doors = [one for one in caller.f_locals["self"].servers if one.is_serving()]
        if turns_left == 0 and doors:
            client = socket.create_connection(doors[0].sockets[0].getsockname())
            threading.Timer(0.3, ask, [client]).start()
        elif turns_left == 0:
            print("answer: nobody could come", flush=True)
    return sleep(seconds)


def ask(client):
    client.settimeout(5)
    client.sendall(b"GET / HTTP/1.1\\r\\nHost: x\\r\\n\\r\\n")
    print("answer:", client.recv(12), flush=True)


asyncio.sleep = sleep_and_come
'''


@pytest.mark.parametrize("turn", ["1", "2", "3", "4", "5"])
def test_who_is_accepted_in_the_last_moment_is_answered(tmp_path, parking, turn):
    # uvloop accepts until it is told to close, and makes a connection of it a turn later.
    (tmp_path / "comes.py").write_text(COMES_LATE)
    with Master("comes:app", server_options={"loop": "uvloop", "lifespan": "off"},
                environment={"PYTHONPATH": "%s:%s" % (tmp_path, APPS), "TURNS": turn}) as master:
        master.loaded()
        worker = parking.add(master.worker())
        parking.retire(worker, nobody_adopts=True)
        assert worker.gone() == 0
        until(lambda: "answer:" in master.log(), "its client is answered")
        assert "HTTP/1.1 200" in master.log() or "nobody could come" in master.log()
