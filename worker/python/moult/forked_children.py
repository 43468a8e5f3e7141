"""What a process that the app forks in a worker (multiprocessing does so, before Python 3.14) must not have of it.

Such a process may outlive the worker. With our listening sockets it would keep the ports taken, and clients waiting for
somebody who never accepts; with the channel it would speak as the worker. What is executed has neither: they are
close-on-exec.
"""
import os
from typing import Iterable, Tuple


def do_not_get(fds: Iterable[int]) -> None:
    """Called once in each worker. Copies of these sockets that exist by then (gunicorn makes some) are meant too."""
    withheld = {_identity(fd) for fd in fds}

    def give_up() -> None:
        # The numbers stay taken: the objects that own them would else close, one day, what is not theirs.
        nothing = os.open(os.devnull, os.O_RDWR)
        for name in os.listdir("/proc/self/fd"):
            try:
                if _identity(int(name)) in withheld:
                    os.dup2(nothing, int(name), inheritable=False)
            except OSError:
                pass  # the listing's own, which is closed by now
        os.close(nothing)

    os.register_at_fork(after_in_child=give_up)


def _identity(fd: int) -> Tuple[int, int]:
    status = os.fstat(fd)
    return status.st_dev, status.st_ino
