"""A client that takes its answer as slowly as it is told to, and may send all the while. Its kernel takes little for
it, so that what it has not read is on its way.
"""
import contextlib
import socket
import struct
import threading
import time
from typing import Optional

RECEIVE_BUFFER = 16 * 1024
PART = 32 * 1024


class SlowClient:
    def __init__(self, host: str, port: int) -> None:
        self.socket = socket.socket()
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, RECEIVE_BUFFER)
        self.socket.settimeout(30)
        self.socket.connect((host, port))
        self.ended = False  # the server's FIN came
        self._body = bytearray()
        self._head_is_over = False
        self._over = threading.Event()
        self._sender: Optional[threading.Thread] = None

    def __enter__(self) -> "SlowClient":
        return self

    def __exit__(self, *error) -> None:
        self._over.set()
        if self._sender:
            self._sender.join()
        self.socket.close()

    def ask(self, path: str, *headers: str, body: bytes = b"") -> "SlowClient":
        self.socket.sendall("\r\n".join([f"POST {path} HTTP/1.1", "Host: x", *headers, "", ""]).encode() + body)
        return self

    def send_on(self, what: bytes = b"y" * 4096, pause: float = 0.004) -> "SlowClient":
        """About 1 MB/s of a body that it has announced, or of whatever else."""
        def send() -> None:
            while not self._over.wait(pause):
                with contextlib.suppress(BlockingIOError):
                    try:
                        self.socket.send(what, socket.MSG_DONTWAIT)
                    except OSError as error:
                        if not isinstance(error, BlockingIOError):
                            return
        self._sender = threading.Thread(target=send)
        self._sender.start()
        return self

    def read(self, most: int, bytes_per_second: float = float("inf")) -> int:
        """Reads until it has so much of the body in all, or the end comes. How much it has then."""
        began, before = time.monotonic(), len(self._body)
        while len(self._body) < most and not self.ended:
            try:
                some = self.socket.recv(PART)
            except OSError:  # reset; or nothing for the timeout of the socket
                break
            self.ended = not some
            self._body += some
            if not self._head_is_over and b"\r\n\r\n" in self._body:
                self._head_is_over = True
                del self._body[:self._body.index(b"\r\n\r\n") + 4]
            ahead = (len(self._body) - before) / bytes_per_second - (time.monotonic() - began)
            if ahead > 0:
                time.sleep(ahead)
        return len(self._body)

    def reset(self) -> None:
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.socket.close()
