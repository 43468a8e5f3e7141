"""Plays the master's side of connection hand-over: holds what retiring workers give, and gives it to one that serves
when the client speaks; and closes politely what workers cannot. In a thread of its own; every descriptor ends in
exactly one count. For tests.
"""
import array
import contextlib
import os
import selectors
import socket
import threading
from collections import Counter

from master import contract, say


def receive_with_fds(channel):
    """(message, fds); None at the end, or when the test is done with the worker."""
    try:
        datagram, ancillary, _, _ = channel.recvmsg(contract.MAX_MESSAGE_BYTES + 1, 1024)
    except OSError:
        return None
    fds = array.array("i")
    for level, kind, content in ancillary:
        if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
            fds.frombytes(content)
    return (contract.parse(datagram), list(fds)) if datagram else None


class Parking:
    def __init__(self, most=4096):
        self.most = most  # None: no answer to anybody who gives
        self.closes = True  # False: what workers give up to be closed is declined
        # stored, declined, adopted, refused (by a worker), closed_by_client; closing, close_declined
        self.counts = Counter()
        self.said = Counter()  # what else was said: STOPPING, STATUS
        self.statuses = []
        self.serving = []
        self.unanswered = []  # descriptors, where `most` is None
        self._selector = selectors.DefaultSelector()
        self._parked = set()
        self._passed = {}  # id -> (fd, worker): given to a worker that has not said yet that it has it
        self._last_id = 0
        self._lock = threading.RLock()
        self._ending = False
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self._ending = True
        self._thread.join()
        for fd in [*self._parked, *self.unanswered, *(fd for fd, _ in self._passed.values())]:
            os.close(fd)

    def add(self, worker):
        with self._lock:
            self.serving.append(worker)
            self._selector.register(worker.channel, selectors.EVENT_READ, worker)
        return worker

    def retire(self, worker, seconds=10.0, nobody_adopts=False):
        with self._lock:
            self.serving.remove(worker)
            worker.retire(seconds, nobody_adopts)

    def park_unanswered(self):
        """As when the worker has ended, whose descriptors these were."""
        with self._lock:
            while self.unanswered:
                self._park(self.unanswered.pop())

    def held(self):
        """How many are here: parked, or passed to a worker that has not said yet that it has them."""
        with self._lock:
            return len(self._parked) + len(self._passed)

    def passed_to(self, worker):
        with self._lock:
            return sum(1 for _, to in self._passed.values() if to is worker)

    def _run(self):
        while not self._ending:
            for key, _ in self._selector.select(0.05):
                with self._lock:
                    if key.data is None:
                        self._client_speaks(key.fd)
                    elif isinstance(key.data, socket.socket):
                        self._discard(key.data)
                    else:
                        self._hear(key.data)

    def _hear(self, worker):
        received = receive_with_fds(worker.channel)
        if received is None:
            self._selector.unregister(worker.channel)
            if worker in self.serving:
                self.serving.remove(worker)
            for number in [number for number, (_, to) in self._passed.items() if to is worker]:
                self._park(self._passed.pop(number)[0])
            return
        message, fds = received
        for key, value in message.items():
            if key == "FDSTORE":
                self._store(worker, value, fds)
            elif key == "FDCLOSE":
                self._close(worker, value, fds)
            elif key == "ADOPTED":
                os.close(self._passed.pop(int(value))[0])
                self.counts["adopted"] += 1
            elif key == "DECLINED":
                self.counts["refused"] += 1
                self._park(self._passed.pop(int(value))[0])
            else:
                self.said[key] += 1
                if key == "STATUS":
                    self.statuses.append(value)

    def _close(self, worker, number, fds):
        assert len(fds) == 1
        sock = socket.socket(fileno=fds[0])
        self.counts["closing" if self.closes else "close_declined"] += 1
        with contextlib.suppress(OSError):  # it has ended
            say(worker.channel, ("HELD" if self.closes else "DECLINED", number))
        if self.closes:
            with contextlib.suppress(OSError):  # its client has reset it
                sock.shutdown(socket.SHUT_WR)
            self._selector.register(sock, selectors.EVENT_READ, sock)
        else:
            sock.close()

    def _discard(self, sock):
        try:
            more = sock.recv(1 << 16, socket.MSG_DONTWAIT)
        except BlockingIOError:
            return
        except OSError:
            more = b""
        if not more:
            self._selector.unregister(sock)
            sock.close()

    def _store(self, worker, number, fds):
        assert len(fds) == 1
        if self.most is None:
            self.unanswered += fds
        elif self.held() >= self.most:
            os.close(fds[0])
            self.counts["declined"] += 1
            say(worker.channel, ("DECLINED", number))
        else:
            self.counts["stored"] += 1
            say(worker.channel, ("HELD", number))
            self._park(fds[0])

    def _park(self, fd):
        self._parked.add(fd)
        self._selector.register(fd, selectors.EVENT_READ, None)

    def _client_speaks(self, fd):
        if fd not in self._parked:
            return
        with socket.socket(fileno=os.dup(fd)) as sock:
            try:
                spoke = sock.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT)
            except ConnectionResetError:
                spoke = b""
        if spoke and not self.serving:
            return
        self._selector.unregister(fd)
        self._parked.discard(fd)
        if not spoke:
            os.close(fd)
            self.counts["closed_by_client"] += 1
            return
        self._last_id += 1
        worker = self.serving[self._last_id % len(self.serving)]
        self._passed[self._last_id] = (fd, worker)
        say(worker.channel, ("ADOPT", self._last_id), fds=[fd])
