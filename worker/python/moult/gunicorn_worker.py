"""What is laid over one of gunicorn's worker classes, in the worker: READY, heartbeat, signals and the way out.

READY is the first notify(): in every class that is when its listeners are in its loop.
"""
import os
import signal
import sys
import threading
import time
from typing import Any, Optional, Set

from gunicorn import util
from gunicorn.workers import base

from . import gunicorn_closing, process, stack_dump
from .settings import Settings
from .sidecar import GRACE_SECONDS
from .worker_process import Worker

DEADLINE_MARGIN_SECONDS = 0.5  # what a worker needs from the end of its drain to its exit
_KINDS = {"UvicornWorker": "uvicorn", "ASGIWorker": "asgi", "ThreadWorker": "gthread"}
_RETIRING_BEAT_SECONDS = 0.05
_BOOT_SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGQUIT)


def age(slot: Optional[int]) -> int:
    """As hooks see a worker; 0: a spare."""
    return 0 if slot is None else slot + 1


def class_kind(worker_class: Any) -> str:
    """uvicorn, asgi, gthread or wsgi: how its requests are counted and drained."""
    names = [one.__name__ for one in worker_class.__mro__]
    return next((kind for name, kind in _KINDS.items() if name in names), "wsgi")


def has_threads(worker_class: Any) -> bool:
    """Whether --threads means something to it; to a class that is not gunicorn's own it may."""
    names = [one.__name__ for one in worker_class.__mro__]
    is_foreign = class_kind(worker_class) == "wsgi" and not worker_class.__module__.startswith("gunicorn.")
    return "ThreadWorker" in names or is_foreign


def prepare(worker_class: Any, cfg: Any, app: Any, told: Settings) -> Any:
    """In the fork server: imports what the class needs, and gives back the app as the class is to have it."""
    kind = class_kind(worker_class)
    if kind in ("wsgi", "gthread"):
        from .wsgi_counting import WatchedApp
        return WatchedApp(app, told.root_path or "")
    if kind == "uvicorn":
        from .gunicorn_uvicorn import import_all as import_uvicorn
        import_uvicorn(worker_class, app)
    else:
        from .gunicorn_asgi import import_all as import_asgi
        import_asgi(cfg)
    return app


def hosted_class(worker_class: Any, cfg: Any, worker: Worker, internal: Optional[Any], sidecar: Optional[Any]) -> Any:
    """The class to construct in the worker."""
    kind = class_kind(worker_class)
    base.WorkerTmp = lambda cfg: _Heartbeat(worker)  # else a temporary file for each worker
    if kind == "uvicorn":
        from .gunicorn_uvicorn import hosting
        return hosting(worker_class, worker)
    if kind == "asgi":
        from .gunicorn_asgi import counting
        return _hosting(counting(worker_class, worker, internal, sidecar), worker, kind)
    gunicorn_closing.take_over(util, worker)
    from .wsgi_counting import counting as counting_wsgi
    counted = counting_wsgi(worker_class, worker, internal, sidecar)
    if kind == "gthread":
        from . import gunicorn_gthread
        counted = gunicorn_gthread.ending(counted, worker)
        if gunicorn_gthread.can_move(worker_class, cfg):
            return _hosting(gunicorn_gthread.moving(counted, internal, sidecar), worker, kind, moves=True)
    return _hosting(counted, worker, kind)


class _Heartbeat:
    """Where gunicorn's workers say that they live; in the arbiter's place a file's time."""

    def __init__(self, worker: Worker) -> None:
        self._worker = worker
        self.first_beat: Any = None  # called at the first beat

    def notify(self) -> None:
        if self.first_beat is not None:
            first_beat, self.first_beat = self.first_beat, None
            first_beat()
        self._worker.beat()

    def last_update(self) -> float:
        return time.monotonic()

    def fileno(self) -> int:
        return self._worker.channel.fileno()  # gunicorn makes it close-on-exec, which it is

    def close(self) -> None:
        pass


def _hosting(counting_class: Any, worker: Worker, kind: str, moves: bool = False) -> Any:
    """`moves`: a class whose connections can move hears the master in its own loop, and drains by itself."""
    class Hosted(_parking(counting_class, worker)):  # type: ignore[misc]
        def __init__(self, *arguments: Any) -> None:
            super().__init__(*arguments)
            self.tmp.first_beat = self.moult_ready

        def init_signals(self) -> None:
            """Called by init_process(), and once more at READY: a boot is ended by a signal at once."""
            super().init_signals()
            process.die_with_parent()  # `user` in a configuration file clears it
            stack_dump.arm()  # the class has taken SIGABRT
            if not worker.is_ready:
                for number in _BOOT_SIGNALS:
                    signal.signal(number, worker.leave_boot)

        def run(self) -> None:
            poller = getattr(self, "poller", None)
            if poller is not None:
                # gthread 20.1 polls for a second and does not notice that a signal came.
                poller.register(self.PIPE[0], 1, lambda pipe: os.read(pipe, 64))
                _poll_briefly(poller, worker)
            super().run()

        def moult_ready(self) -> None:
            worker.say_ready()
            self.moult_started()
            self.init_signals()
            if not moves:
                requests = self.moult_requests if kind == "wsgi" else None
                threading.Thread(target=_hear_master, name="moult channel", daemon=True,
                                 args=(worker, requests)).start()

        def moult_retire(self) -> None:
            """On SIGTERM, which RETIRE becomes: before the class stops accepting."""
            left = worker.retire_deadline() - time.monotonic() - DEADLINE_MARGIN_SECONDS
            self.cfg.set("graceful_timeout", max(1, int(left)))
            worker.say_stopping()
            self.moult_announce_close()

        def handle_exit(self, sig: int, frame: Any) -> None:
            self.moult_retire()
            if not moves:
                super().handle_exit(sig, frame)

        def handle_exit_signal(self) -> None:  # the asgi class's
            self.moult_retire()
            super().handle_exit_signal()

        def handle_quit(self, sig: int, frame: Any) -> None:
            # Not the class's own: gthread's takes a lock that the interrupted thread may hold.
            worker.leaves_quickly = True
            self.alive = False
            self.cfg.worker_int(self)
            sys.exit(0)

    return Hosted


def _wait_for_no_sidecar(worker: Worker, requests: "Set[Any]") -> None:
    """A class without threads cannot leave a request that it is in. The sidecar's has its second."""
    from .wsgi_counting import Door
    time.sleep(GRACE_SECONDS)
    while True:
        left = list(requests)
        if left and all(one.door is Door.SIDECAR for one in left):
            worker.end_around_threads()
        time.sleep(_RETIRING_BEAT_SECONDS)


def _parking(counting_class: Any, worker: Worker) -> Any:
    """A spare waits when its start-up is done and no listener is in its loop."""
    class Parking(counting_class):  # type: ignore[misc]
        def moult_park(self) -> None:
            worker.park()
            self.age = age(worker.slot)

        def run(self) -> None:
            if not hasattr(counting_class, "_get_ssl_context"):
                self.moult_park()
            super().run()

        def _get_ssl_context(self) -> Any:
            """The asgi class's, after the app's start-up, which is in run(). Its loop stands still meanwhile."""
            self.moult_park()
            return super()._get_ssl_context()

    return Parking


def _poll_briefly(poller: Any, worker: Worker) -> None:
    """gthread beats after each poll, and polls for a second or longer: too seldom for a short --timeout, or when
    connections are to be given away."""
    select, serving_beat = poller.select, worker.beat_seconds()

    def select_briefly(timeout: Optional[float] = None) -> Any:
        beat = _RETIRING_BEAT_SECONDS if worker.is_retiring else serving_beat
        return select(beat if timeout is None else min(timeout, beat))

    poller.select = select_briefly


def _hear_master(worker: Worker, requests: "Optional[Set[Any]]") -> None:
    """`requests`: of a class without threads, in flight."""
    while True:
        if worker.hear_master(wait=True):
            os.kill(os.getpid(), signal.SIGTERM)
            if requests is not None and worker.sidecar_door.name is not None and not worker.announces_close:
                threading.Thread(target=_wait_for_no_sidecar, args=(worker, requests), daemon=True).start()
