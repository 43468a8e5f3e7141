"""Servers under measurement: started in a session of their own, watched through /proc, ended by pid."""

import contextlib
import http.client
import json
import os
import signal
import socket
import subprocess
import tempfile
import time
from pathlib import Path


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def listens(unix_path: str) -> bool:
    """The path of a server is there a moment before it listens."""
    with socket.socket(socket.AF_UNIX) as client:
        return client.connect_ex(unix_path) == 0


def stat(pid: int) -> "list[str] | None":
    """The fields of /proc/PID/stat after the name, or None when the process is gone."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None


def cpu_seconds(pids: "list[int]") -> float:
    """Time that all threads of these processes ran, to the nanosecond (the ticks of /proc/PID/stat are 10 ms)."""
    total = 0
    for pid in pids:
        for task in Path(f"/proc/{pid}/task").glob("*/schedstat"):
            with contextlib.suppress(OSError):
                total += int(task.read_text().split()[0])
    return total / 1e9


def tree_cpu_seconds(pids: "list[int]") -> float:
    """Of these processes and of their children that have ended, in the kernel's ticks. Of a whole tree it misses
    nothing: whoever ended was waited for by somebody in it."""
    fields = [found for found in map(stat, pids) if found]
    return sum(int(field) for found in fields for field in found[11:15]) / os.sysconf("SC_CLK_TCK")


def memory_bytes(pid: int, *keys: str) -> int:
    """The sum of these lines of smaps_rollup."""
    total = 0
    for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
        key, _, value = line.partition(":")
        if key in keys:
            total += int(value.split()[0]) * 1024
    return total


def unique_bytes(pid: int) -> int:
    return memory_bytes(pid, "Private_Clean", "Private_Dirty")


class Server:
    """One server and all its processes, ready to answer on 127.0.0.1:port when entered."""

    def __init__(self, command: "list[str]", port: int, cwd: Path, env: "dict[str, str]") -> None:
        self.command, self.port, self.cwd, self.env = command, port, cwd, {**os.environ, **env}

    def __enter__(self) -> "Server":
        self.words = tempfile.TemporaryFile()  # a file: nobody has to read it
        self.process = subprocess.Popen(
            self.command, cwd=self.cwd, env=self.env, start_new_session=True, stdout=subprocess.DEVNULL,
            stderr=self.words)
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            if self.process.poll() is not None:
                break
            with contextlib.suppress(OSError, http.client.HTTPException):
                self.get("/")
                return self
            time.sleep(0.02)
        words = self.said()
        self.__exit__()
        raise SystemExit(f"{' '.join(self.command)} did not answer:\n{words}")

    def said(self) -> str:
        """What it wrote to stderr so far."""
        return os.pread(self.words.fileno(), os.fstat(self.words.fileno()).st_size, 0).decode(errors="replace")

    def __exit__(self, *_: object) -> None:
        pids = self.pids()
        self.process.send_signal(signal.SIGTERM)
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(15)
        for pid in pids:  # only what this server was seen to own
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self.process.wait(5)
        self.words.close()

    def get(self, path: str, timeout: float = 60) -> bytes:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=timeout)
        try:
            connection.request("GET", path)
            return connection.getresponse().read()
        finally:
            connection.close()

    def get_json(self, path: str) -> dict:
        return json.loads(self.get(path))

    def pids(self) -> "list[int]":
        """The server's first process and all its descendants."""
        parents = {}
        for entry in Path("/proc").iterdir():
            if entry.name.isdigit():
                fields = stat(int(entry.name))
                if fields:
                    parents[int(entry.name)] = int(fields[1])
        family = [self.process.pid]
        for pid in family:
            family.extend(child for child, parent in parents.items() if parent == pid)
        return family
