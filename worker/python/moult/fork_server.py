"""Loads the app once, then forks a worker for each request of the master's (worker/fork_protocol.h).

One thread, one blocking read. Everything that workers share is imported and built before LOADED.
"""
import argparse
import gc
import os
import sys
from typing import Any, Callable, List, NoReturn, Optional, Tuple

from . import app_loader, inheritance, options, process, settings, stack_dump
from .channel import Channel, Received, close_all
from .contract import ContractError, escape, one_line
from .descendants import Descendants
from .failure import Refused, text_of
from .worker_process import Worker, become_worker

_LOAD_FAILED = 4  # moult's and gunicorn's exit code for an app that does not load
_EMFILE = 24


def main(arguments: List[str]) -> NoReturn:
    parser = argparse.ArgumentParser(prog="moult fork server")
    parser.add_argument("--channel-fd", type=int, required=True)
    parser.add_argument("--settings-fd", type=int, required=True)
    given = parser.parse_args(arguments)
    channel = Channel(given.channel_fd)
    stack_dump.arm()
    try:
        told = settings.read(given.settings_fd)
        for fd in told.fds():
            os.set_inheritable(fd, False)  # a program that the app starts must not keep our ports open
        server = ForkServer(told, channel)
        server.load()
    except BaseException as error:
        text = text_of(error)
        print(text, file=sys.stderr, flush=True)
        _say(channel, ("LOAD_FAILED", 1), ("ERROR", escape(text)))
        os._exit(_LOAD_FAILED)
    server.serve()


class ForkServer:
    def __init__(self, told: settings.Settings, channel: Channel) -> None:
        self._settings = told
        self._channel = channel
        self._adapter: Any = None  # None: --no-preload and nobody knows yet what the app speaks
        self._post_fork: Optional[Callable[..., Any]] = None
        self._workers = Descendants()

    def load(self) -> None:
        """Raises what keeps the app from loading; else LOADED has been said."""
        kind = self._settings.worker_class
        if kind != "auto":
            self._adapter = make_adapter(kind, self._settings)  # before the app: gevent's class patches modules
        if self._settings.preload != "off":
            self._load_app()
        if self._adapter:
            self._adapter.loaded()
        warnings = inheritance.what_forks_would_share([self._channel.fileno()] + self._settings.fds())
        if warnings and self._settings.preload == "strict":
            raise Refused("--preload strict: the app, once loaded, has %s" % "; ".join(warnings))
        # Garbage would be copied into every child by its first collection; and with the rest out of the collector's
        # sight, a full collection in a child writes to nothing that is shared.
        gc.collect()
        gc.freeze()
        lines: List[Tuple[str, object]] = [("LOADED", 1)]
        if self._adapter:
            lines.append(("SERVER", one_line(self._adapter.name)))
        if warnings:
            lines.append(("WARNING", escape("the app, once loaded, has %s; forks do not get these" %
                                            "; ".join(warnings))))
        if not _say(self._channel, *lines):
            os._exit(0)

    def serve(self) -> NoReturn:
        while True:
            # Who waits here notices the master's death, and has something left to do then. Elsewhere (the app's hooks
            # may take their time) the kernel sees to our end.
            process.outlive_parent()
            try:
                received = self._channel.hear()
            except ContractError as error:
                print("moult fork server: %s" % error, file=sys.stderr, flush=True)
                continue
            except OSError:
                received = None
            if received is None:
                self._workers.end_if_orphaned(self._settings.master_pid)
                os._exit(0)  # at once: an app's atexit functions may hang, and these are for workers
            process.die_with_parent()
            if "FORK" in received.message:
                self._fork(received)
            else:
                close_all(received.fds)
                if "EXITED" in received.message:
                    self._worker_exited(int(received.message["EXITED"]), int(received.message.get("SLOT", 0)))

    def _worker_exited(self, pid: int, slot: int) -> None:
        self._workers.forget(pid)
        try:
            if self._adapter:
                self._adapter.child_exit(pid, slot)
        except Exception as error:
            print(text_of(error), file=sys.stderr, flush=True)

    def _fork(self, received: Received) -> None:
        """Forks twice: the worker's parent ends at once, and the worker falls to the master, which is a subreaper."""
        worker_id, fds = received.message["FORK"], received.fds
        if received.fds_lost or len(fds) not in (2, 4):
            close_all(fds)
            _say(self._channel, ("FORK_FAILED", worker_id), ("STAGE", "recvmsg"), ("ERRNO", _EMFILE))
            return
        slot = int(received.message.get("SLOT", 0))
        if self._adapter and not self._before_fork(slot):
            close_all(fds)
            self._fork_failed(worker_id, "the hook pre_fork", 0)
            return
        for stream in (sys.stdout, sys.stderr):
            stream.flush()  # what is buffered would be written by every child as well
        between = process.bare_fork()
        if between == 0:
            self._fork_again(worker_id, slot, fds)
        close_all(fds)
        if between < 0:
            self._fork_failed(worker_id, "fork", process.last_errno())
            return
        try:
            os.waitpid(between, 0)
        except ChildProcessError:
            pass  # a SIGCHLD handler of the app's was faster
        self._workers.take()

    def _before_fork(self, slot: int) -> bool:
        try:
            self._adapter.before_fork(slot)
            return True
        except Exception as error:
            print(text_of(error), file=sys.stderr, flush=True)
            return False

    def _fork_again(self, worker_id: str, slot: int, fds: List[int]) -> NoReturn:
        between = os.getpid()
        try:
            worker_pid = os.fork()
            if worker_pid > 0:
                self._workers.tell(worker_pid)
                os._exit(0)
        except OSError as error:
            self._fork_failed(worker_id, "fork", error.errno)
            os._exit(1)
        try:
            worker = become_worker(slot, self._settings, between, self._channel, fds[0], fds[1], fds[2:])
        except OSError as error:
            self._fork_failed(worker_id, "start of the worker", error.errno)
            os._exit(1)
        worker.run(self._serve_in_worker)

    def _fork_failed(self, worker_id: str, stage: str, number: Optional[int]) -> None:
        _say(self._channel, ("FORK_FAILED", worker_id), ("STAGE", stage), ("ERRNO", number or 0))

    def _serve_in_worker(self, worker: Worker) -> None:
        """In the worker: loads what is not loaded yet, then serves until it is told to go."""
        if self._settings.preload == "off":
            self._load_app()
        if self._post_fork:
            self._post_fork()
        self._adapter.serve(worker)

    def _load_app(self) -> None:
        app = app_loader.load(self._settings.app)
        if self._settings.post_fork:
            self._post_fork = app_loader.load_function(self._settings.post_fork, "--post-fork")
        if self._adapter is None:
            self._adapter = make_adapter("uvicorn" if app_loader.speaks_asgi(app) else "gthread", self._settings)
        self._adapter.take_app(app)


def make_adapter(kind: str, told: settings.Settings) -> Any:
    """Imports the server alone that is needed: each is memory in every worker."""
    if kind == "uvicorn":
        options.import_server("uvicorn", "uvicorn", "an ASGI app")
        from .uvicorn_adapter import UvicornAdapter
        return UvicornAdapter(told)
    options.import_server("gunicorn", "gunicorn", "the worker class %s" % kind)
    from .gunicorn_adapter import GunicornAdapter
    return GunicornAdapter(told, kind)


def _say(channel: Channel, *lines: Tuple[str, object]) -> bool:
    try:
        channel.say(*lines)
        return True
    except OSError:
        return False
