"""The workers that a fork server has made, so that nothing of theirs outlives a master that is killed.

While the master lives, it kills the process group of each worker that ends. When it is killed, the kernel kills the
workers; what they started (a process pool does not notice that its parent is gone) is in their groups, and the fork
server is who still knows them.
"""
import os
import signal
import time
from typing import Set

_ORPHANED_WITHIN_SECONDS = 0.5  # after the end of the channel; the kernel closes first and names a new parent then


class Descendants:
    def __init__(self) -> None:
        self._groups: Set[int] = set()

    def add(self, pid: int) -> None:
        self._groups = {group for group in self._groups if _exists(group)}  # not all ends are told
        self._groups.add(pid)

    def forget(self, pid: int) -> None:
        self._groups.discard(pid)

    def end_if_orphaned(self, master_pid: int) -> None:
        """The channel has ended: if that was the master's death, and no wish of its own, nobody is to be left."""
        end = time.monotonic() + _ORPHANED_WITHIN_SECONDS
        while os.getppid() == master_pid:
            if time.monotonic() > end:
                return
            time.sleep(0.002)
        for group in self._groups:
            try:
                os.killpg(group, signal.SIGKILL)
            except OSError:
                pass


def _exists(group: int) -> bool:
    """Or its leader does, who may not have made it yet."""
    for ask in (os.killpg, os.kill):
        try:
            ask(group, 0)
            return True
        except ProcessLookupError:
            pass
        except OSError:
            return True
    return False
