"""Client connections between this worker and the master: it gives the idle ones away when it retires, and adopts, while
it serves, those on which a client speaks again (docs/worker-contract.md, DESIGN §7).

What is the same for every server. What each server does itself is its `Connections`: see there.
"""
import socket
import sys
from collections import deque
from typing import Any, Callable, Deque, Dict, List, Optional

from .channel import Received, close_all

# Given and not yet answered. More wait here, where they cost nothing: what is under way fills the channel, and counts
# towards the descriptors that the system lets a user have in flight (as many as RLIMIT_NOFILE).
MAX_UNANSWERED = 64


class Connections:
    """The client connections of one server. A connection is whatever the server knows it by."""

    def descriptor(self, connection: Any) -> Optional[int]:
        """Of one that waited to be given, as it is passed. None: it was closed meanwhile, and is forgotten."""
        raise NotImplementedError

    def leave(self, connection: Any) -> None:
        """The master has it: forget it and close our descriptor, without a shutdown."""
        raise NotImplementedError

    def stay(self, connection: Any) -> None:
        """The master has no room, or it cannot be passed: serve on; the next response says `Connection: close`."""
        raise NotImplementedError

    def adopt(self, sock: socket.socket, answer: Callable[[bool], None]) -> None:
        """Serve this one, non-blocking and the callee's from now on, as if it had just been accepted.

        answer(True) must be called before the first byte is read: until then the master may give it to another worker.
        answer(False): it cannot be served here; it is closed, and lives on with the master.
        """
        raise NotImplementedError


class Handover:
    def __init__(self, worker: Any, connections: Connections) -> None:
        self._worker = worker
        self._connections = connections
        self._waiting: Deque[Any] = deque()  # connections, not descriptors: a number may soon be another's
        self._unanswered: Dict[int, Any] = {}

    def give(self, connection: Any) -> None:
        """One between two requests, which is not read from until leave() or stay() is called with it."""
        self._waiting.append(connection)
        self.give_on()

    def give_on(self) -> None:
        """Gives what waits, as far as it goes. To be called now and then while a worker retires."""
        while self._waiting and len(self._unanswered) < MAX_UNANSWERED and self._worker.hands_over:
            fd, number = self._connections.descriptor(self._waiting[0]), self._worker.next_number()
            try:
                if fd is not None and not self._worker.pass_on(fd, ("FDSTORE", number)):
                    return
            except OSError as error:
                print("moult worker: a connection cannot be passed to the master: %s" % error, file=sys.stderr)
                self._connections.stay(self._waiting.popleft())
                continue
            connection = self._waiting.popleft()
            if fd is not None:
                self._unanswered[number] = connection

    def take_back(self) -> List[Any]:
        """The connections that wait, which will not be given any more: they are the caller's again."""
        waiting, self._waiting = list(self._waiting), deque()
        return waiting

    def end(self) -> int:
        """At the end of the drain: nothing is given any more. How many still waited, and are closed with the worker."""
        return sum(1 for connection in self.take_back() if self._connections.descriptor(connection) is not None)

    def hear(self, received: Received) -> None:
        """A message of the master's. Its descriptors are ours to close."""
        message = received.message
        if "ADOPT" in message:
            self._adopt(received)
            return
        close_all(received.fds)
        for key, settle in (("HELD", self._connections.leave), ("DECLINED", self._connections.stay)):
            number = number_in(message.get(key))
            if number in self._unanswered:
                settle(self._unanswered.pop(number))  # type: ignore[arg-type]
                self.give_on()

    def _adopt(self, received: Received) -> None:
        number = number_in(received.message["ADOPT"])
        if number is None:
            print("moult worker: bad message: ADOPT has no number", file=sys.stderr)
            close_all(received.fds)
            return

        def answer(adopted: bool) -> None:
            self._worker.tell(("ADOPTED" if adopted else "DECLINED", number))

        if self._worker.is_retiring or received.fds_lost or len(received.fds) != 1:
            close_all(received.fds)
            answer(False)
            return
        try:
            sock = socket.socket(fileno=received.fds[0])
        except OSError:
            close_all(received.fds)
            answer(False)
            return
        sock.setblocking(False)
        self._connections.adopt(sock, answer)


def decline(worker: Any, received: Received) -> None:
    """For a worker without hand-over, which the master does not ask to adopt."""
    close_all(received.fds)
    number = number_in(received.message.get("ADOPT"))
    if number is not None:
        worker.tell(("DECLINED", number))


def number_in(text: Optional[str]) -> Optional[int]:
    return int(text) if text is not None and text.isascii() and text.isdigit() else None
