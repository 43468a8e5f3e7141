"""Which connections came through the sidecar's door (--sidecar-bind). They are in no scoreboard and in no visitor's
way: never given to the master, and closed when the worker retires.
"""
import os
import socket
from typing import Any, Optional

GRACE_SECONDS = 1.0  # for the requests that are in flight when the worker retires
_EVERY_ADDRESS = ("0.0.0.0", "::")


class SidecarDoor:
    """In the worker, whatever its server."""

    def __init__(self, fd: Optional[int]) -> None:
        self.name: Any = None  # the listener's address; None: there is no such door
        if fd is not None:
            with socket.socket(fileno=os.dup(fd)) as listener:
                self.name = listener.getsockname()

    def let_in(self, sock: Any) -> bool:
        """A connection that somebody accepted; False also if it is closed."""
        if self.name is None:
            return False
        try:
            name = sock.getsockname()
        except (OSError, ValueError):
            return False
        if not isinstance(name, tuple) or not isinstance(self.name, tuple):
            return bool(name == self.name)
        return name[1] == self.name[1] and self.name[0] in (name[0], *_EVERY_ADDRESS)

    def let_in_fd(self, fd: int) -> bool:
        if self.name is None:
            return False
        try:
            with socket.socket(fileno=os.dup(fd)) as sock:
                return self.let_in(sock)
        except OSError:
            return False
