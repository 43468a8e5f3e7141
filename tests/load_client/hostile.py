"""Small servers that treat their clients badly, on purpose and in exactly the way that is said."""
import socket
import struct
import threading
from collections import Counter
from typing import Callable, List, Optional

from tools.load_client.echo_app import answer

PATIENCE_SECONDS = 60
NO_LINGER = struct.pack("ii", 1, 0)


class Peer:
    """One connection, seen from the server."""

    def __init__(self, connection: socket.socket, server: "Hostile") -> None:
        self.socket, self.server, self.received = connection, server, b""
        self.is_tcp = connection.family == socket.AF_INET

    def did(self, what: str) -> None:
        """So that the test can compare what the client counted with what was done to it."""
        with self.server.lock:
            self.server.did[what] += 1

    # --- hearing ----------------------------------------------------------------------------------------------------

    def request(self) -> Optional[bytes]:
        """The right body for the next whole request, or None when the client has closed."""
        while True:
            head, found, rest = self.received.partition(b"\r\n\r\n")
            length = next((int(line.split(b":")[1]) for line in head.split(b"\r\n")
                           if line.lower().startswith(b"content-length:")), 0)
            if found and len(rest) >= length:
                method, path = head.decode().split(" ")[:2]
                body, self.received = rest[:length], rest[length:]
                return answer(method, path, body)[1]
            try:
                data = self.socket.recv(65536)
            except ConnectionError:
                return None
            if not data:
                return None
            self.received += data

    def wait_until_it_closes(self) -> None:
        while True:
            try:
                if not self.socket.recv(65536):
                    return
            except ConnectionError:
                return

    # --- saying -----------------------------------------------------------------------------------------------------

    def say(self, text: bytes) -> None:
        self.socket.sendall(text)

    def answer(self, body: bytes, *headers: str, status: str = "200 OK", worker: str = "1") -> None:
        self.say(whole(body, *headers, status=status, worker=worker))

    def answer_and_close(self, body: bytes) -> None:
        """On TCP in one segment, so that no client can get in between."""
        self.socket.send(whole(body), socket.MSG_MORE if self.is_tcp else 0)
        self.socket.close()

    def reset(self) -> None:
        """Call it instead of reading the request: on a unix socket it is the unread bytes that make a reset of a
        close."""
        if self.is_tcp:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, NO_LINGER)
        else:
            self.wait_for_bytes()
        self.socket.close()

    def wait_for_bytes(self) -> bool:
        """False: the client has closed instead."""
        return bool(self.socket.recv(1, socket.MSG_PEEK))


def whole(body: bytes, *headers: str, status: str = "200 OK", worker: str = "1") -> bytes:
    lines = [f"HTTP/1.1 {status}", f"Content-Length: {len(body)}", f"X-Worker: {worker}", *headers, "", ""]
    return "\r\n".join(lines).encode() + body


class Hostile:
    def __init__(self, talk: Callable[[Peer], None], path: Optional[str] = None, backlog: int = 128) -> None:
        self.talk, self.did, self.errors, self.lock = talk, Counter(), [], threading.Lock()
        self.listener = socket.socket(socket.AF_UNIX if path else socket.AF_INET)
        self.listener.bind(path or ("127.0.0.1", 0))
        self.listener.listen(backlog)
        self.url = f"unix:{path}" if path else f"http://127.0.0.1:{self.listener.getsockname()[1]}"
        self.threads: List[threading.Thread] = []
        self.acceptor = threading.Thread(target=self.accept, daemon=True)
        self.acceptor.start()

    def accept(self) -> None:
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:  # stopped
                return
            self.threads.append(threading.Thread(target=self.serve, args=(connection,), daemon=True))
            self.threads[-1].start()

    def serve(self, connection: socket.socket) -> None:
        with connection:
            connection.settimeout(PATIENCE_SECONDS)
            try:
                self.talk(Peer(connection, self))
            except ConnectionError:
                pass  # the client has gone, as it does at a wrong answer
            except Exception as error:
                self.errors.append(repr(error))

    def stop(self) -> None:
        self.listener.shutdown(socket.SHUT_RDWR)  # which wakes accept
        self.listener.close()
        self.acceptor.join(PATIENCE_SECONDS)
        for thread in self.threads:
            thread.join(PATIENCE_SECONDS)
