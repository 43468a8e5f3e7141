"""Linux calls that Python's os module lacks. Everything is resolved at import, so that a fresh child only calls."""
import ctypes
import os
import signal
import time
from typing import Callable

_PR_SET_PDEATHSIG = 1
_OOM_SCORE_WORSE_BY = 100  # than the master's: a worker is what can be replaced
_OOM_SCORE_MAX = 1000

_libc = ctypes.CDLL(None, use_errno=True)
_libc.prctl.argtypes = [ctypes.c_int] + [ctypes.c_ulong] * 4
_libc.prctl.restype = ctypes.c_int

# The C library's fork, with the interpreter lock held and without Python's fork hooks: for a process that only forks
# once more. The hooks then run once, in os.fork(). Saves a third of a double fork: they touch some 700 pages.
bare_fork: Callable[[], int] = ctypes.PyDLL(None, use_errno=True).fork


def last_errno() -> int:
    """Of bare_fork()."""
    return ctypes.get_errno()


def die_with_parent() -> None:
    """SIGKILL when the *current* parent's thread ends; so only once the parent is the right one. fork() clears it,
    and so does a change of user."""
    _set_death_signal(signal.SIGKILL)


def outlive_parent() -> None:
    """For one that notices by itself."""
    _set_death_signal(0)


def _set_death_signal(number: int) -> None:
    if _libc.prctl(_PR_SET_PDEATHSIG, number, 0, 0, 0) != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


def wait_for_parent(parent_pid: int, former_parent: int) -> bool:
    """Waits until the former parent is gone; whether we then belong to the right one."""
    while os.getppid() == former_parent:
        time.sleep(0.0002)
    return os.getppid() == parent_pid


def raise_oom_score() -> None:
    """The kernel prefers workers to the master. Refused in some containers: then nothing changes."""
    try:
        with open("/proc/self/oom_score_adj", "r+") as file:
            worse = min(_OOM_SCORE_MAX, int(file.read()) + _OOM_SCORE_WORSE_BY)
            file.seek(0)
            file.write(str(worse))
    except (OSError, ValueError):
        pass
