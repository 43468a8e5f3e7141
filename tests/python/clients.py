"""Clients of many habits at once, which never read before they write and never ask again: whatever goes wrong is told.
For tests."""
import random
import socket
import threading
import time
from collections import Counter

from http_client import Connection

KINDS = ("fast", "fresh", "thinking", "posting", "split", "pipelining", "large", "slow")
LARGE_BYTES = 1 << 20


class Clients:
    """`with Clients([address]) as clients:` one of each kind, `rounds` times. An answer with `Connection: close` ends a
    connection, which is no failure; one that ends without it is."""

    def __init__(self, where, rounds=2, kinds=KINDS):
        self.kinds = kinds
        self.requests = Counter()
        self.told_to_close = 0
        self.failures = []
        self._ending = threading.Event()
        self._random = random.Random(7)
        self._threads = [threading.Thread(target=self._run, args=(kind, where[number // len(kinds) % len(where)]))
                         for number, kind in enumerate(kinds * rounds)]

    def __enter__(self):
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *error):
        self._ending.set()
        for thread in self._threads:
            thread.join(30)
            assert not thread.is_alive()

    def _run(self, kind, where):
        while not self._ending.is_set():
            try:
                with Connection(where) as connection:
                    self._converse(kind, connection)
            except (OSError, EOFError, AssertionError, ValueError) as error:
                self.failures.append("%s: %r" % (kind, error))

    def _converse(self, kind, connection):
        if kind == "slow":
            connection.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 16384)
        while not self._ending.is_set():
            if kind not in ("fast", "fresh"):
                time.sleep(self._random.uniform(0.005, 0.05))
            answers = getattr(self, "_" + kind)(connection)
            self.requests[kind] += len(answers)
            assert not connection.buffer, "more came than was asked for"
            if kind == "fresh":
                return
            if any(answer.headers.get("connection") == "close" for answer in answers):
                assert connection.is_closed()
                self.told_to_close += 1
                return

    def _fast(self, connection):
        answer = connection.get("/")
        assert answer.status == 200 and answer.text().startswith("hello"), answer.status
        return [answer]

    _fresh = _thinking = _fast

    def _posting(self, connection):
        size = self._random.choice([1, 1000, 70000, 300000])
        answer = connection.send("/body", "POST", body=b"x" * size).answer()
        assert (answer.status, answer.body) == (200, b"%d" % size), answer.status
        return [answer]

    def _split(self, connection):
        request = b"POST /body HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\n0123456789"
        at = sorted(self._random.sample(range(1, len(request)), 3))
        for begin, end in zip([0, *at], [*at, len(request)]):
            connection.socket.sendall(request[begin:end])
            time.sleep(0.003)
        answer = connection.answer()
        assert (answer.status, answer.body) == (200, b"10"), answer.status
        return [answer]

    def _pipelining(self, connection):
        sizes = [self._random.randrange(1, 3000) for _ in range(3)]
        connection.socket.sendall(b"".join(b"GET /big?%d HTTP/1.1\r\nHost: x\r\n\r\n" % size for size in sizes))
        answers = []
        for size in sizes:
            answers.append(connection.answer())
            assert len(answers[-1].body) == size, len(answers[-1].body)
            if answers[-1].headers.get("connection") == "close":
                break  # what was pipelined after it is not answered, as HTTP has it
        return answers

    def _large(self, connection):
        answer = connection.get("/big?%d" % LARGE_BYTES)
        assert len(answer.body) == LARGE_BYTES, len(answer.body)
        return [answer]

    def _slow(self, connection):
        connection.send("/big?%d" % LARGE_BYTES)
        time.sleep(0.1)
        answer = connection.answer()
        assert len(answer.body) == LARGE_BYTES, len(answer.body)
        return [answer]
