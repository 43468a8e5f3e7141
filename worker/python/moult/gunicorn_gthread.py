"""gunicorn's gthread (20.1 and later) with connections that can move when it retires: by itself it closes them.

They are given and adopted in the main thread, and given at the beginning of a turn of its loop: whatever the poller
told of before is dealt with by then. `alive` stays true until the last one is gone, for it is what makes the class
announce the close and do it. Not with TLS, which ends in the worker, nor where clients may speak HTTP/2, nor with the
PROXY protocol: the worker that adopts knows nothing of the line that a connection began with, and would believe the
client one of its own.
"""
import contextlib
import os
import selectors
import signal
import socket
import sys
import threading
import time
from collections import deque
from functools import partial
from typing import Any, Callable, Deque, Iterator, Optional, Tuple

from gunicorn.workers import gthread

from .grace import Grace
from .gunicorn_gthread_201 import For201
from .gunicorn_lingering import Lingers, lingers
from .gunicorn_pool import EndsPool
from .gunicorn_worker import DEADLINE_MARGIN_SECONDS
from .handover import Connections, Handover

_FIRST_REQUEST_SECONDS = 5.0  # at least: what later versions wait for it before they poll
_POLLED = ("_moult_silent", "_keep", "keepalived_conns", "pending_conns")  # deques: ours, of 20.1, of later versions


def can_move(worker_class: Any, cfg: Any) -> bool:
    return (issubclass(worker_class, gthread.ThreadWorker) and not cfg.is_ssl
            and getattr(cfg, "http2_cleartext", "off") == "off" and cfg.proxy_protocol in (False, "off"))


def ending(counting_class: Any, worker: Any) -> Any:
    """With what no connection, whether it moves or not, is to keep a worker from."""
    if not issubclass(counting_class, gthread.ThreadWorker):
        return counting_class
    mixins = (Lingers, EndsPool) if lingers() else (EndsPool,)
    return type("EndingWorker", (*mixins, counting_class), {"moult_worker": worker})


def moving(ending_class: Any, internal: Optional[Any], sidecar: Optional[Any]) -> Any:
    mixins = (For201, _Moving) if hasattr(ending_class, "reuse_connection") else (_Moving,)
    inside = [one.getsockname() for one in (internal, sidecar) if one is not None]
    return type("MovingWorker", (*mixins, ending_class), {"moult_inside": inside})


class _Moving:
    """Laid over the class. Its connections are gunicorn's TConn; `moult_stays` marks one that the master declined."""
    moult_worker: Any
    moult_lingering: Any = ()  # 20.1 has none
    moult_inside: Any  # the addresses of the internal door and the sidecar's
    moult_beside_in_threads: Any

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self._lock = threading.RLock()  # 20.1 makes its own
        self._moult_doors = [one.getsockname() for one in self.sockets]
        self._moult_silent: Deque[Any] = deque()  # polled, with nothing said yet; who came first is the first
        self._moult_idle: Deque[Any] = deque()  # no more polled, to be given
        self._moult_grace = Grace()  # for the next request on a connection that ends here; begins when it retires
        self._moult_in_grace = True
        self._moult_endless_until = float("inf")  # set when it retires
        self.moult_worker.handover = Handover(self.moult_worker, _GthreadConnections(self))

    def run(self) -> None:
        self.poller.register(self.moult_worker.channel.fileno(), selectors.EVENT_READ, lambda fd: self._moult_hear())
        super().run()

    def _moult_hear(self) -> None:
        announced = self.moult_worker.announces_close
        told_to_retire = self.moult_worker.hear_master()
        if self.moult_worker.announces_close and not announced:
            self.handle_request = self._moult_handle_request
        if told_to_retire:
            os.kill(os.getpid(), signal.SIGTERM)

    # --- serving

    def enqueue_req(self, conn: Any) -> None:
        """One on which nothing was said yet waits at the poller: from a thread it could not be given away."""
        if conn.parser is None:
            try:
                conn.sock.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT)
            except BlockingIOError:
                self.moult_poll(conn)
                return
            except OSError:
                pass  # the thread will meet it too
            conn.data_ready = True  # later versions would make a selector to see that
        super().enqueue_req(conn)

    def moult_poll(self, conn: Any) -> None:
        """As the class does with one that is kept alive. A silent one has more time than a short --keep-alive, and is
        polled apart, as the class wants its own in the order of their ends."""
        conn.sock.setblocking(False)
        if conn.parser is None:
            conn.timeout = time.monotonic() + max(self.cfg.keepalive, _FIRST_REQUEST_SECONDS)
            polled, readable = self._moult_silent, self._moult_speaks
        else:
            conn.set_timeout()
            polled, readable = ((self._keep, self.reuse_connection) if hasattr(self, "_keep")
                                else (self.keepalived_conns, self.on_client_socket_readable))
        with self._lock:
            polled.append(conn)
            self.poller.register(conn.sock, selectors.EVENT_READ, partial(readable, conn))

    def _moult_speaks(self, conn: Any, sock: socket.socket) -> None:
        with self._lock:
            if conn not in self._moult_silent:
                return  # taken from the poller in the same turn
            self._moult_silent.remove(conn)
            self.poller.unregister(sock)
        self.enqueue_req(conn)

    def murder_keepalived(self, *arguments: Any, **named: Any) -> None:
        with self._lock:
            while self._moult_silent and self._moult_silent[0].timeout < time.monotonic():
                conn = self._moult_silent.popleft()
                self.poller.unregister(conn.sock)
                self.moult_forget(conn)
        super().murder_keepalived(*arguments, **named)

    def moult_door(self, sock: socket.socket) -> Any:
        """The address of the listener that accepted it: its own, or else a wildcard's."""
        name = sock.getsockname()
        if name not in self._moult_doors and isinstance(name, tuple):
            for door in self._moult_doors:
                if isinstance(door, tuple) and len(door) == len(name) and door[1] == name[1]:
                    return door
        return name

    # --- retiring

    def moult_announce_close(self) -> None:
        now = time.monotonic()
        self._moult_grace.begin()
        self._moult_endless_until = (now + self.moult_worker.retire_deadline() - DEADLINE_MARGIN_SECONDS) / 2
        self.handle_request = self._moult_handle_request  # which costs nothing while the worker serves

    def _moult_handle_request(self, req: Any, conn: Any) -> Any:
        if self._moult_is_last(conn):
            req.force_close()
        return super().handle_request(req, conn)

    def _moult_is_last(self, conn: Any) -> bool:
        """Who sends a request before the one before is answered is never between two, and cannot move: told when half
        of the drain is over, he is not cut at the deadline."""
        worker = self.moult_worker
        return (worker.announces_close or not worker.hands_over or conn.server in self.moult_inside
                or hasattr(conn, "moult_stays") or time.monotonic() > self._moult_endless_until)

    def notify(self) -> None:
        super().notify()
        if self.nr_conns >= self.worker_connections:
            self._moult_hear()  # 20.1 does not poll then
        if self.moult_worker.is_retiring and self.alive:
            self._moult_drain()

    def _moult_drain(self) -> None:
        worker = self.moult_worker
        self._moult_stop_accepting()
        self._moult_in_grace = self._moult_grace.lasts()
        self.moult_take_idle()
        while self._moult_idle:
            worker.handover.give(self._moult_idle.popleft())
        worker.handover.give_on()
        if not worker.hands_over:
            for conn in worker.handover.take_back():
                self.moult_poll(conn)
        not_waited_for = self.moult_beside_in_threads() if not self._moult_in_grace else 0
        is_done = self.nr_conns <= not_waited_for and not self.moult_lingering
        if is_done or time.monotonic() > worker.retire_deadline() - DEADLINE_MARGIN_SECONDS:
            polled = sum(1 for _, conn in self._moult_polled() if conn.server not in self.moult_inside)
            worker.idle_closed = worker.handover.end() + polled
            self.cfg.set("graceful_timeout", 0)
            self.alive = False

    def _moult_stop_accepting(self) -> None:
        for listener in self.sockets:
            with contextlib.suppress(KeyError):  # it has as many connections as it may have
                self.poller.unregister(listener)
            listener.close()
        self.sockets = []
        self.worker_connections = sys.maxsize  # 20.1 polls below it only, and is to hear the master and its clients

    def moult_take_idle(self) -> None:
        """From the poller. What cannot move ends here."""
        hands_over = self.moult_worker.hands_over
        with self._lock:
            for polled, conn in list(self._moult_polled()):
                inside = conn.server in self.moult_inside
                moves = hands_over and not inside
                waits = self._moult_in_grace and (conn.parser is None or not inside)
                if hasattr(conn, "moult_stays") if moves else waits:
                    continue
                polled.remove(conn)
                self.poller.unregister(conn.sock)
                if moves:
                    self._moult_idle.append(conn)
                else:
                    self.moult_forget(conn)

    def _moult_polled(self) -> Iterator[Tuple[Any, Any]]:
        for polled in (getattr(self, name, ()) for name in _POLLED):
            for conn in polled:
                yield polled, conn

    def moult_forget(self, conn: Any) -> None:
        with self._lock:
            self.nr_conns -= 1
        conn.close()


class _GthreadConnections(Connections):
    def __init__(self, hosted: Any) -> None:
        self._hosted = hosted

    def descriptor(self, connection: Any) -> Optional[int]:
        fd: int = connection.sock.fileno()
        return fd if fd >= 0 else None

    def leave(self, connection: Any) -> None:
        with self._hosted._lock:
            self._hosted.nr_conns -= 1
        connection.sock.close()  # not as one that ends: what is unread is for the next worker

    def stay(self, connection: Any) -> None:
        connection.moult_stays = True
        self._hosted.moult_poll(connection)

    def adopt(self, sock: socket.socket, answer: Callable[[bool], None]) -> None:
        hosted = self._hosted
        if hosted.nr_conns >= hosted.worker_connections:
            sock.close()
            answer(False)
            return
        answer(True)
        try:
            client = sock.getpeername()
        except OSError:  # it was reset
            sock.close()
            return
        with hosted._lock:
            hosted.nr_conns += 1
        hosted.enqueue_req(gthread.TConn(hosted.cfg, sock, client, hosted.moult_door(sock)))
