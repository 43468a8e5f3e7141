"""Each way in which a server can fail its client is counted in its class, exactly, and nothing else is."""
import itertools
import random
import socket
from collections import Counter

import pytest

from hostile import Hostile, Peer, whole
from tools.load_client.client import Plan
from tools.load_client.connection import Endpoint
from tools.load_client.crowd import run
from tools.load_client.exchanges import mix_of
from tools.load_client.tally import Failure, Tally

CLIENTS, EXCHANGES = 3, 8
ASKED = CLIENTS * EXCHANGES


def load(server, **plan) -> Tally:
    url = server if isinstance(server, str) else server.url
    given = {"mix": {"get": 1, "post": 1}, "connections": CLIENTS, "exchanges": EXCHANGES,
             "think_seconds": (0.001, 0.01), "timeout_seconds": 60, **plan}
    return run(Plan(Endpoint.parse(url), **given))


def assert_only(tally: Tally, failures: dict, **counts) -> None:
    assert tally.failures == Counter(failures), tally.examples
    assert tally.requests == tally.answered + tally.failed - tally.unasked
    for name, count in {"idle_closes": 0, "announced_closes": 0, **counts}.items():
        assert getattr(tally, name) == count, name


def everybody(treat):
    """A talk that treats each request of a connection until `treat(peer, body)` has ended it."""
    def talk(peer: Peer) -> None:
        while peer.socket.fileno() >= 0:
            body = peer.request()
            if body is None:
                return
            treat(peer, body)
    return talk


@pytest.mark.parametrize("blind", [True, False])
def test_a_server_that_does_well_is_found_to(hostile, blind):
    tally = load(hostile(everybody(Peer.answer)), blind=blind)
    assert_only(tally, {}, answered=ASKED, connections=CLIENTS)
    assert tally.clean


def test_a_close_between_two_requests_is_an_idle_close_or_fails_the_next_request_of_who_is_blind(hostile):
    server = hostile(everybody(Peer.answer_and_close))
    # Every second request of a blind client meets the closed connection.
    blind = load(server, blind=True)
    assert (blind.answered, blind.failed, blind.idle_closes) == (ASKED // 2, ASKED // 2, 0)
    assert blind.connections == ASKED // 2
    if server.url.startswith("http"):
        assert_only(blind, {Failure.EMPTY_REPLY: ASKED // 2})
        assert_only(load(server), {}, answered=ASKED, idle_closes=CLIENTS * (EXCHANGES - 1), connections=ASKED)
    else:  # the close may come while the next request is written already
        assert set(blind.failures) <= {Failure.EMPTY_REPLY, Failure.RESET_BEFORE_FIRST_BYTE}


def test_a_reset_between_two_requests_fails_the_next_one_of_who_is_blind(hostile):
    def answer_and_reset(peer: Peer, body: bytes) -> None:
        peer.answer(body)
        peer.reset()
    tally = load(hostile(everybody(answer_and_reset)), blind=True)
    assert_only(tally, {Failure.RESET_BEFORE_FIRST_BYTE: ASKED // 2}, answered=ASKED // 2)


def test_a_reset_between_two_requests_is_an_idle_close_to_who_watches():
    server = Hostile(Peer.reset)
    tally = load(server, connections=1, think_seconds=(60, 60), exchanges=None, seconds=0.5)
    assert 0 < tally.connections - 1 <= tally.idle_closes <= tally.connections  # it may have ended before it thought
    assert_only(tally, {}, requests=0, idle_closes=tally.idle_closes)
    server.stop()


def test_an_announced_close_is_neither_a_failure_nor_an_idle_close(hostile):
    def announce(peer: Peer, body: bytes) -> None:
        peer.answer(body, "Connection: close")
        peer.socket.close()
    tally = load(hostile(everybody(announce)), blind=True)
    assert_only(tally, {}, answered=ASKED, announced_closes=ASKED, connections=ASKED)


def test_a_connection_that_is_reset_instead_of_answered(hostile):
    def reset(peer: Peer) -> None:
        if peer.wait_for_bytes():
            peer.did("reset")
            peer.reset()
    server = hostile(reset)
    assert_only(load(server, blind=True), {Failure.RESET_BEFORE_FIRST_BYTE: ASKED}, answered=0)
    assert server.did["reset"] == ASKED


def test_an_answer_that_is_reset_in_the_middle(hostile):
    def reset(peer: Peer) -> None:
        if peer.wait_for_bytes():
            peer.say(whole(b"x" * 200)[:-100])
            peer.reset()
    assert_only(load(hostile(reset), blind=True), {Failure.RESET_IN_THE_MIDDLE: ASKED}, answered=0)


def test_a_connection_that_is_closed_without_a_byte(hostile):
    server = hostile(everybody(lambda peer, body: peer.socket.close()))
    assert_only(load(server, blind=True), {Failure.EMPTY_REPLY: ASKED}, answered=0)


@pytest.mark.parametrize("text", [
    whole(b"x" * 200)[:1], whole(b"x" * 200)[:40], whole(b"x" * 200)[:-1],
    b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
    b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n"])
def test_an_answer_that_is_cut(hostile, text):
    def cut(peer: Peer, body: bytes) -> None:
        peer.say(text)
        peer.socket.close()
    assert_only(load(hostile(everybody(cut)), blind=True), {Failure.CUT: ASKED}, answered=0)


@pytest.mark.parametrize("answer", [
    lambda body: whole(body[:-1]), lambda body: whole(body[:-1] + b"?"), lambda body: whole(body + b"?"),
    lambda body: whole(body) + b"?", lambda body: whole(body) + whole(body), lambda body: whole(b""),
    lambda body: whole(body, status="404 Not Found"), lambda body: whole(body, status="302 Found"),
    lambda body: whole(body, status="600 Odd"), lambda body: b"HTTP/1.1 100 Continue\r\n\r\n" + whole(body),
    lambda body: b"hello\r\n", lambda body: whole(body, "no colon"), lambda body: whole(body, "Content-Length: 7"),
    lambda body: whole(body, "Transfer-Encoding: chunked")])
def test_an_answer_that_is_wrong(hostile, answer):
    server = hostile(everybody(lambda peer, body: peer.say(answer(body))))
    assert_only(load(server, blind=True), {Failure.WRONG_ANSWER: ASKED}, answered=0)


def test_an_answer_to_somebody_else_is_wrong():
    kept = [b"nothing yet"]

    def talk(peer: Peer, body: bytes) -> None:
        peer.answer(kept[0])
        kept[0] = body
    server = Hostile(everybody(talk))
    assert_only(load(server, connections=1), {Failure.WRONG_ANSWER: EXCHANGES}, answered=0)
    server.stop()


@pytest.mark.parametrize("first_bytes", [0, 30, 150])
def test_an_answer_that_does_not_come_or_not_to_its_end_in_time(hostile, first_bytes):
    def stall(peer: Peer, body: bytes) -> None:
        peer.say(whole(body)[:first_bytes])
        peer.wait_until_it_closes()
        peer.socket.close()
    server = hostile(everybody(stall))
    tally = load(server, blind=True, timeout_seconds=0.1, exchanges=2)
    assert_only(tally, {Failure.TIMEOUT: CLIENTS * 2}, answered=0)


def test_a_late_answer_is_a_timeout_and_is_nobody_elses(hostile):
    """Each connection answers its first request after its client has gone on."""
    def late(peer: Peer) -> None:
        body = peer.request()
        if body is not None:
            peer.wait_until_it_closes()
            with pytest.raises(OSError):
                for _ in range(1000):
                    peer.answer(body)
    assert_only(load(hostile(late), timeout_seconds=0.1, exchanges=2), {Failure.TIMEOUT: CLIENTS * 2}, answered=0)


@pytest.mark.parametrize("status", ["500 Oops", "503 Service Unavailable"])
def test_an_error_of_the_server_after_which_the_connection_lives_on(hostile, status):
    server = hostile(everybody(lambda peer, body: peer.answer(b"sorry", status=status)))
    assert_only(load(server, blind=True), {Failure.SERVER_ERROR: ASKED}, answered=0, connections=CLIENTS)


def test_an_error_of_the_server_that_announces_the_close(hostile):
    def say_so_and_close(peer: Peer, body: bytes) -> None:
        peer.answer(b"sorry", "Connection: close", status="503 Service Unavailable")
        peer.socket.close()
    tally = load(hostile(everybody(say_so_and_close)), blind=True)
    assert_only(tally, {Failure.SERVER_ERROR: ASKED}, answered=0, announced_closes=ASKED, connections=ASKED)


def test_nobody_listens(tmp_path):
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        nobody = f"http://127.0.0.1:{probe.getsockname()[1]}"
        for url in (nobody, f"unix:{tmp_path}/nowhere"):
            assert_only(load(url), {Failure.REFUSED: ASKED}, answered=0, connections=0)
            assert_only(load(url, connections=0, fresh=CLIENTS), {Failure.REFUSED: ASKED}, answered=0, connections=0)


@pytest.mark.parametrize("family", [socket.AF_INET, socket.AF_UNIX])
def test_a_listener_that_nobody_accepts_from_is_a_timeout_once_its_backlog_is_full(family, tmp_path):
    with socket.socket(family) as listener, socket.socket(family) as other:
        listener.bind(("127.0.0.1", 0) if family == socket.AF_INET else str(tmp_path / "full"))
        listener.listen(0)
        other.connect(listener.getsockname())  # of a backlog of 0 there is room for one
        if family == socket.AF_UNIX:
            url = f"unix:{tmp_path}/full"
        else:
            url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        tally = load(url, exchanges=1, timeout_seconds=0.2)
        assert_only(tally, {Failure.TIMEOUT: CLIENTS}, answered=0, connections=0)


def test_a_full_backlog_of_a_unix_socket_is_waited_for(tmp_path):
    server = Hostile(everybody(Peer.answer), str(tmp_path / "socket"), backlog=0)
    assert_only(load(server, connections=0, fresh=16, exchanges=20), {}, answered=320)
    server.stop()


def test_the_second_of_a_pipelined_pair_is_unanswered_behind_an_announced_close(hostile):
    def only_the_first(peer: Peer, body: bytes) -> None:
        peer.answer(body, "Connection: close")
        peer.request()
        peer.socket.close()
    tally = load(hostile(everybody(only_the_first)), mix={"pipelined": 1}, blind=True)
    assert_only(tally, {Failure.UNANSWERED: ASKED}, answered=ASKED, announced_closes=ASKED, requests=2 * ASKED)


def test_the_second_of_a_pipelined_pair_that_is_not_answered_is_a_failure_of_its_own(hostile):
    def only_the_first(peer: Peer, body: bytes) -> None:
        peer.request()
        peer.answer_and_close(body)
    tally = load(hostile(everybody(only_the_first)), mix={"pipelined": 1}, blind=True)
    assert_only(tally, {Failure.EMPTY_REPLY: ASKED}, answered=ASKED)


def test_pipelined_answers_in_the_wrong_order_are_wrong(hostile):
    def swapped(peer: Peer, body: bytes) -> None:
        peer.answer(peer.request())
        peer.answer(body)
    tally = load(hostile(everybody(swapped)), mix={"pipelined": 1}, blind=True)
    assert_only(tally, {Failure.WRONG_ANSWER: ASKED, Failure.UNANSWERED: ASKED}, answered=0)


def test_bytes_that_nobody_asked_for_are_wrong_to_both_kinds_of_clients():
    def greet(peer: Peer) -> None:
        peer.answer(b"", status="408 Request Timeout")
        peer.wait_until_it_closes()
    server = Hostile(greet)
    assert_only(load(server, blind=True), {Failure.WRONG_ANSWER: ASKED}, unasked=0)
    tally = load(server, connections=1, think_seconds=(60, 60), exchanges=None, seconds=0.5)
    assert 0 < tally.connections - 1 <= tally.unasked <= tally.connections
    assert_only(tally, {Failure.WRONG_ANSWER: tally.unasked}, unasked=tally.unasked, requests=0)
    server.stop()


def test_it_is_counted_how_often_another_process_answers_on_the_same_connection(hostile):
    def talk(peer: Peer) -> None:
        for worker in itertools.count():
            body = peer.request()
            if body is None:
                return
            peer.answer(body, worker=str(worker // 2))
    assert_only(load(hostile(talk)), {}, answered=ASKED, moved=CLIENTS * (EXCHANGES // 2 - 1))


TREATMENTS = {
    Failure.RESET_BEFORE_FIRST_BYTE: lambda peer, body: peer.reset(),
    Failure.EMPTY_REPLY: lambda peer, body: peer.socket.close(),
    Failure.CUT: lambda peer, body: (peer.say(whole(body)[:-1]), peer.socket.close()),
    Failure.RESET_IN_THE_MIDDLE: lambda peer, body: (peer.say(whole(body)[:-1]), peer.reset()),
    Failure.WRONG_ANSWER: lambda peer, body: peer.answer(body + b"?"),
    Failure.SERVER_ERROR: lambda peer, body: peer.answer(b"sorry", status="500 Oops"),
}


@pytest.mark.parametrize("processes", [1, 3])
def test_what_a_server_did_in_a_mixture_is_what_was_counted(processes):
    dice = random.Random(3)

    def treat(peer: Peer, body: bytes) -> None:
        failure = dice.choice([None, None, *TREATMENTS])
        peer.did(failure)
        (TREATMENTS[failure] if failure else Peer.answer)(peer, body)
    server = Hostile(everybody(treat))
    singly = {**mix_of("all"), "pipelined": 0}  # behind one that was treated badly a second would be UNANSWERED
    tally = load(server, blind=True, connections=8, fresh=4, exchanges=40, processes=processes, mix=singly)
    answered = server.did.pop(None)
    assert_only(tally, server.did, answered=answered)
    assert len(server.did) == len(TREATMENTS)
    server.stop()
