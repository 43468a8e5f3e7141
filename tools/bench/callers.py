"""Callers who speak all at once, in one thread and without a framework, so that what is timed is the server.

A Caller is one connection. It asks once and reads one whole answer; what goes wrong is its answer's `trouble`.
"""
import select
import socket
import time
from typing import Dict, List, NamedTuple, Optional

from tools.load_client.answers import AnswerParser, Malformed

REQUEST = b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"
PATIENCE_SECONDS = 90
READ_BYTES = 65536


class Heard(NamedTuple):
    status: int  # 0: there was no whole answer
    seconds: float  # from its call to the first byte
    trouble: str  # "" where there was none
    headers: Dict[str, str]
    body: bytes

    @property
    def fine(self) -> bool:
        """And the connection may be used again."""
        return self.status == 200 and not self.trouble and "close" not in self.headers.get("connection", "").lower()


class Caller:
    """Connected when it is made. Close it."""

    def __init__(self, port: int) -> None:
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=PATIENCE_SECONDS)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def was_closed(self) -> bool:
        """By the other side, or it said something that nobody asked for."""
        poll = select.poll()
        poll.register(self.socket, select.POLLIN)
        return bool(poll.poll(0))

    def ask(self) -> Heard:
        return ask_together([self])[0]

    def close(self) -> None:
        self.socket.close()


class Call:
    """One question under way."""

    def __init__(self, caller: Caller, since: Optional[float]) -> None:
        self.socket, self.parser, self.seconds = caller.socket, AnswerParser(), 0.0
        self.began = time.monotonic() if since is None else since
        self.heard: Optional[Heard] = None
        try:
            self.socket.sendall(REQUEST)
        except OSError as error:
            self.end(repr(error))

    def end(self, trouble: str) -> None:
        self.heard = Heard(0, time.monotonic() - self.began, trouble, {}, b"")

    def read(self) -> None:
        try:
            some = self.socket.recv(READ_BYTES)
            if not some:
                return self.end("closed")
            self.seconds = self.seconds or time.monotonic() - self.began
            self.parser.feed(some)
            answer = self.parser.next()
        except (OSError, Malformed) as error:
            return self.end(repr(error))
        if answer:
            trouble = "bytes behind the answer" if self.parser.begun else ""
            self.heard = Heard(answer.status, self.seconds, trouble, answer.headers, answer.body)


def ask_together(callers: List[Caller], since: Optional[float] = None) -> List[Heard]:
    """`since`: what the seconds count from, if not from each call: time.monotonic()."""
    calls = [Call(caller, since) for caller in callers]
    by_fd = {call.socket.fileno(): call for call in calls if not call.heard}
    poll = select.poll()
    for fd in by_fd:
        poll.register(fd, select.POLLIN)
    deadline = time.monotonic() + PATIENCE_SECONDS
    while by_fd:
        for fd, _ in poll.poll(max(0.0, deadline - time.monotonic()) * 1000):
            by_fd[fd].read()
            if by_fd[fd].heard:
                poll.unregister(fd)
                del by_fd[fd]
        if time.monotonic() > deadline:
            for call in by_fd.values():
                call.end(f"no whole answer in {PATIENCE_SECONDS} s")
            break
    return [call.heard for call in calls]


def call_once(port: int) -> Heard:
    """On a connection of its own. The seconds are from before the connect to the first byte."""
    began = time.monotonic()
    caller = Caller(port)
    try:
        return ask_together([caller], since=began)[0]
    finally:
        caller.close()
