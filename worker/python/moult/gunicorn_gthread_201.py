"""What gthread needs besides in gunicorn 20.1, and later ones that are built like it, so that connections can move.

Its pool threads do what later versions leave to the main thread: that is locked. And between two requests it may have
the rest of a body, or a pipelined request, in the connection's parser: that is read and answered first, as later
versions do.
"""
import contextlib
import os
import socket
import time
from typing import Any, Tuple

from .gunicorn_closing import is_in_a_body

_LEFT_BODY_SECONDS = 5.0  # in all, for a body that the app did not want, and
_LEFT_BODY_BYTES = 64 * 1024  # how much of it is read: both as later versions have it


class For201:
    """Laid over _Moving of gunicorn_gthread."""

    def accept(self, *arguments: Any) -> None:
        with self._lock:
            super().accept(*arguments)

    def murder_keepalived(self) -> None:
        with self._lock:
            super().murder_keepalived()

    def reuse_connection(self, conn: Any, client: Any) -> None:
        with self._lock:
            if self.moult_worker.is_retiring and conn not in self._keep:
                return  # a pool thread took it from the poller meanwhile
            super().reuse_connection(conn, client)

    def finish_request(self, fs: Any) -> None:
        with self._lock:
            super().finish_request(fs)
            if self.moult_worker.is_retiring:
                self.moult_take_idle()
                with contextlib.suppress(BlockingIOError):
                    os.write(self.PIPE[1], b".")  # the main thread may wait at the poller

    def handle(self, conn: Any) -> Tuple[bool, Any]:
        """What was pipelined is answered, and a body that the app left is read: as later versions do."""
        kept, _ = super().handle(conn)
        while kept and not self.moult_is_over and _read_to_the_end(conn):
            if not conn.parser.unreader.buf.getbuffer().nbytes:
                return True, conn
            kept, _ = super().handle(conn)
        if conn.parser and is_in_a_body(conn.parser.mesg):
            self.moult_worker.closings.will_have_more(conn.sock)
        return False, conn


def _read_to_the_end(conn: Any) -> bool:
    body = conn.parser.mesg.body
    if getattr(body.reader, "length", None) == 0:
        return True
    unreader = conn.parser.unreader
    unreader.sock = _Bounded(conn.sock)
    try:
        while body.read(8192):
            pass
        conn.sock.settimeout(None)
        return True
    except Exception:  # whatever is wrong with it: where the next request begins is unknown
        return False
    finally:
        unreader.sock = conn.sock


class _Bounded:
    """A socket as gunicorn reads from it, for so long and so much: one read of a body is many of these."""

    def __init__(self, sock: socket.socket) -> None:
        self._sock = sock
        self._read_by = time.monotonic() + _LEFT_BODY_SECONDS
        self._bytes_left = _LEFT_BODY_BYTES

    def recv(self, size: int) -> bytes:
        seconds = self._read_by - time.monotonic()
        if seconds <= 0 or self._bytes_left <= 0:
            raise TimeoutError
        self._sock.settimeout(seconds)
        received = self._sock.recv(size)
        self._bytes_left -= len(received)
        return received
