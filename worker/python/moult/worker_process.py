"""One worker, from the fork to its exit: what both adapters share."""
import atexit
import errno
import itertools
import os
import select
import signal
import sys
import threading
import time
import traceback
from types import FrameType
from typing import Any, Callable, Dict, NoReturn, Optional

from . import closing, forked_children, handover, next_due, process, stack_dump
from .channel import Channel
from .contract import (CONTRACT_VERSION, HEARTBEAT_NS, REQUESTS_FINISHED, REQUESTS_STARTED, ContractError, escape,
                       open_scoreboard)
from .failure import LeaveBoot, text_of
from .settings import Settings
from .sidecar import SidecarDoor
from .warm_pages import WarmPages

_REQUESTS_CUT = 75  # worker/fork_protocol.h: something was left unanswered at the deadline
_ATEXIT_SECONDS = 0.25  # before the deadline, kept for atexit functions when threads are still busy
_MESSAGES_AT_ONCE = 64  # read before the server has its turn again
_MASTER_GONE = (errno.EPIPE, errno.ECONNRESET, errno.ENOTCONN)  # of a message that is sent
_BOOT_FAILED = 3  # gunicorn's WORKER_BOOT_ERROR; the master takes any exit before READY for a failed boot
# What may arrive before the server has its own handlers. An app that installed handlers while it was imported in the
# fork server is relieved of them here.
_ENDS_BOOT = (signal.SIGTERM, signal.SIGINT, signal.SIGQUIT)
_WAITS_FOR_SERVER = (signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2, signal.SIGWINCH)


class Worker:
    """The worker's own view of itself; exists in the final child only."""

    def __init__(self, slot: Optional[int], channel: Channel, scoreboard_fd: int, settings: Settings,
                 warm_pages: Optional[WarmPages] = None) -> None:
        self.slot = slot  # None: a spare, which waits for one when its start-up is done
        self.settings = settings
        self.channel = channel
        self.words: Any = open_scoreboard(scoreboard_fd)
        self._warm_pages = warm_pages
        self.is_ready = False
        self.has_parked = False
        self.is_leaving = False  # a signal ended the boot
        self.requests_cut = 0  # an adapter sets it, where the scoreboard does not tell
        self.threads_were_cut = False  # an adapter sets it: some were busy at the deadline
        self.ends_around_threads = False  # likewise: the sidecar's alone are busy, and nobody waits for those
        self.leaves_quickly = False  # INT or QUIT: no waiting for threads at the exit
        self.idle_closed = 0  # connections that were idle at the deadline; an adapter sets it
        self.retire_by: Optional[float] = None  # time.monotonic(); None: not told to retire
        # Set before READY by an adapter whose connections can move; None: they are closed when it retires.
        self.handover: Optional[handover.Handover] = None
        self.sidecar_door = SidecarDoor(settings.sidecar_fd)
        self.closings = closing.Closings(self)
        self.next_number = itertools.count(1).__next__  # of what is passed to the master; threads may ask
        self._is_adoption_over = False  # the master said that no other worker will have our connections
        self._said_stopping = False
        self.announces_close = False  # the service stops soon, and each answer is to say so; never taken back

    @property
    def hands_over(self) -> bool:
        """Its idle connections live on in other workers. Else they end with it, and their answers say so."""
        return self.handover is not None and not self._is_adoption_over

    def say_hello(self) -> None:
        self.channel.say(("HELLO", CONTRACT_VERSION))

    def say_ready(self) -> None:
        self.beat()
        self.is_ready = True
        self.tell(("READY", 1), ("DRAIN", "handover" if self.hands_over else "close"))

    def say_parked(self) -> None:
        self.has_parked = True
        if self._warm_pages is not None and self._warm_pages.populate():
            self._warm_pages = None
        self.tell(("PARKED", 1))

    def park(self) -> None:
        """Of a spare: says that it has started, and comes back when it is given a slot. For servers without a loop of
        their own; those wait for the channel and for warm_pages_fd(), and call populate()."""
        if self.slot is not None:
            return
        self.say_parked()
        poller = select.poll()
        poller.register(self.channel.fileno(), select.POLLIN)
        warm = self.warm_pages_fd()
        if warm is not None:
            poller.register(warm, select.POLLIN)
        while self.slot is None:
            if warm is not None and warm in dict(poller.poll()):
                poller.unregister(warm)
                warm = None
                self.populate()
                continue
            if self.hear_master(wait=warm is None):
                self.is_leaving = True
                raise LeaveBoot(0)

    def warm_pages_fd(self) -> Optional[int]:
        """None: nothing will come."""
        return self._warm_pages.fileno() if self._warm_pages is not None else None

    def populate(self) -> None:
        if self._warm_pages is not None:
            self._warm_pages.populate()
            self._warm_pages = None

    def say_stopping(self) -> None:
        if not self._said_stopping:
            self._said_stopping = True
            self.tell(("STOPPING", 1))

    def beat(self) -> None:
        self.words[HEARTBEAT_NS] = time.monotonic_ns()
        if self._warm_pages is not None:
            self._warm_pages.look(self.words[REQUESTS_FINISHED])

    def beat_seconds(self) -> float:
        """How often to beat: several times in --timeout, and never more than once a second."""
        timeout = self.settings.timeout_seconds
        return min(1.0, timeout / 4) if timeout > 0 else 1.0

    def retire_deadline(self) -> float:
        """By when to be gone, on time.monotonic(): the master's word, else --graceful-timeout from now."""
        if self.retire_by is None:
            self.retire_by = time.monotonic() + self.settings.graceful_timeout_seconds
        return self.retire_by

    @property
    def is_retiring(self) -> bool:
        return self.retire_by is not None

    def hear_master(self, wait: bool = False) -> bool:
        """Reads what is there; whether RETIRE was among it. Does not come back when the master is gone."""
        told_to_retire = False
        for _ in range(_MESSAGES_AT_ONCE):
            try:
                received = self.channel.hear(wait)
            except BlockingIOError:
                break
            except ContractError as error:
                print("moult worker: %s" % error, file=sys.stderr)
                continue
            except OSError:
                received = None
            if received is None:
                os._exit(0)
            wait = False
            if "GO" in received.message and self.slot is None:
                self.slot = int(received.message["SLOT"])
            if "ANNOUNCE_CLOSE" in received.message:
                self.announces_close = True
            if "RETIRE" in received.message:
                told_to_retire = True
                self._take_retire(received.message)
            self.closings.hear(received.message)
            if self.handover is not None:
                self.handover.hear(received)
            else:
                handover.decline(self, received)
        return told_to_retire

    def _take_retire(self, message: Dict[str, str]) -> None:
        if message.get("PARKING") == "0":  # may be said later too, when the service stops while this worker retires
            self._is_adoption_over = True
        is_first = not self.is_retiring
        text = message.get("DEADLINE_USEC", "")
        if text.isdigit():
            self.retire_by = int(text) / 1e6
        else:
            self.retire_deadline()
        if is_first:
            next_due.worker_retires(self)

    def tell(self, *lines: Any) -> None:
        try:
            self.channel.say(*lines)
        except OSError:
            os._exit(0)

    def pass_on(self, fd: int, *lines: Any) -> bool:
        """As the channel's: False if it cannot be now. Raises OSError when this descriptor cannot be passed."""
        try:
            return self.channel.pass_on(fd, *lines)
        except OSError as error:
            if error.errno in _MASTER_GONE:
                os._exit(0)
            raise

    def boot_failed(self, error: BaseException) -> NoReturn:
        self.tell(("ERROR", escape(text_of(error))))  # the master shows it
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
            code, quick = 0, not self.has_parked  # of a spare the start-up is done, and its atexit functions are due
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
        leave(code, quick or self.leaves_quickly, self._threads_have_until())

    def end_around_threads(self) -> NoReturn:
        """Ends from inside: a request of the sidecar's that cannot be ended is all that is left."""
        self.ends_around_threads = True
        leave(self._code_of_retirement(), self.leaves_quickly, self._threads_have_until())

    def _threads_have_until(self) -> Optional[float]:
        if self.threads_were_cut:
            return self.retire_deadline() - _ATEXIT_SECONDS
        return time.monotonic() if self.ends_around_threads else None

    def _code_of_retirement(self) -> int:
        cut = max(self.requests_cut, self.words[REQUESTS_STARTED] - self.words[REQUESTS_FINISHED])
        if self.leaves_quickly:
            return 0
        if cut > 0:
            self.threads_were_cut = True
        left = ["%d requests were still in flight" % cut] if cut > 0 else []
        if self.idle_closed:
            left.append("%d idle connections were closed" % self.idle_closed)
        if left:
            self.tell(("STATUS", "at the deadline %s" % " and ".join(left)))
        return _REQUESTS_CUT if cut > 0 else 0

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
        self.leaves_quickly = signal_number != signal.SIGTERM
        if not self.is_ready:
            raise LeaveBoot(0)


def leave(code: int, quick: bool = False, wait_until: Optional[float] = None) -> NoReturn:
    """Exits without tearing the interpreter down, which would copy every page that the fork shares.

    What an app may rely on is done: threads that are no daemons end, atexit functions run, output is flushed.
    `wait_until`, on time.monotonic(): threads that are busy then are left.
    """
    try:
        if not quick:
            if wait_until is None:
                getattr(threading, "_shutdown", lambda: None)()
            else:
                _wait_for_threads(wait_until)
            atexit._run_exitfuncs()
    except BaseException:
        traceback.print_exc()
    finally:
        flush_output()
        os._exit(code)


def _wait_for_threads(until: float) -> None:
    pools = sys.modules.get("concurrent.futures.thread")
    atexit.unregister(getattr(pools, "_python_exit", None))  # Python 3.8 waits for all threads of pools there
    for thread in threading.enumerate():
        if not thread.daemon and thread is not threading.main_thread():
            thread.join(max(0.0, until - time.monotonic()))


def flush_output() -> None:
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except Exception:
            pass


def become_worker(slot: Optional[int], settings: Settings, former_parent: int, master_channel: Channel, channel_fd: int,
                  scoreboard_fd: int, output_fds: "list[int]", warm_pages: Optional[WarmPages] = None) -> Worker:
    """The first steps of a fresh child, in the one right order. Raises OSError; errno says what the system refused."""
    if not process.wait_for_parent(settings.master_pid, former_parent):
        raise ProcessLookupError(3, "the master is gone, or not our parent")
    process.die_with_parent()
    if os.getppid() != settings.master_pid:  # it went before the line above: nobody would ever send the signal
        raise ProcessLookupError(3, "the master is gone")
    os.setpgid(0, 0)
    worker = Worker(slot, Channel(channel_fd), scoreboard_fd, settings, warm_pages)
    worker.say_hello()
    master_channel.close()  # else its end would never be seen as closed
    for number, fd in zip((1, 2), output_fds):
        os.dup2(fd, number)
        os.close(fd)
    process.raise_oom_score()
    forked_children.do_not_get([channel_fd] + settings.fds())
    return worker
