"""A real Redis for a test."""
import socket
import subprocess
from pathlib import Path
from typing import Optional

from harness import wait_until


class Store:
    """A redis-server of our own on a unix socket, that forgets all when it ends."""

    def __init__(self, folder: Path, password: str = "") -> None:
        self.path, self.password, self.log = str(folder / "redis.sock"), password, folder / "redis.log"
        self.url = f"redis+unix://{self.path}"
        self.process: Optional[subprocess.Popen] = None
        self.start()

    def start(self) -> None:
        more = ["--requirepass", self.password] if self.password else []
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen(
                ["redis-server", "--port", "0", "--unixsocket", self.path, "--save", "", "--appendonly", "no", *more],
                stdout=log, stderr=log, cwd=self.log.parent)
        wait_until(self.listens, "the store listens")

    def listens(self) -> bool:
        """Its path is there a moment before, and after it was killed."""
        with socket.socket(socket.AF_UNIX) as client:
            return client.connect_ex(self.path) == 0

    def signal(self, number: int) -> None:
        self.process.send_signal(number)

    def forget(self) -> None:
        """While all connections stay up."""
        subprocess.run(["redis-cli", "-s", self.path, "FLUSHALL"], check=True, stdout=subprocess.DEVNULL)

    def kill(self) -> None:
        if self.process:
            self.process.kill()
            self.process.wait()
            self.process = None
