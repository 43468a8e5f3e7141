"""Connections that outlive their worker: real workers on both sides, and clients that notice everything."""
import os
import resource
import select
import signal
import socket
import time

import pytest
from clients import Clients
from handover_fixtures import asgi_only, pid_of
from http_client import Connection
from master import PATIENCE_SECONDS, channel_pair, say, until
from parking import receive_with_fds

BUSY_SECONDS = 5  # what a worker may be late by where the machine has more to do


def test_no_client_notices_that_its_worker_is_replaced(server, parking, worker, retire):
    rounds = 6
    with Clients([server.port, server.unix_path], rounds=2) as clients:
        for _ in range(rounds):
            count = clients.requests.copy()
            until(lambda: all(clients.requests[kind] > count[kind] for kind in clients.kinds), "an answer of each kind")
            old, worker = worker, retire(worker, 60)
            assert old.gone(60) == 0, "nothing was cut"
    assert clients.failures == [] and clients.told_to_close == 0
    assert parking.counts["adopted"] >= rounds * 8, parking.counts
    assert parking.statuses == [] and parking.counts["refused"] == 0


def test_idle_connections_are_given_at_once_and_work_afterwards(server, parking, worker, retire):
    clients = [Connection(where) for where in (server.port, server.unix_path) * 25]
    for client in clients:
        client.get("/")
    began = time.monotonic()
    successor = retire(worker)
    assert worker.gone() == 0 and time.monotonic() - began < 1 + BUSY_SECONDS
    until(lambda: parking.held() == 50, "all are parked")
    assert {pid_of(client.get("/")) for client in clients} == {successor.pid}
    assert successor.shows(OPEN_CONNECTIONS=50)
    until(lambda: parking.held() == 0, "the last ADOPTED")
    for client in clients:
        client.socket.close()


def test_one_that_was_just_accepted_and_one_that_waits_to_speak_are_given(server, parking, worker, retire):
    with Connection(server.port) as silent, Connection(server.unix_path) as other:
        worker.shows(OPEN_CONNECTIONS=2)
        successor = retire(worker)
        assert worker.gone() == 0
        assert {pid_of(client.get("/")) for client in (silent, other)} == {successor.pid}


def test_requests_in_flight_are_answered_here_and_the_next_by_another(server, parking, worker, retire):
    with Connection(server.port) as busy, Connection(server.port) as half:
        half.get("/")
        busy.send("/sleep?0.4")
        half.socket.sendall(b"GET / HTTP/1.1\r\nHo")
        worker.shows(REQUESTS_STARTED=2)
        time.sleep(0.1)  # nothing tells that half a head was read
        successor = retire(worker)
        until(lambda: parking.said["STOPPING"], "STOPPING")
        half.socket.sendall(b"st: x\r\n\r\n")
        assert pid_of(half.answer()) == worker.pid and pid_of(busy.answer()) == worker.pid
        assert worker.gone() == 0
        assert pid_of(half.get("/")) == pid_of(busy.get("/")) == successor.pid
    assert worker.shows(REQUESTS_STARTED=3, REQUESTS_FINISHED=3)


def test_pipelined_requests_are_answered_here_before_their_connection_is_given(server, parking, worker, retire):
    with Connection(server.port) as client:
        client.socket.sendall(b"GET /sleep?0.2 HTTP/1.1\r\nHost: x\r\n\r\n" * 3)
        worker.shows(REQUESTS_STARTED=1)
        successor = retire(worker)
        assert [pid_of(client.answer()) for _ in range(3)] == [worker.pid] * 3
        assert worker.gone() == 0
        assert pid_of(client.get("/")) == successor.pid


def test_one_whose_app_leaves_the_body_is_given_once_that_was_read(server, parking, worker, retire):
    with Connection(server.port) as client:
        client.socket.sendall(b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\n01234")
        assert pid_of(client.answer()) == worker.pid
        successor = retire(worker)
        until(lambda: parking.said["STOPPING"], "STOPPING")
        time.sleep(0.2)
        assert parking.counts["stored"] == 0
        client.socket.sendall(b"56789")
        assert worker.gone() == 0
        assert pid_of(client.get("/")) == successor.pid


def test_a_body_that_was_left_and_then_came_does_not_keep_a_connection_from_leaving(server, parking, worker, retire):
    with Connection(server.port) as client:
        client.socket.sendall(b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n")
        assert pid_of(client.answer()) == worker.pid
        client.socket.sendall(b"2\r\nde\r\n0\r\n\r\n")
        time.sleep(0.1)
        successor = retire(worker)
        assert worker.gone(3) == 0
        assert pid_of(client.get("/")) == successor.pid


def test_a_response_that_is_read_slowly_is_delivered_before_its_connection_is_given(server, parking, worker, retire):
    with Connection(server.port) as client:
        client.send("/big?8000000")
        client.more()
        worker.shows(REQUESTS_STARTED=1)
        successor = retire(worker)
        time.sleep(0.3)
        assert parking.counts["stored"] == 0
        assert len(client.answer().body) == 8000000
        assert worker.gone() == 0 and worker.shows(REQUESTS_FINISHED=1)
        assert pid_of(client.get("/")) == successor.pid


def test_what_the_master_declines_is_answered_here_with_a_close(server, parking, worker):
    parking.most = 1
    with Connection(server.port) as first, Connection(server.port) as second, Connection(server.port) as third:
        for client in (first, second, third):
            client.get("/")
        parking.retire(worker, 3)
        until(lambda: parking.counts["declined"] == 2, "two are declined")
        for client in (first, second, third):
            client.send("/")
        waiting = {client.socket: client for client in (first, second, third)}
        while len(waiting) > 1:  # one is parked, where nobody serves
            for ready in select.select(list(waiting), [], [], PATIENCE_SECONDS)[0]:
                with waiting.pop(ready) as client:
                    answer = client.answer()
                    assert answer.status == 200 and answer.headers["connection"] == "close" and client.is_closed()
        assert worker.gone() == 0
        assert parking.statuses == [] and parking.counts["stored"] == 1


def test_what_is_declined_and_stays_idle_is_closed_at_the_deadline_and_told(server, parking, worker):
    parking.most = 0
    with Connection(server.port) as client, Connection(server.port) as silent:
        client.get("/")
        worker.shows(OPEN_CONNECTIONS=2)
        began = time.monotonic()
        parking.retire(worker, 2.0)
        assert client.is_closed() and silent.is_closed()
        assert worker.gone() == 0 and time.monotonic() - began < 2 + BUSY_SECONDS
        until(lambda: parking.statuses, "a STATUS")
        assert parking.statuses == ["at the deadline 2 idle connections were closed"]


def test_without_an_answer_a_connection_is_not_read_from_and_left_to_the_master(server, parking, worker, retire):
    with Connection(server.port) as client:
        client.get("/")
        parking.most = None  # it says nothing
        began = time.monotonic()
        parking.retire(worker, 1.5)
        until(lambda: parking.unanswered, "FDSTORE")
        client.send("/")
        assert worker.gone() == 0 and 0.4 < time.monotonic() - began < 1.5 + BUSY_SECONDS
        assert worker.read("REQUESTS_STARTED") == 1, "it was not read from"
        parking.park_unanswered()
        successor = retire.successor()
        assert pid_of(client.answer()) == successor.pid


def test_no_more_than_64_are_given_before_the_master_answers(server, alone):
    clients = [Connection(server.port) for _ in range(100)]
    alone.shows(OPEN_CONNECTIONS=100)
    alone.retire()
    assert alone.next_message() == {"STOPPING": "1"}
    given = []
    for batch in (64, 36):
        for _ in range(batch):
            message, fds = receive_with_fds(alone.channel)
            given.append(message["FDSTORE"])
            os.close(fds[0])
        with pytest.raises(TimeoutError):
            alone.next_message(0.3)
        for number in given[-batch:]:
            say(alone.channel, ("HELD", number))
    assert alone.gone() == 0 and len(set(given)) == 100
    for client in clients:
        assert client.is_closed()  # nobody has it any more
        client.socket.close()


def test_what_the_channel_has_no_room_for_is_given_later(server, monkeypatch):
    """Its buffer is as small as can be. A sender that has too many descriptors under way is told to wait likewise."""
    def narrow_pair():
        ours, theirs = channel_pair()
        theirs.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1)
        return ours, theirs

    monkeypatch.setattr("master.channel_pair", narrow_pair)
    worker = server.worker()
    clients = [Connection(server.port) for _ in range(40)]
    worker.shows(OPEN_CONNECTIONS=40)
    worker.retire()
    time.sleep(0.3)
    assert worker.next_message() == {"STOPPING": "1"}
    for _ in clients:
        message, fds = receive_with_fds(worker.channel)
        os.close(fds[0])
        say(worker.channel, ("HELD", message["FDSTORE"]))
    assert worker.gone() == 0
    for client in clients:
        client.socket.close()


def test_a_worker_that_retires_or_gets_no_connection_declines(server, alone):
    ours, theirs = socket.socketpair()
    reading, writing = os.pipe()
    with Connection(server.port) as client:
        client.send("/sleep?1")
        alone.shows(REQUESTS_STARTED=1)
        for number, fds in ((1, []), (2, [reading]), (3, [theirs.fileno(), ours.fileno()])):
            say(alone.channel, ("ADOPT", number), fds=fds)
            assert alone.next_message() == {"DECLINED": str(number)}
        alone.retire()
        say(alone.channel, ("ADOPT", 4), fds=[theirs.fileno()])
        assert {"DECLINED": "4"} in (alone.next_message(), alone.next_message())
        assert pid_of(client.answer()) == alone.pid
    for fd in (reading, writing):
        os.close(fd)
    ours.close(), theirs.close()


def test_a_worker_without_a_free_descriptor_declines(server, alone):
    ours, theirs = socket.socketpair()
    used = set(map(int, os.listdir("/proc/%d/fd" % alone.pid)))
    lowest_free = min(set(range(len(used) + 1)) - used)
    limits = resource.prlimit(alone.pid, resource.RLIMIT_NOFILE)
    resource.prlimit(alone.pid, resource.RLIMIT_NOFILE, (lowest_free, limits[1]))
    say(alone.channel, ("ADOPT", 1), fds=[theirs.fileno()])
    assert alone.next_message() == {"DECLINED": "1"}
    resource.prlimit(alone.pid, resource.RLIMIT_NOFILE, limits)
    say(alone.channel, ("ADOPT", 2), fds=[theirs.fileno()])
    assert alone.next_message() == {"ADOPTED": "2"}
    ours.close(), theirs.close()


def test_one_that_was_reset_meanwhile_is_adopted_and_forgotten(server, alone):
    listener = socket.create_server(("127.0.0.1", 0))
    client = socket.create_connection(listener.getsockname())
    accepted, _ = listener.accept()
    client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
    client.close()
    say(alone.channel, ("ADOPT", 1), fds=[accepted.fileno()])
    accepted.close(), listener.close()
    assert alone.next_message() == {"ADOPTED": "1"}
    assert alone.shows(OPEN_CONNECTIONS=0)
    with Connection(server.port) as other:
        assert pid_of(other.get("/")) == alone.pid


def test_a_worker_reads_nothing_before_it_has_acknowledged(server, parking, worker, retire):
    """It is killed before that, or at any moment around it: what it had not acknowledged is answered by the next."""
    for number in range(16):
        with Connection(server.port) as client:
            pid_of(client.get("/"))
            victim = parking.add(server.worker(2))
            os.kill(victim.pid, signal.SIGSTOP)
            parking.retire(worker)
            assert worker.gone() == 0
            adopted = parking.counts["adopted"]
            client.send("/sleep?0.1")
            until(lambda: parking.passed_to(victim), "ADOPT")
            if number % 4:
                os.kill(victim.pid, signal.SIGCONT)
                time.sleep(number % 8 / 5000)
            os.kill(victim.pid, signal.SIGKILL)
            until(lambda: victim not in parking.serving, "the end of its channel")
            victim.kill()
            worker = retire.successor()
            if parking.counts["adopted"] == adopted:
                assert pid_of(client.answer()) == worker.pid
            else:
                assert number % 4, "it was stopped"


def test_calls_from_inside_end_with_the_worker(server, parking, worker):
    with Connection(server.internal_path) as idle, Connection(server.internal_path) as busy:
        idle.get("/")
        busy.send("/sleep?0.3")
        worker.shows(CALLS_STARTED=2)
        parking.retire(worker)
        assert idle.is_closed()
        answer = busy.answer()
        assert answer.status == 200 and answer.headers["connection"] == "close"
        assert worker.gone() == 0 and parking.counts["stored"] == 0


def test_websockets_hear_of_the_restart_while_a_stream_runs_to_its_end_and_moves(server, parking, worker, retire):
    asgi_only(server)
    with Connection(server.port) as chat, Connection(server.port) as stream, Connection(server.port) as idle:
        chat.upgrade("/ws").send_text("hi")
        chat.frame()
        stream.send("/stream?1").read_until(b"first")
        idle.get("/")
        successor = retire(worker)
        assert chat.close_code() == 1012
        chat.socket.close()
        stream.read_until(b"0\r\n\r\n")
        assert worker.gone() == 0
        assert {pid_of(client.get("/")) for client in (stream, idle)} == {successor.pid}
    assert parking.counts["stored"] == 2


def test_a_stream_is_cut_at_the_deadline_and_told(server, parking, worker):
    asgi_only(server)
    with Connection(server.port) as stream, Connection(server.port) as idle:
        stream.send("/stream?30").read_until(b"first")
        idle.get("/")
        began = time.monotonic()
        parking.retire(worker, 1.5)
        assert worker.gone() == 75 and time.monotonic() - began < 1.5 + BUSY_SECONDS
        until(lambda: parking.statuses, "a STATUS")
        assert parking.statuses == ["at the deadline 1 requests were still in flight"]
        assert parking.held() == 1


def test_a_task_that_goes_on_after_its_answer_holds_the_worker_and_not_the_connection(
        server, parking, worker, retire):
    asgi_only(server)
    with Connection(server.port) as client, server.logs_once_more("done later"):
        pid_of(client.get("/later?4"))
        successor = retire(worker)
        until(lambda: parking.counts["stored"], "it is parked")
        assert pid_of(client.get("/")) == successor.pid
        assert os.listdir("/proc/%d/fd" % worker.pid), "the worker is there"
        assert worker.gone() == 0
