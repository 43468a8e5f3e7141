"""Closes gthread's connections politely at its poller: FIN, then what comes is passed over until the client closes.

Later versions of the class do so in their main thread, one after the other, and wait up to two seconds for each client
that keeps its end open: nobody else is accepted, answered from the poller or given away meanwhile.
"""
import contextlib
import inspect
import selectors
import socket
import time
from typing import Any, Dict, Tuple

from gunicorn.workers import gthread

from .closing import Closings, undelivered_bytes
from .gunicorn_worker import DEADLINE_MARGIN_SECONDS

_LINGER_SECONDS = 2.0  # the class's own
_LINGER_BYTES = 64 * 1024  # likewise: how much is passed over
_MAX_LINGERING = 128  # beyond it who has lingered longest is closed: they take descriptors, and are in nobody's count
_LAST_TURN_SECONDS = 0.05


def lingers() -> bool:
    """Whether the class's own close can be graceful."""
    return "graceful" in inspect.signature(gthread.TConn.close).parameters


class Lingers:
    """Laid over the class, where lingers()."""
    moult_worker: Any

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.moult_lingering = Lingering(self.moult_worker.closings)

    def run(self) -> None:
        lingering = self.moult_lingering
        lingering.take_over(gthread.TConn)
        self.poller.register(lingering.fileno(), selectors.EVENT_READ, lambda fd: lingering.turn())
        super().run()
        until = self.moult_worker.retire_deadline() - DEADLINE_MARGIN_SECONDS
        while lingering and time.monotonic() < until:
            super().notify()
            lingering.turn(_LAST_TURN_SECONDS)
        lingering.end_all()

    def notify(self) -> None:
        super().notify()
        if self.moult_lingering:
            self.moult_lingering.turn()


class Lingering:
    """Used by the main thread alone. A selector of its own, for the class closes its poller at the end of run()."""

    def __init__(self, closings: Closings) -> None:
        self._closings = closings
        self._selector = selectors.DefaultSelector()
        self._left: Dict[socket.socket, Tuple[float, int]] = {}  # until when, how many bytes; in the order of the ends

    def __len__(self) -> int:
        return len(self._left)

    def fileno(self) -> int:
        """Readable when turn() has something to read."""
        return self._selector.fileno()  # type: ignore[attr-defined,no-any-return]  (of epoll)

    def take_over(self, connection_class: Any) -> None:
        close = connection_class.close

        def close_in_turns(connection: Any, graceful: bool = False) -> None:
            if graceful:
                self.close(connection.sock)
            else:
                close(connection)

        connection_class.close = close_in_turns

    def close(self, sock: socket.socket) -> None:
        try:
            sock.shutdown(socket.SHUT_WR)  # of a TLS socket too: what it receives from now on is not decrypted
            sock.setblocking(False)
            self._selector.register(sock, selectors.EVENT_READ)
        except (OSError, ValueError):  # it was reset, or is closed already
            with contextlib.suppress(OSError):
                sock.close()
            return
        self._left[sock] = time.monotonic() + _LINGER_SECONDS, _LINGER_BYTES
        if len(self._left) > _MAX_LINGERING:
            self._part(next(iter(self._left)))

    def turn(self, seconds: float = 0.0) -> None:
        """When it is readable, and in each turn of the loop. Waits at most for so long."""
        for key, _ in self._selector.select(seconds):
            self._read(key.fileobj)  # type: ignore[arg-type]
        while self._left:
            sock, (until, _) = next(iter(self._left.items()))
            if until > time.monotonic():
                return
            self._part(sock)

    def end_all(self) -> None:
        for sock in list(self._left):
            self._part(sock)

    def _read(self, sock: socket.socket) -> None:
        until, bytes_left = self._left[sock]
        try:
            received = len(sock.recv(bytes_left))
        except BlockingIOError:
            return
        except OSError:
            received = 0
        if 0 < received < bytes_left:
            self._left[sock] = until, bytes_left - received
        elif received:
            self._part(sock)
        else:
            self._end(sock)

    def _part(self, sock: socket.socket) -> None:
        """From a client that keeps its end open. What it has not received yet, a close might cut off: the master has
        more patience."""
        try:
            is_cut = type(sock) is socket.socket and undelivered_bytes(sock.fileno()) > 0
        except OSError:
            is_cut = False
        if is_cut and self._closings.give_socket(sock, sock.close):
            del self._left[sock]
            self._selector.unregister(sock)
        else:
            self._end(sock)

    def _end(self, sock: socket.socket) -> None:
        del self._left[sock]
        self._selector.unregister(sock)
        with contextlib.suppress(OSError):
            sock.close()
