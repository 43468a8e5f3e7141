"""Starts the real moult, talks to it as its users do, and looks at what it leaves behind. Deadlines, never sleeps."""
import http.client
import json
import os
import socket
import subprocess
import time
from pathlib import Path
from signal import SIGTERM
from typing import Callable, Dict, List, Optional, Union

from processes import alive, parent_of

ROOT = Path(__file__).resolve().parents[2]
APPS = Path(__file__).resolve().parent / "apps"
BINARY = os.environ.get("MOULT_BINARY", str(ROOT / "build/release/bin/moult"))
SANITIZED = b"__sanitizer" in Path(BINARY).read_bytes()
DEBIAN_PYTHON = "/usr/bin/python3"
NEWEST_PYTHON = str(ROOT / "build/venv-newest/bin/python")
PATIENCE = 60.0  # seconds; for things that take milliseconds on a calm machine


def wait_until(condition: Callable[[], object], what: str, deadline: float = PATIENCE) -> object:
    """The first true value of the condition; after the deadline the test fails, naming what it waited for."""
    end = time.monotonic() + deadline
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > end:
            raise AssertionError(f"waited {deadline:g} s in vain: {what}")
        time.sleep(0.02)


def holds_for(condition: Callable[[], object], seconds: float, what: str) -> None:
    """For what must *not* happen: looks for that long, fails at the first time it does."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        assert condition(), what
        time.sleep(0.02)


class Answer:
    def __init__(self, status: int, headers, body: bytes) -> None:
        self.status, self.headers, self.body = status, headers, body

    @property
    def text(self) -> str:
        return self.body.decode()

    def json(self):
        return json.loads(self.body)


class UnixConnection(http.client.HTTPConnection):
    def __init__(self, path: str, timeout: float) -> None:
        super().__init__("localhost", timeout=timeout)
        self.path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self.path)


Address = Union[int, str]  # a port of 127.0.0.1, "[::1]:PORT", or the path of a unix socket


def connection(address: Address, timeout: float = PATIENCE) -> http.client.HTTPConnection:
    if isinstance(address, int):
        return http.client.HTTPConnection("127.0.0.1", address, timeout=timeout)
    if address.startswith("["):
        host, port = address.rsplit(":", 1)
        return http.client.HTTPConnection(host.strip("[]"), int(port), timeout=timeout)
    return UnixConnection(address, timeout)


def fetch(address: Address, path: str = "/", timeout: float = PATIENCE, **request) -> Answer:
    client = connection(address, timeout)
    try:
        client.request(request.pop("method", "GET"), path, **request)
        answer = client.getresponse()
        return Answer(answer.status, answer.headers, answer.read())
    finally:
        client.close()


class Moult:
    """One running `moult run`. `run` is its private folder: control socket, pid file, unix sockets."""

    def __init__(self, scratch: Path, arguments: List[str], address: Address, environment: Dict[str, str],
                 wrapper: Optional[List[str]] = None, name: str = "moult", **popen) -> None:
        self.scratch, self.address = scratch, address
        self.control = str(scratch / "run" / f"{name}.control")
        self.out, self.err = scratch / f"{name}.stdout", scratch / f"{name}.stderr"
        self.environment = environment
        self.command = [*(wrapper or []), BINARY, "run", "--control", self.control, *arguments]
        with open(self.out, "ab") as out, open(self.err, "ab") as err:
            popen = {"stdout": out, "stderr": err, "stdin": subprocess.DEVNULL, "cwd": scratch / "cwd", **popen}
            self.process = subprocess.Popen(self.command, env=environment, start_new_session=True, **popen)

    @property
    def pid(self) -> int:
        return self.process.pid

    # --- asking -----------------------------------------------------------------------------------------------------

    def fetch(self, path: str = "/", **request) -> Answer:
        return fetch(self.address, path, **request)

    def answers(self, path: str = "/") -> Optional[Answer]:
        """None where there is no answer yet: nobody listens, or nobody serves."""
        try:
            return self.fetch(path, timeout=5)
        except (OSError, http.client.HTTPException):
            return None

    def client(self, *arguments: str, timeout: float = PATIENCE) -> subprocess.CompletedProcess:
        return subprocess.run([BINARY, arguments[0], "--control", self.control, *arguments[1:]], capture_output=True,
                              text=True, timeout=timeout, env=self.environment)

    def status(self) -> dict:
        """Empty while nobody answers on the control socket. Asked for without `moult status`: a process a look, a
        hundred times a second, would be most of what the machine does."""
        try:
            with socket.socket(socket.AF_UNIX) as client:
                client.settimeout(5)
                client.connect(self.control)
                client.sendall(b'{"protocol":1,"command":"status"}\n')
                with client.makefile("rb") as answers:
                    line = answers.readline()
            return json.loads(line)["result"] if line else {}
        except OSError:
            return {}

    def workers(self, state: str = "serving") -> List[dict]:
        return [worker for worker in self.status().get("workers", []) if worker["state"] == state]

    def worker_pids(self) -> List[int]:
        return sorted(worker["pid"] for worker in self.workers())

    def log(self) -> str:
        return self.out.read_text(errors="replace") + self.err.read_text(errors="replace")

    def fork_servers(self) -> List[int]:
        """Children of the master that are nobody's worker, by what the worker list does not have."""
        workers = {worker["pid"] for worker in self.status().get("workers", [])}
        ours = alive(self.environment["E2E_MARK"])
        return [pid for pid in ours if parent_of(pid) == self.pid and pid not in workers]

    # --- waiting ----------------------------------------------------------------------------------------------------

    def wait_for(self, condition: Callable[[], object], what: str, deadline: float = PATIENCE) -> object:
        try:
            return wait_until(lambda: condition() or self.ended_early(what), what, deadline)
        except AssertionError as failure:
            raise AssertionError(f"{failure}\n--- what moult said:\n{self.log()[-4000:]}") from None

    def ended_early(self, what: str) -> None:
        code = self.process.poll()
        assert code is None, f"moult exited with {code} before {what}"

    def wait_serving(self, count: int = 1, deadline: float = PATIENCE) -> List[int]:
        """The pids of exactly that many serving workers, none of them on its way in or out."""
        def settled():
            workers = self.status().get("workers", [])
            serving = sorted(worker["pid"] for worker in workers if worker["state"] == "serving")
            return serving if len(serving) == len(workers) == count else None
        return self.wait_for(settled, f"{count} workers serve", deadline)

    def wait_log(self, text: str, deadline: float = PATIENCE) -> None:
        self.wait_for(lambda: text in self.log(), f"{text!r} in the log", deadline)

    def wait_exit(self, deadline: float = PATIENCE) -> int:
        try:
            return self.process.wait(deadline)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"moult did not exit in {deadline:g} s\n{self.log()[-4000:]}") from None

    # --- acting -----------------------------------------------------------------------------------------------------

    def signal(self, number: int) -> None:
        os.kill(self.pid, number)

    def stop(self, number: int = SIGTERM, deadline: float = PATIENCE) -> int:
        if self.process.poll() is None:
            self.signal(number)
        return self.wait_exit(deadline)


def start_request(address: Address, path: str) -> http.client.HTTPConnection:
    """A request on its way: read the answer with .getresponse() when it suits the test."""
    client = connection(address)
    client.request("GET", path)
    return client
