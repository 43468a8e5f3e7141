"""A client that still sends when its answer ends the connection has all of it: the master closes what a close of the
worker's would cut off. Each server, with the whole of its answer in the kernel, and where that fits no more.
"""
import socket
import threading

import pytest
from http_client import Connection
from master import until

FITS = 400 * 1024  # in the queues of the kernel, beside what the client takes before it reads
MORE = 16 * 1024 * 1024


class Client:
    """Reads nothing until it is told to, and sends all the time if it is to."""

    def __init__(self, where):
        self.socket = socket.socket(socket.AF_UNIX if isinstance(where, str) else socket.AF_INET)
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 16 * 1024)
        self.socket.settimeout(20)
        self.socket.connect(where if isinstance(where, str) else ("127.0.0.1", where))
        self.sent = 0
        self._over = False
        self._sender = None

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self._over = True
        if self._sender:
            self._sender.join()
        self.socket.close()

    def ask(self, path, *headers, body=b""):
        self.socket.sendall("\r\n".join(["POST %s HTTP/1.1" % path, "Host: x", *headers, "", ""]).encode() + body)

    def send_on(self, pause=0.0):
        def send():
            while not self._over:
                if pause:
                    threading.Event().wait(pause)
                try:
                    self.sent += self.socket.send(b"x" * 4096, socket.MSG_DONTWAIT)
                except BlockingIOError:
                    threading.Event().wait(0.001)
                except OSError:
                    return
        self._sender = threading.Thread(target=send)
        self._sender.start()

    def sends(self):
        return self._sender.is_alive()

    def answer(self):
        """How many bytes of body came, and whether the end was one."""
        heard = bytearray()
        try:
            while True:
                some = self.socket.recv(1 << 16)
                if not some:
                    return len(heard) - heard.index(b"\r\n\r\n") - 4, True
                heard += some
        except ConnectionResetError:
            return len(heard) - heard.find(b"\r\n\r\n") - 4, False


@pytest.fixture
def early(server, parking, worker):
    """A client that was answered before all of its body had come, with an answer that ends the connection."""
    def ask(client, size):
        client.ask("/big?%d" % size, "Connection: close", "Content-Length: 30000000", body=b"x" * 300000)
    return ask


def test_a_client_that_sends_on_has_all_of_an_answer_that_came_early(server, parking, worker, early):
    with Client(server.port) as client:
        early(client, FITS)
        client.send_on()
        until(lambda: parking.counts["closing"], "FDCLOSE")
        worker.shows(OPEN_CONNECTIONS=0)
        before = client.sent
        until(lambda: client.sent > before, "what it sends is taken")
        assert client.answer() == (FITS, True)


def test_without_the_master_the_same_client_loses_the_end_of_it(server, parking, worker, early):
    parking.closes = False
    with Client(server.port) as client:
        early(client, FITS)
        client.send_on()
        until(lambda: parking.counts["close_declined"], "FDCLOSE")
        until(lambda: not client.sends(), "its reset")
        received, _ = client.answer()
        assert received < FITS


def test_an_answer_that_the_kernel_does_not_take_at_once_is_written_first(server, parking, worker, early):
    with Client(server.port) as client:
        early(client, MORE)
        client.send_on()
        assert client.answer() == (MORE, True)
    worker.shows(OPEN_CONNECTIONS=0, REQUESTS_FINISHED=worker.read("REQUESTS_STARTED"))


def test_who_asks_for_the_end_and_has_said_all_is_closed_here(server, parking, worker):
    for _ in range(20):
        with Connection(server.port) as client:
            assert client.get("/big?1000", headers=[("Connection", "close")]).status == 200
            with pytest.raises(EOFError):
                client.more()
    assert parking.counts["closing"] == parking.counts["close_declined"] == 0


def retire_with_a_tail(parking, worker, client, size=FITS):
    """It has answered, and has not said that it closes; now it does."""
    before = worker.read("REQUESTS_FINISHED")
    client.ask("/big?%d" % size, "Content-Length: 0")
    worker.shows(REQUESTS_FINISHED=before + 1)
    parking.retire(worker, nobody_adopts=True)


def test_a_body_that_comes_so_slowly_that_nothing_of_it_waits_does_not_cost_the_answer(server, parking, worker):
    with Client(server.port) as client:
        client.ask("/big?%d" % FITS, "Content-Length: 100000000")
        client.send_on(pause=0.01)
        until(lambda: parking.counts["closing"] or client.sent > 200_000, "it is given away, or it is read on")
        if not parking.counts["closing"]:
            parking.retire(worker, nobody_adopts=True)  # uvicorn reads for as long as it serves
        assert client.answer() == (FITS, True)


def test_who_speaks_only_after_the_close_has_all(server, parking, worker):
    with Client(server.port) as client:
        retire_with_a_tail(parking, worker, client)
        worker.gone()
        assert parking.counts["closing"] == 1
        client.send_on()
        until(lambda: client.sent, "what it sends is taken")
        assert client.answer() == (FITS, True)


def test_who_has_all_is_closed_here_though_it_has_not_asked_for_the_end(server, parking, worker):
    with Connection(server.port) as client:
        assert client.get("/big?1000").status == 200
        parking.retire(worker, nobody_adopts=True)
        with pytest.raises(EOFError):
            client.more()
    assert parking.counts["closing"] == parking.counts["close_declined"] == 0


def test_of_a_unix_socket_nothing_is_lost_and_nobody_waits(server, parking, worker):
    with Client(server.unix_path) as client:
        retire_with_a_tail(parking, worker, client, 100 * 1024)
        assert client.answer() == (100 * 1024, True)
    assert parking.counts["closing"] == parking.counts["close_declined"] == 0


def test_who_hangs_up_meanwhile_leaves_nothing_behind(server, parking, worker, early):
    for _ in range(20):
        with Client(server.port) as client:
            early(client, FITS)
    worker.shows(OPEN_CONNECTIONS=0)
