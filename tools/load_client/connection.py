"""One connection to the server, and nothing hidden behind it: it is never opened again, nothing is ever sent twice, and
nothing is read unless the caller says so."""
import asyncio
import errno
import socket
from typing import List, NamedTuple, Optional, Union
from urllib.parse import urlsplit

from tools.load_client.answers import Answer, AnswerParser, Malformed
from tools.load_client.tally import Failure

READ_BYTES = 262144
SLOW_READ_BYTES = 16384
SLOW_READ_PAUSE_SECONDS = 0.008  # a mebibyte takes half a second
SLOW_BUFFER_BYTES = 131072  # a few of loopback's segments: with less, the kernel's own timers are what is slow
USUAL_BUFFER_BYTES = 1048576  # or what net.core.rmem_max permits
SPLIT_PAUSE_SECONDS = 0.002
FULL_BACKLOG_PAUSE_SECONDS = 0.001
# The client's own troubles, which say nothing about the server.
OWN_ERRORS = {errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM, errno.EADDRNOTAVAIL, errno.EACCES, errno.EPERM}


class OwnTrouble(Exception):
    """The client cannot go on, and the server is not to blame."""


class Broken(Exception):
    """The request in hand failed, and nothing more is to be had from this connection."""

    def __init__(self, failure: Failure, detail: str) -> None:
        super().__init__(detail)
        self.failure, self.detail = failure, detail


class Endpoint(NamedTuple):
    family: int
    address: Union[str, tuple]  # as socket.connect wants it
    host: str  # for the Host header

    @staticmethod
    def parse(url: str) -> "Endpoint":
        """http://HOST:PORT or unix:PATH. ValueError says what is wrong with it."""
        if url.startswith("unix:"):
            return Endpoint(socket.AF_UNIX, url[len("unix:"):], "localhost")
        parts = urlsplit(url)
        if parts.scheme != "http" or not parts.hostname or parts.path not in ("", "/") or parts.query:
            raise ValueError(f"{url!r} is neither http://HOST:PORT nor unix:PATH")
        try:
            found = socket.getaddrinfo(parts.hostname, parts.port or 80, type=socket.SOCK_STREAM)
        except OSError as error:
            raise ValueError(f"{url!r}: {error}") from None
        return Endpoint(found[0][0], found[0][4], parts.netloc)


class Connection:
    def __init__(self, endpoint: Endpoint) -> None:
        """OwnTrouble: no socket is to be had."""
        self.loop = asyncio.get_running_loop()
        self.endpoint = endpoint
        try:
            self.socket = socket.socket(endpoint.family, socket.SOCK_STREAM | socket.SOCK_NONBLOCK)
        except OSError as error:
            raise OwnTrouble(f"no socket: {error}") from None
        self.parser = AnswerParser()
        self.was_reset = False
        self.worker: Optional[str] = None  # who answered last

    def close(self) -> None:
        self.socket.close()

    async def connect(self) -> None:
        """Broken(REFUSED), or OwnTrouble."""
        try:
            if self.endpoint.family == socket.AF_UNIX:
                await self.connect_unix()
            else:
                await self.connect_tcp()
                self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)  # each write leaves by itself
        except OSError as error:
            if error.errno in OWN_ERRORS:
                raise OwnTrouble(f"cannot connect: {error}") from None
            raise Broken(Failure.REFUSED, str(error)) from None

    async def connect_tcp(self) -> None:
        try:
            await self.loop.sock_connect(self.socket, self.endpoint.address)
        except ConnectionResetError:
            self.was_reset = True  # it was connected, which is no refusal: the next look or request meets the reset

    async def connect_unix(self) -> None:
        """A full backlog is EAGAIN here, and waits in a client that blocks; asyncio would take it for success."""
        while True:
            try:
                return self.socket.connect(self.endpoint.address)
            except BlockingIOError:
                await asyncio.sleep(FULL_BACKLOG_PAUSE_SECONDS)

    async def look(self, seconds: float) -> Optional[bytes]:
        """What comes unasked in that time: b"" when the other side closes or resets, None when it is silent."""
        woken = asyncio.Event()
        self.loop.add_reader(self.socket, woken.set)
        try:
            await asyncio.wait_for(woken.wait(), seconds)
        except asyncio.TimeoutError:
            pass
        finally:
            self.loop.remove_reader(self.socket)
        try:
            return self.socket.recv(READ_BYTES)
        except BlockingIOError:
            return None
        except OSError:
            return b""

    async def write(self, pieces: List[bytes]) -> None:
        """An error is not told here: what can still be read says more about it."""
        try:
            for number, piece in enumerate(pieces):
                if number > 0:
                    await asyncio.sleep(SPLIT_PAUSE_SECONDS)
                await self.loop.sock_sendall(self.socket, piece)
        except BrokenPipeError:
            pass  # the other side had closed: reading will tell whether it said something before
        except OSError:
            self.was_reset = True  # the kernel tells this only once

    def take_in_advance(self, slowly: bool) -> None:
        """How much the kernel takes before it is read. (A window that it has offered already it does not take back.)"""
        size = SLOW_BUFFER_BYTES if slowly else USUAL_BUFFER_BYTES
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, size)

    async def read_answer(self, slowly: bool) -> Answer:
        """Broken, by whichever way it ends without a whole answer."""
        try:
            answer = self.parser.next()
            while answer is None:
                data = await self.receive(SLOW_READ_BYTES if slowly else READ_BYTES)
                if not data:
                    answer = None if self.was_reset else self.parser.end()
                    if answer is None:
                        raise self.ended()
                    break
                self.parser.feed(data)
                answer = self.parser.next()
                if slowly and answer is None:
                    await asyncio.sleep(SLOW_READ_PAUSE_SECONDS)
            return answer
        except Malformed as error:
            raise Broken(Failure.WRONG_ANSWER, str(error)) from None

    async def receive(self, most: int) -> bytes:
        try:
            return await self.loop.sock_recv(self.socket, most)
        except OSError:
            self.was_reset = True
            return b""

    def ended(self) -> Broken:
        begun = self.parser.begun
        if self.was_reset:
            return Broken(Failure.RESET_IN_THE_MIDDLE if begun else Failure.RESET_BEFORE_FIRST_BYTE, "reset")
        return Broken(Failure.CUT if begun else Failure.EMPTY_REPLY, "closed")
