"""Loads the app once, then forks a worker for each request of the master's (worker/fork_protocol.h).

One thread, one blocking read. Everything that workers share is imported and built before LOADED.
"""
import argparse
import contextlib
import errno
import gc
import os
import socket
import sys
from typing import Any, Callable, List, NoReturn, Optional, Tuple

from . import access_log, app_loader, inheritance, options, process, public_module, settings, stack_dump
from .channel import Channel, Received, close_all
from .contract import CONTRACT_VERSION, ContractError, build, escape, one_line
from .descendants import Descendants
from .failure import Refused, text_of
from .warm_pages import WarmPages
from .worker_process import Worker, become_worker, flush_output

_LOAD_FAILED = 4  # moult's and gunicorn's exit code for an app that does not load


def main(arguments: List[str]) -> NoReturn:
    parser = argparse.ArgumentParser(prog="moult fork server")
    parser.add_argument("--channel-fd", type=int, required=True)
    parser.add_argument("--settings-fd", type=int, required=True)
    given = parser.parse_args(arguments)
    channel = Channel(given.channel_fd)
    _say(channel, ("HELLO", CONTRACT_VERSION))
    stack_dump.arm()
    public_module.offer()
    try:
        told = settings.read(given.settings_fd)
        for fd in told.fds():
            os.set_inheritable(fd, False)  # a program that the app starts must not keep our ports open
        server = ForkServer(told, channel)
        server.load()
    except BaseException as error:
        flush_output()  # what the app printed before it failed: at our word the master ends us
        text = text_of(error)
        if not _say(channel, ("LOAD_FAILED", 1), ("ERROR", escape(text))):
            print(text, file=sys.stderr, flush=True)  # else the master shows it
        os._exit(_LOAD_FAILED)
    server.serve()


class ForkServer:
    def __init__(self, told: settings.Settings, channel: Channel) -> None:
        self._settings = told
        self._channel = channel
        self._adapter: Any = None  # None: --no-preload and nobody knows yet what the app speaks
        self._post_fork: Optional[Callable[..., Any]] = None
        self._workers = Descendants()
        self._warm_pages: Optional[WarmPages] = None

    def load(self) -> None:
        """Raises what keeps the app from loading; else LOADED has been said."""
        kind = self._settings.worker_class
        if kind != "auto":
            self._adapter = make_adapter(kind, self._settings)  # before the app: gevent's class patches modules
        if self._settings.preload != "off":
            self._load_app()
        if self._adapter:
            self._adapter.loaded()
        shared = inheritance.what_forks_would_share([self._channel.fileno()] + self._settings.fds())
        if shared and self._settings.preload == "strict":
            raise Refused("--preload strict: the app, once loaded, has %s" % "; ".join(shared))
        # Garbage would be copied into every child by its first collection; and with the rest out of the collector's
        # sight, a full collection in a child writes to nothing that is shared.
        gc.collect()
        gc.freeze()
        self._warm_pages = WarmPages(wanted=self._settings.spares)
        lines: List[Tuple[str, object]] = [("LOADED", 1)]
        warnings: List[str] = []
        if self._adapter:
            lines.append(("SERVER", one_line(self._adapter.name)))
            warnings += self._adapter.warnings
        if shared:
            warnings.append("the app, once loaded, has %s; forks do not get these" % "; ".join(shared))
        if warnings:
            lines.append(("WARNING", escape("\n".join(warnings))))
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
                    self._worker_exited(int(received.message["EXITED"]), _slot(received))

    def _worker_exited(self, pid: int, slot: Optional[int]) -> None:
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
            _say(self._channel, ("FORK_FAILED", worker_id), ("STAGE", "recvmsg"), ("ERRNO", errno.EMFILE))
            return
        slot = _slot(received)
        if self._adapter and not self._before_fork(slot):
            close_all(fds)
            self._fork_failed(worker_id, "the hook pre_fork", 0)
            return
        for stream in (sys.stdout, sys.stderr):
            stream.flush()  # what is buffered would be written by every child as well
        try:
            ours, theirs = socket.socketpair()
        except OSError as error:
            close_all(fds)
            self._fork_failed(worker_id, "socketpair", error.errno)
            return
        between = process.bare_fork()
        if between == 0:
            ours.close()
            self._fork_again(slot, fds, theirs)
        close_all(fds)
        theirs.close()
        with ours:
            if between < 0:
                self._fork_failed(worker_id, "fork", process.last_errno())
                return
            self._pass_on(worker_id, ours)
        try:
            os.waitpid(between, 0)
        except ChildProcessError:
            pass  # a SIGCHLD handler of the app's was faster

    def _pass_on(self, worker_id: str, between: socket.socket) -> None:
        """What the process between says: the worker's pid, or a negative errno. It exits when it is answered, so the
        master hears the pid before the worker can be its dead child."""
        try:
            word = int(between.recv(32) or 0)  # nothing: it was killed
        except OSError:
            word = 0
        if word > 0:
            self._workers.add(word)
            _say(self._channel, ("FORKED", worker_id), ("PID", word))
        else:
            self._fork_failed(worker_id, "fork", -word or errno.EINTR)
        with contextlib.suppress(OSError):
            between.send(b"1", socket.MSG_NOSIGNAL)

    def _before_fork(self, slot: Optional[int]) -> bool:
        try:
            access_log.reopen_moved()
            self._adapter.before_fork(slot)
            return True
        except Exception as error:
            print(text_of(error), file=sys.stderr, flush=True)
            return False

    def _fork_again(self, slot: Optional[int], fds: List[int], server: socket.socket) -> NoReturn:
        between = os.getpid()
        try:
            word = os.fork()
        except OSError as error:
            word = -(error.errno or errno.EAGAIN)
        if word != 0:
            with contextlib.suppress(OSError):
                server.send(b"%d" % word, socket.MSG_NOSIGNAL)
                server.recv(1)  # also comes back when the fork server is gone
            os._exit(0)
        server.close()
        try:
            worker = become_worker(slot, self._settings, between, self._channel, fds[0], fds[1], fds[2:],
                                   self._warm_pages)
        except OSError as error:
            with contextlib.suppress(OSError):  # with HELLO, so that the master learns whose words these are
                os.write(fds[0], build([("HELLO", CONTRACT_VERSION),
                                        ("ERROR", escape("the worker could not start: %s" % error))]))
            os._exit(1)
        worker.run(self._serve_in_worker)

    def _fork_failed(self, worker_id: str, stage: str, number: Optional[int]) -> None:
        _say(self._channel, ("FORK_FAILED", worker_id), ("STAGE", stage), ("ERRNO", number or 0))

    def _serve_in_worker(self, worker: Worker) -> None:
        """In the worker: loads what is not loaded yet, then serves until it is told to go."""
        if self._settings.preload == "off":
            is_first_to_know = self._adapter is None and worker.slot == 0
            self._load_app()
            if is_first_to_know:  # LOADED could not say it
                for warning in self._adapter.warnings:
                    print("moult: warning: %s" % warning, file=sys.stderr, flush=True)
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


def _slot(received: Received) -> Optional[int]:
    """None: a spare."""
    return int(received.message["SLOT"]) if "SLOT" in received.message else None


def _say(channel: Channel, *lines: Tuple[str, object]) -> bool:
    try:
        channel.say(*lines)
        return True
    except OSError:
        return False
