"""One moult whose recycler is looked at: its events, its workers' weight, the memory cgroup that it may be put into."""
import os
import signal
import subprocess
import threading
import time
import uuid
from pathlib import Path
from typing import Callable, Dict, List, Optional

import pytest

from events import Events
from harness import Moult, wait_until
from processes import exists, pids, stat_fields

MEGABYTE = 1_000_000
PAGE = os.sysconf("SC_PAGE_SIZE")

# The bucket, the cooldown and the pressure of this machine are out of the way: a test puts back what it is about.
UNHURRIED = ["--recycle-rate", "off", "--cooldown", "0", "--urgent-cooldown", "0", "--min-headroom", "off",
             "--sample-far", "100ms", "--sample-near", "20ms"]
# What Python weighs differs from machine to machine by less than this leaves.
LIMIT = ["--memory-limit", "120MB", "--limit-jitter", "0%", "--limit-spread", "1MB", "--min-runway", "10MB"]
OVER_LIMIT, OVER_HARD_LIMIT = 110, 140  # MB to grow by: over 120 MB and under 156 MB; over 156 MB

RECYCLED_FIELDS = set(
    "event at instance slot pid generation reason urgency rss_bytes limit_bytes hard_limit_bytes boot_rss_bytes "
    "headroom_bytes margin_bytes freed_bytes requests lifetime_seconds gap_seconds fleet_gap_seconds cooldown_seconds "
    "over_limit_seconds over_hard_seconds holds lease_wait_seconds fencing_token gated replace handed_over "
    "drain_outcome drain_seconds".split())
HOLD_FIELDS = {"event", "at", "instance", "slot", "pid", "generation", "reason", "until"}


def rss_bytes(pid: int) -> int:
    try:
        with open(f"/proc/{pid}/statm") as file:
            return int(file.read().split()[1]) * PAGE
    except (OSError, IndexError):
        return 0


def private_bytes(pid: int) -> int:
    with open(f"/proc/{pid}/smaps_rollup") as file:
        return sum(int(line.split()[1]) * 1024 for line in file if line.startswith(("Private_Clean", "Private_Dirty")))


class Run:
    def __init__(self, start: Callable[..., Moult], scratch: Path, *flags: str, env: Dict[str, str] = {},
                 app: str = "leaky:app", settings: List[str] = UNHURRIED, **more) -> None:
        self.events = Events(scratch / f"{more.get('name', 'moult')}.jsonl")
        self.grow_file = scratch / "grow"
        self.fail_file = scratch / "fail"
        given = {"GROW_FILE": str(self.grow_file), "FAIL_FILE": str(self.fail_file), **env}
        self.moult = start(*self.events.flags, *settings, *flags, app, env=given, **more)

    def serve(self, count: int = 1) -> List[int]:
        return self.moult.wait_serving(count)

    def pid_of(self, slot: int) -> int:
        return next(worker["pid"] for worker in self.moult.workers() if worker["slot"] == slot)

    def grow(self, pid: int, megabytes: int) -> None:
        """Returns when it has grown, or is gone already because of it."""
        before = rss_bytes(pid)
        self.grow_file.write_text(str(megabytes))
        os.kill(pid, signal.SIGUSR2)
        wait_until(lambda: not 0 < rss_bytes(pid) < before + megabytes * MEGABYTE * 9 // 10, f"{pid} has grown")

    def wait_events(self, name: str, count: int = 1, deadline: float = 60, **fields) -> List[dict]:
        """The first `count` events of that name with these fields."""
        def seen() -> Optional[List[dict]]:
            found = [event for event in self.events.all(name) if fields.items() <= event.items()]
            return found if len(found) >= count else None
        what = f"{count} x {name} {fields}"
        try:
            return self.moult.wait_for(seen, what, deadline)[:count]
        except AssertionError as failure:
            last = "\n".join(map(str, self.events.all()[-20:]))
            raise AssertionError(f"{failure}\n--- events:\n{last}") from None

    def recycled(self, count: int = 1) -> List[dict]:
        """All recycles so far: exactly that many."""
        self.wait_events("worker_recycled", count)
        lines = self.events.all("worker_recycled")
        assert len(lines) == count, lines
        for line in lines:
            assert RECYCLED_FIELDS <= set(line), RECYCLED_FIELDS - set(line)
        return lines

    def the_recycle(self) -> dict:
        return self.recycled(1)[0]

    def held(self, reason: str) -> List[dict]:
        """[started, ended] of the first hold for this reason: both about the same worker."""
        started = self.wait_events("hold_started", reason=reason)[0]
        assert HOLD_FIELDS <= set(started), HOLD_FIELDS - set(started)
        ended = self.wait_events("hold_ended", reason=reason, pid=started["pid"])[0]
        assert [ended[key] for key in ("slot", "generation")] == [started[key] for key in ("slot", "generation")]
        assert ended["held_seconds"] >= 0
        return [started, ended]


class MemoryCgroup:
    """A memory cgroup of our own, v1 or v2, near the one that we are in. OSError: it cannot be had here."""

    def __init__(self, name: str, limit_bytes: int) -> None:
        own = {controller: path for controller, path in
               (line.rstrip("\n").split(":", 2)[1:] for line in open("/proc/self/cgroup"))}
        self.v1 = "memory" in own and os.path.isdir("/sys/fs/cgroup/memory")
        parent = Path("/sys/fs/cgroup/memory" + own["memory"]) if self.v1 else self.v2_parent(own.get("", "/"))
        self.path = parent / name
        self.path.mkdir()
        limit = self.path / ("memory.limit_in_bytes" if self.v1 else "memory.max")
        try:
            limit.write_text(str(limit_bytes))
        except OSError:
            self.path.rmdir()
            raise
        self.limit_bytes = int(limit.read_text())  # whole pages

    @staticmethod
    def v2_parent(own: str) -> Path:
        """The nearest cgroup that hands memory down: one with processes of its own, as ours, may not."""
        folder = Path("/sys/fs/cgroup" + own)
        while folder != Path("/sys/fs/cgroup"):
            if "memory" in (folder / "cgroup.subtree_control").read_text().split():
                return folder
            folder = folder.parent
        (folder / "cgroup.subtree_control").write_text("+memory")
        return folder

    def usage(self) -> int:
        return int((self.path / ("memory.usage_in_bytes" if self.v1 else "memory.current")).read_text())

    def oom_kills(self) -> int:
        text = (self.path / ("memory.oom_control" if self.v1 else "memory.events")).read_text()
        return sum(int(line.split()[1]) for line in text.splitlines() if line.startswith("oom_kill "))

    def inside(self) -> List[str]:
        """Put before a command: it runs in here."""
        return ["sh", "-c", 'echo $$ > "$0/cgroup.procs" && exec "$@"', str(self.path)]

    def remove(self) -> None:
        def gone() -> bool:
            try:
                self.path.rmdir()
            except OSError:  # the kernel still takes somebody out
                return False
            return True
        wait_until(gone, f"{self.path} is empty", 10)


@pytest.fixture
def memory_cgroup(request):
    """memory_cgroup(400): of so many MB; emptied and removed when the test ends."""
    made = []

    def make(megabytes: int) -> MemoryCgroup:
        try:
            made.append(MemoryCgroup("moult-" + uuid.uuid4().hex[:8], megabytes * MEGABYTE))
        except OSError as error:
            pytest.skip(f"no memory cgroup can be made here: {error}")
        return made[-1]
    yield make
    for moult in request.node.started:
        moult.stop(deadline=40)
    for cgroup in made:
        cgroup.remove()


class Onlooker:
    """Knows nothing of moult but its pid: which children it has, by /proc. The fork server is one of them."""

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self.came: List[int] = []
        self.here: List[int] = []
        self.ending = threading.Event()
        self.thread = threading.Thread(target=self.watch, daemon=True)
        self.thread.start()

    def look(self) -> None:
        self.here = [pid for pid in pids() if stat_fields(pid)[1:2] == [str(self.pid)] and exists(pid)]
        self.came += [pid for pid in self.here if pid not in self.came]

    def watch(self) -> None:
        while not self.ending.wait(0.02):
            self.look()

    def wait_seen(self, pids: List[int]) -> None:
        """Before somebody ends them: on a busy machine it may not have looked since they came."""
        wait_until(lambda: set(pids) <= set(self.came), f"the onlooker has seen {pids}")

    def end(self) -> None:
        self.ending.set()
        self.thread.join()
        self.look()

    @property
    def gone(self) -> List[int]:
        return [pid for pid in self.came if pid not in self.here]


class Neighbour:
    """A process that is none of moult's and takes memory: `take(n)` returns when it has n MB more."""
    PROGRAM = ("import os, sys\nkept = []\n"
               "for line in sys.stdin:\n    kept.append(os.urandom(int(line) * 1000000))\n    print(flush=True)\n")

    def __init__(self, cgroup: MemoryCgroup) -> None:
        self.process = subprocess.Popen([*cgroup.inside(), "/usr/bin/python3", "-c", self.PROGRAM],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def take(self, megabytes: int) -> None:
        self.process.stdin.write(f"{megabytes}\n")
        self.process.stdin.flush()
        assert self.process.stdout.readline(), "the neighbour is gone"

    def end(self) -> None:
        self.process.kill()
        self.process.wait()
        self.process.stdin.close()
        self.process.stdout.close()


def seconds_between(earlier: dict, later: dict) -> float:
    """By the `at` of two events of the same day."""
    def second(event: dict) -> float:
        hours, minutes, rest = event["at"].split("T")[1].rstrip("Z").split(":")
        return int(hours) * 3600 + int(minutes) * 60 + float(rest)
    return (second(later) - second(earlier)) % 86400


def paced(ask: Callable[[], object], per_second: float, end: Callable[[], object]) -> None:
    while not end():
        ask()
        time.sleep(1 / per_second)
