"""One worker, from the fork to its exit: what both adapters share."""
import atexit
import os
import signal
import sys
import threading
import time
import traceback
from types import FrameType
from typing import Any, Callable, NoReturn, Optional

from . import forked_children, process, stack_dump
from .channel import Channel
from .contract import (CONTRACT_VERSION, HEARTBEAT_NS, REQUESTS_FINISHED, REQUESTS_STARTED, ContractError, escape,
                       open_scoreboard)
from .failure import LeaveBoot, text_of
from .settings import Settings

_REQUESTS_CUT = 75  # worker/fork_protocol.h: something was left unanswered at the deadline
_BOOT_FAILED = 3  # gunicorn's WORKER_BOOT_ERROR; the master takes any exit before READY for a failed boot
# What may arrive before the server has its own handlers. An app that installed handlers while it was imported in the
# fork server is relieved of them here.
_ENDS_BOOT = (signal.SIGTERM, signal.SIGINT, signal.SIGQUIT)
_WAITS_FOR_SERVER = (signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2, signal.SIGWINCH)


class Worker:
    """The worker's own view of itself; exists in the final child only."""

    def __init__(self, slot: int, channel: Channel, scoreboard_fd: int, settings: Settings) -> None:
        self.slot = slot
        self.settings = settings
        self.channel = channel
        self.words: Any = open_scoreboard(scoreboard_fd)
        self.is_ready = False
        self.is_leaving = False  # a signal ended the boot
        self.requests_cut = 0  # an adapter sets it, where the scoreboard does not tell
        self.leaves_quickly = False  # INT or QUIT: no waiting for threads at the exit
        self.retire_by: Optional[float] = None  # time.monotonic(); None: not told to retire

    def say_hello(self) -> None:
        self.channel.say(("HELLO", CONTRACT_VERSION))

    def say_ready(self) -> None:
        self.beat()
        self.is_ready = True
        self._tell(("READY", 1), ("DRAIN", "close"))

    def say_stopping(self) -> None:
        self._tell(("STOPPING", 1))

    def beat(self) -> None:
        self.words[HEARTBEAT_NS] = time.monotonic_ns()

    def beat_seconds(self) -> float:
        """How often to beat: several times in --timeout, and never more than once a second."""
        timeout = self.settings.timeout_seconds
        return min(1.0, timeout / 4) if timeout > 0 else 1.0

    def retire_deadline(self) -> float:
        """By when to be gone, on time.monotonic(): the master's word, else --graceful-timeout from now."""
        if self.retire_by is None:
            self.retire_by = time.monotonic() + self.settings.graceful_timeout_seconds
        return self.retire_by

    def hear_master(self, wait: bool = False) -> bool:
        """Reads one message; whether it was RETIRE. Does not come back when the master is gone."""
        try:
            received = self.channel.hear(wait)
        except BlockingIOError:
            return False
        except ContractError as error:
            print("moult worker: %s" % error, file=sys.stderr)
            return False
        except OSError:
            received = None
        if received is None:
            os._exit(0)
        for fd in received.fds:
            os.close(fd)
        if "RETIRE" not in received.message:
            return False
        deadline = received.message.get("DEADLINE_USEC", "")
        if deadline.isdigit():
            self.retire_by = int(deadline) / 1e6
        return True

    def _tell(self, *lines: Any) -> None:
        try:
            self.channel.say(*lines)
        except OSError:
            os._exit(0)

    def boot_failed(self, error: BaseException) -> NoReturn:
        self._tell(("ERROR", escape(text_of(error))))  # the master shows it
        leave(_BOOT_FAILED, quick=True)

    def run(self, serve: Callable[["Worker"], None]) -> NoReturn:
        """Serves until told to go. Exit 0 is a retirement; anything else was the app's or a bug."""
        stack_dump.arm()
        self._set_boot_signals()
        quick = False
        try:
            serve(self)
            code = self._code_of_retirement()
        except LeaveBoot:
            code, quick = 0, True
        except SystemExit as error:
            if not self.is_ready and not self.is_leaving:
                self.boot_failed(error)
            code = error.code if isinstance(error.code, int) else 0 if error.code is None else 1
            quick = not self.is_ready
        except BaseException as error:
            if not self.is_ready:
                self.boot_failed(error)
            traceback.print_exc()
            code = 1
        leave(code, quick or self.leaves_quickly)

    def _code_of_retirement(self) -> int:
        cut = max(self.requests_cut, self.words[REQUESTS_STARTED] - self.words[REQUESTS_FINISHED])
        if cut <= 0 or self.leaves_quickly:
            return 0
        self._tell(("STATUS", "%d requests were still in flight at the deadline" % cut))
        return _REQUESTS_CUT

    def _set_boot_signals(self) -> None:
        for number in _ENDS_BOOT:
            signal.signal(number, self.leave_boot)
        for number in _WAITS_FOR_SERVER:
            # A function that does nothing: unlike SIG_IGN it is not passed on to programs that the app starts.
            signal.signal(number, lambda signal_number, frame: None)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)

    def leave_boot(self, signal_number: int, frame: Optional[FrameType]) -> None:
        # Also breaks off a start-up hook that sleeps. One that swallows the exception is caught by `is_leaving`.
        self.is_leaving = True
        if not self.is_ready:
            raise LeaveBoot(0)


def leave(code: int, quick: bool = False) -> NoReturn:
    """Exits without tearing the interpreter down, which would copy every page that the fork shares.

    What an app may rely on is done: threads that are no daemons end, atexit functions run, output is flushed.
    """
    try:
        if not quick:
            getattr(threading, "_shutdown", lambda: None)()
            atexit._run_exitfuncs()
    except BaseException:
        traceback.print_exc()
    finally:
        flush_output()
        os._exit(code)


def flush_output() -> None:
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except Exception:
            pass


def become_worker(slot: int, settings: Settings, former_parent: int, master_channel: Channel, channel_fd: int,
                  scoreboard_fd: int, output_fds: "list[int]") -> Worker:
    """The first steps of a fresh child, in the one right order. Raises OSError; errno says what the system refused."""
    if not process.wait_for_parent(settings.master_pid, former_parent):
        raise ProcessLookupError(3, "the master is gone, or not our parent")
    process.die_with_parent()
    if os.getppid() != settings.master_pid:  # it went before the line above: nobody would ever send the signal
        raise ProcessLookupError(3, "the master is gone")
    os.setpgid(0, 0)
    worker = Worker(slot, Channel(channel_fd), scoreboard_fd, settings)
    worker.say_hello()
    master_channel.close()  # else its end would never be seen as closed
    for number, fd in zip((1, 2), output_fds):
        os.dup2(fd, number)
        os.close(fd)
    process.raise_oom_score()
    forked_children.do_not_get([channel_fd] + settings.fds())
    return worker
