"""One end of the SOCK_SEQPACKET pair with the master: a message a datagram, with file descriptors."""
import array
import errno
import os
import socket
from typing import Dict, Iterable, List, NamedTuple, Optional, Tuple

from . import contract

MAX_PASSED_FDS = 8  # in one message; the protocol's most is 4 (FORK=)
_NOT_NOW = (errno.EAGAIN, errno.ENOBUFS, errno.ENOMEM, errno.ETOOMANYREFS)
_FD_BYTES = array.array("i").itemsize
_ANCILLARY_BYTES = socket.CMSG_SPACE(MAX_PASSED_FDS * _FD_BYTES)


class Received(NamedTuple):
    message: Dict[str, str]
    fds: List[int]  # all close-on-exec; the receiver's to close
    fds_lost: bool  # our table is full: some that were sent did not arrive


class Channel:
    def __init__(self, fd: int) -> None:
        os.set_inheritable(fd, False)
        self._socket = socket.socket(fileno=fd)
        self._socket.setblocking(True)

    def fileno(self) -> int:
        return self._socket.fileno()

    def close(self) -> None:
        self._socket.close()

    def say(self, *lines: Tuple[str, object]) -> None:
        """Sends one message. Raises OSError when the master is gone."""
        self._socket.send(contract.build(lines))

    def pass_on(self, fd: int, *lines: Tuple[str, object]) -> bool:
        """Sends one message with a descriptor, which stays the caller's.

        False: not now. The master is behind, or too many descriptors are under way: to be tried again after a while.
        Raises OSError when the master is gone, or when the descriptor is none.
        """
        rights = (socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [fd]))
        try:
            self._socket.sendmsg([contract.build(lines)], [rights], socket.MSG_DONTWAIT)
        except OSError as error:
            if error.errno in _NOT_NOW:
                return False
            raise
        return True

    def hear(self, wait: bool = True) -> Optional[Received]:
        """The next message, or None when the other end is closed. BlockingIOError if nothing is there to be had now.

        Raises ContractError for a datagram that is no message; its fds are closed then.
        """
        flags = socket.MSG_CMSG_CLOEXEC | (0 if wait else socket.MSG_DONTWAIT)
        try:
            datagram, ancillary, came, _ = self._socket.recvmsg(
                contract.MAX_MESSAGE_BYTES + 1, _ANCILLARY_BYTES, flags)
        except OSError as error:
            if error.errno == errno.ECONNRESET:  # it went away without reading all that we sent
                return None
            raise
        fds = list(_passed_fds(ancillary))
        if not datagram:
            return None
        try:
            return Received(contract.parse(datagram), fds, bool(came & socket.MSG_CTRUNC))
        except contract.ContractError:
            close_all(fds)
            raise


def close_all(fds: Iterable[int]) -> None:
    for fd in fds:
        os.close(fd)


def _passed_fds(ancillary: List[Tuple[int, int, bytes]]) -> Iterable[int]:
    for level, kind, content in ancillary:
        if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
            numbers = array.array("i")
            numbers.frombytes(content[: len(content) - len(content) % _FD_BYTES])
            yield from numbers
