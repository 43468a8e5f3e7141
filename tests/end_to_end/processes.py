"""Who is still there: every process that a test started carries the test's mark in its environment, whatever became of
its parents."""
import os
import signal
from typing import List, Optional


def _read(pid: int, name: str) -> bytes:
    try:
        with open(f"/proc/{pid}/{name}", "rb") as file:
            return file.read()
    except OSError:
        return b""  # gone, or not ours


def pids() -> List[int]:
    return [int(name) for name in os.listdir("/proc") if name.isdigit()]


def stat_fields(pid: int) -> List[str]:
    """The fields of /proc/PID/stat after the name: [0] is the state, [1] the parent."""
    return _read(pid, "stat").decode(errors="replace").rpartition(")")[2].split()


def parent_of(pid: int) -> Optional[int]:
    fields = stat_fields(pid)
    return int(fields[1]) if fields else None


def exists(pid: int) -> bool:
    """Runs still; a zombie does not."""
    return stat_fields(pid)[:1] not in ([], ["Z"], ["X"])


def alive(mark: str) -> List[int]:
    """Processes whose environment has E2E_MARK=mark. A zombie's environment is empty: it is not among them."""
    wanted = f"E2E_MARK={mark}".encode()
    return [pid for pid in pids() if wanted in _read(pid, "environ").split(b"\0")]


def zombies(parent: int) -> List[int]:
    return [pid for pid in pids() if stat_fields(pid)[:2] == ["Z", str(parent)]]


def describe(pid: int) -> str:
    return f"{pid} " + _read(pid, "cmdline").replace(b"\0", b" ").decode(errors="replace").strip()


def kill(all_of: List[int]) -> None:
    for pid in all_of:
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass


def cpu_seconds(pid: int) -> float:
    fields = stat_fields(pid)
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK") if fields else 0.0
