"""Hosts gunicorn's own worker classes without its arbiter: sync, gthread, UvicornWorker, asgi, or a dotted class.

Does what the arbiter does around a worker, in its order: environment, logger, hooks. See gunicorn_worker for what
happens inside one.
"""
import difflib
import os
import sys
import types
from typing import Any, List, Optional

from gunicorn import SERVER_SOFTWARE, __version__, sock
from gunicorn.workers import SUPPORTED_WORKERS, base

from . import options
from .failure import Refused
from .gunicorn_config import HostedApplication
from .gunicorn_worker import age, class_kind, has_threads, hosted_class, prepare
from .settings import Settings
from .worker_process import Worker


class GunicornAdapter:
    """Made in the fork server; serve() runs in the worker."""

    def __init__(self, told: Settings, worker_class: str) -> None:
        self._settings = told
        self._application = HostedApplication(told, known_class(worker_class))
        self._cfg = self._application.cfg
        self._worker_class = load_class(self._cfg, worker_class)
        self.name = "gunicorn %s (%s)" % (__version__, self._worker_class.__name__)
        self.warnings: List[str] = []  # what was said and has no effect
        if (told.threads or 1) > 1 and not has_threads(self._worker_class):
            self.warnings.append(options.threads_ignored(
                "gunicorn's %s has none" % self._worker_class.__name__, "a WSGI app has them under -k gthread"))
        os.environ["SERVER_SOFTWARE"] = SERVER_SOFTWARE
        for name, value in (self._cfg.env or {}).items():
            os.environ[name] = value
        for path in filter(None, (self._cfg.pythonpath or "").split(",")):
            sys.path.insert(0, os.path.abspath(path))
        self._log = self._cfg.logger_class(self._cfg)
        self._arbiter = types.SimpleNamespace(  # what hooks are given as "server"
            cfg=self._cfg, log=self._log, pid=os.getpid(), app=self._application, address=[], LISTENERS=[],
            WORKERS={}, num_workers=self._cfg.workers, timeout=self._cfg.timeout, proc_name=self._cfg.proc_name)
        if hasattr(self._worker_class, "check_config"):
            self._worker_class.check_config(self._cfg, self._log)
        self._listeners = self._open_listeners()
        others = self._listeners[len(told.listeners):]  # in the order of Settings.fds()
        self._internal = others.pop(0) if told.internal_fd is not None else None
        self._sidecar = others.pop(0) if told.sidecar_fd is not None else None
        self._arbiter.LISTENERS = self._listeners

    def take_app(self, app: Any) -> None:
        self._application.app = prepare(self._worker_class, self._cfg, app, self._settings)
        self._application.wsgi()

    def loaded(self) -> None:
        self._cfg.on_starting(self._arbiter)
        self._cfg.when_ready(self._arbiter)

    def before_fork(self, slot: Optional[int]) -> None:
        self._cfg.pre_fork(self._arbiter, self._stand_in(slot, "[booting]"))

    def child_exit(self, pid: int, slot: Optional[int]) -> None:
        self._cfg.child_exit(self._arbiter, self._stand_in(slot, pid))

    def serve(self, worker: Worker) -> None:
        hosted = hosted_class(self._worker_class, self._cfg, worker, self._internal, self._sidecar)(
            age(worker.slot), os.getppid(), self._listeners, self._application, worker.beat_seconds(), self._cfg,
            self._log)
        hosted.pid = os.getpid()
        if class_kind(self._worker_class) != "uvicorn":  # whose listeners are those that we were told
            for fd in self._settings.fds():
                os.close(fd)  # a door is shut when its last copy is, and gunicorn closes its own only
        try:
            self._cfg.post_fork(self._arbiter, hosted)
            hosted.init_process()
        finally:
            try:
                self._cfg.worker_exit(self._arbiter, hosted)
            except Exception:
                self._log.exception("the hook worker_exit failed")

    def _stand_in(self, slot: Optional[int], pid: Any) -> Any:
        """For hooks that run where no worker object is."""
        return types.SimpleNamespace(pid=pid, age=age(slot), ppid=os.getppid(), cfg=self._cfg, log=self._log,
                                     app=self._application, booted=False, aborted=False, alive=True)

    def _open_listeners(self) -> List[Any]:
        """gunicorn's own socket objects, around copies: it closes the numbers that it is given."""
        fds = [os.dup(fd) for fd in self._settings.fds()]
        try:
            listeners = sock.create_sockets(self._cfg, self._log, fds=fds)
        except (ValueError, OSError) as error:  # a certificate that is not there
            raise Refused("gunicorn cannot use the listeners: %s" % error) from None
        for listener in listeners:
            listener.sock.set_inheritable(False)  # a program that the app starts must not keep our ports open
        return listeners


def known_class(worker_class: str) -> str:
    if "." not in worker_class and not worker_class.startswith("egg:") and worker_class not in SUPPORTED_WORKERS:
        near = difflib.get_close_matches(worker_class, ["uvicorn"] + list(SUPPORTED_WORKERS), 1)
        raise Refused("-k %s: gunicorn %s has no such worker class%s"
                      % (worker_class, __version__, ": did you mean '%s'?" % near[0] if near else ""))
    return worker_class


def load_class(cfg: Any, worker_class: str) -> Any:
    try:
        found = cfg.worker_class
    except (Exception, SystemExit) as error:
        raise Refused("-k %s: this worker class cannot be imported: %s" % (worker_class, error)) from error
    if isinstance(found, type) and issubclass(found, base.Worker):
        return found
    what = "the class" if isinstance(found, type) else "a %s" % type(found).__name__
    if isinstance(found, type):
        what += " %s.%s" % (found.__module__, found.__qualname__)
    raise Refused("-k %s: this is %s, no worker class of gunicorn (derived from gunicorn.workers.base.Worker): "
                  "say auto, sync, gthread, or package.module.Class of one" % (worker_class, what))
