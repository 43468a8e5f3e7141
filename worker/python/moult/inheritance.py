"""What the loaded app has that a fork would share or lose: live threads, connected sockets."""
import os
import socket
import threading
from typing import Iterable, List


def what_forks_would_share(own_fds: Iterable[int]) -> List[str]:
    return _threads() + _connected_sockets(set(own_fds))


def _threads() -> List[str]:
    names = [thread.name for thread in threading.enumerate() if thread is not threading.main_thread()]
    found = ["the thread '%s'" % name for name in names]
    unnamed = len(os.listdir("/proc/self/task")) - 1 - len(names)
    if unnamed > 0:
        found.append("%d thread%s of a C library" % (unnamed, "" if unnamed == 1 else "s"))
    return found


def _connected_sockets(own_fds: "set[int]") -> List[str]:
    found = []
    for name in os.listdir("/proc/self/fd"):
        fd = int(name)
        if fd in own_fds or fd <= 2:
            continue
        try:
            if not os.readlink("/proc/self/fd/" + name).startswith("socket:"):
                continue
            peer = _peer_of_stream(fd)
        except OSError:
            continue
        if peer:
            found.append("a connection to %s (fd %d)" % (peer, fd))
    return found


def _peer_of_stream(fd: int) -> str:
    """Empty for anything but a connected stream, and for a pair of a process with itself, which has no name."""
    with socket.socket(fileno=os.dup(fd)) as copy:
        if copy.type != socket.SOCK_STREAM:
            return ""
        peer = copy.getpeername()
    if isinstance(peer, tuple):
        return ("[%s]:%d" if ":" in str(peer[0]) else "%s:%d") % peer[:2]
    return peer.decode(errors="replace") if isinstance(peer, bytes) else peer
