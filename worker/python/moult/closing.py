"""Connections that this worker cannot close without cutting their answers off: the master closes them (FDCLOSE).

With input unread, or input that comes later, the kernel makes a reset of a close, which takes what the client has not
acknowledged with it. The master sends FIN, passes over what still comes, and closes when all has arrived.
"""
import array
import fcntl
import socket
import termios
import threading
import weakref
from typing import Any, Callable, Dict

from .handover import number_in

# What Linux sends of an answer before it waits for the client: ten segments. A reset that is an answer to something the
# client says later comes behind them.
FIRST_FLIGHT_BYTES = 10 * 1460
# Given and not yet answered; who closes meanwhile closes as if there were no master.
MAX_UNANSWERED = 64


class Closings:
    """Of one worker. Its calls may come from any thread; `answered` comes where the master is heard."""

    def __init__(self, worker: Any) -> None:
        self._worker = worker
        self._lock = threading.Lock()
        self._unanswered: Dict[int, Callable[[bool], None]] = {}
        self._talking: "weakref.WeakSet[socket.socket]" = weakref.WeakSet()

    def will_have_more(self, sock: socket.socket) -> None:
        """Its client is in the middle of something that nobody will read: a close would cut it, whenever that comes."""
        self._talking.add(sock)

    def has_more_to_come(self, sock: socket.socket) -> bool:
        return sock in self._talking

    def give(self, fd: int, answered: Callable[[bool], None]) -> bool:
        """Passes a connection to which nothing more is written. It stays the caller's, unread, until `answered` is
        called: with True the master has it, and ours is to be closed without a shutdown. False: not possible now, or
        it is the sidecar's, whom nobody waits for."""
        if self._worker.sidecar_door.let_in_fd(fd):
            return False
        with self._lock:
            if not self._worker.is_ready or len(self._unanswered) >= MAX_UNANSWERED:
                return False
            number = self._worker.next_number()
            self._unanswered[number] = answered
        try:
            passed: bool = self._worker.pass_on(fd, ("FDCLOSE", number))
        except OSError:
            passed = False
        if not passed:
            with self._lock:
                self._unanswered.pop(number, None)
        return passed

    def give_socket(self, sock: socket.socket, close: Callable[[], Any]) -> bool:
        """The same for a plain socket: it is closed, or, if the master does not take it, `close` is called."""
        return self.give(sock.fileno(), lambda taken: sock.close() if taken else close())

    def hear(self, message: Dict[str, str]) -> None:
        for key in ("HELD", "DECLINED"):
            number = number_in(message.get(key))
            with self._lock:
                answered = self._unanswered.pop(number, None) if number is not None else None
            if answered is not None:
                answered(key == "HELD")


def unread_bytes(fd: int) -> int:
    """What has come and was not read. Raises OSError: it is no socket any more."""
    return _asked(fd, termios.FIONREAD)


def undelivered_bytes(fd: int) -> int:
    """What was sent and is not acknowledged; of a unix socket, what the client has not read: never lost."""
    return _asked(fd, termios.TIOCOUTQ)


def would_cut(fd: int) -> bool:
    """Whether a close now would be a reset. What comes later makes one too, see is_on_its_way()."""
    try:
        return unread_bytes(fd) > 0
    except (OSError, ValueError):
        return False


def is_on_its_way(sock: Any, beyond_bytes: int = 0) -> bool:
    """Some of what was sent, and what the client says after a close would cut it off. Nearly always so at once after an
    answer: not to be asked for a client that has asked for the end, who has mostly said all."""
    try:
        return sock.family != socket.AF_UNIX and undelivered_bytes(sock.fileno()) > beyond_bytes
    except (OSError, ValueError):
        return False


def _asked(fd: int, what: int) -> int:
    count = array.array("i", [0])
    fcntl.ioctl(fd, what, count)
    return count[0]
