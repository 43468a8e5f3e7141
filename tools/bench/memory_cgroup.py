"""moult in a memory cgroup of 2 GiB that really ends: does it stay out of the OOM killer's way?

    python3 -m tools.bench.memory_cgroup MOULT [--seconds S] [--situations NAME ...] [--limits auto none]

Needs root, and a memory controller (cgroup v1 or v2) below this process's own cgroup.

    leaks      three workers, and whoever takes their place, leak 50 MB/s each, under load
    neighbour  they leak nothing; another process fills the cgroup, and takes what anybody frees
    copies     the same, and each worker writes to what it shares (as Python does when it only reads), so that it has
               150 MB of its own after some requests; its successor soon has so, too

each with --memory-limit auto, and with no limit but that of the cgroup (pressure alone).
Each figure is printed with its bound. Nothing here passes or fails.
"""

import argparse
import collections
import contextlib
import os
import subprocess
import sys
import threading
import time
from pathlib import Path

from tools.bench.leaks import WORKERS, Clients, Moult, until

LIMIT_BYTES = 2 << 30
LEAK_BYTES_PER_SECOND = 50_000_000
NEIGHBOUR_LEAVES_BYTES = 150_000_000  # less than the 10 % of --min-headroom
NEIGHBOUR_STEP_BYTES = 5_000_000
LOOK_SECONDS = 0.05


def own_cgroups() -> "list[tuple[int, Path]]":
    """(version, folder) of each cgroup of this process that may have a memory controller."""
    paths = {fields[1]: fields[2] for fields in (line.split(":", 2) for line in
                                                 Path("/proc/self/cgroup").read_text().splitlines())}
    found = []
    for line in Path("/proc/self/mountinfo").read_text().splitlines():
        before, _, after = line.partition(" - ")
        root, point = before.split()[3:5]
        kind, _, options = after.split()[:3]
        version = 1 if kind == "cgroup" and "memory" in options.split(",") else 2 if kind == "cgroup2" else 0
        path = paths.get("memory" if version == 1 else "", "/")
        if version:
            found.append((version, Path(point) / os.path.relpath(path, root)))
    return sorted(found)


class Cgroup:
    """A child of the own cgroup, with a limit; removed at the end."""

    def __init__(self, limit_bytes: int) -> None:
        for self.version, parent in own_cgroups():
            self.folder = parent / f"moult-bench-{os.getpid()}"
            self.folder.mkdir()
            if self.file("memory.limit_in_bytes", "memory.max").exists():
                self.file("memory.limit_in_bytes", "memory.max").write_text(str(limit_bytes))
                self.limit_bytes = limit_bytes
                return
            self.folder.rmdir()
        raise SystemExit("no cgroup with a memory controller can be made below the own one")

    def file(self, v1: str, v2: str) -> Path:
        return self.folder / (v1 if self.version == 1 else v2)

    def field(self, path: Path, key: str) -> int:
        return next((int(line.split()[1]) for line in path.read_text().splitlines() if line.split()[0] == key), 0)

    def headroom_bytes(self) -> int:
        """What is left beside the working set: page cache that nobody uses does not count."""
        used = int(self.file("memory.usage_in_bytes", "memory.current").read_text())
        inactive = self.field(self.folder / "memory.stat", "total_inactive_file" if self.version == 1 else
                              "inactive_file")
        return self.limit_bytes - used + inactive

    def oom_kills(self) -> int:
        return self.field(self.file("memory.oom_control", "memory.events"), "oom_kill")

    def enter(self) -> "tuple[str, ...]":
        """What to put before a command so that it runs in here."""
        return ("sh", "-c", 'echo $$ > "$0" && exec "$@"', str(self.folder / "cgroup.procs"))

    def __enter__(self) -> "Cgroup":
        return self

    def __exit__(self, *_: object) -> None:
        def removed() -> bool:
            with contextlib.suppress(OSError):
                self.folder.rmdir()
            return not self.folder.exists()
        until(removed, f"nobody is in {self.folder}", 30)


class Lowest:
    """Looks at the headroom all the time."""

    def __init__(self, cgroup: Cgroup) -> None:
        self.cgroup, self.bytes, self.ending = cgroup, cgroup.limit_bytes, threading.Event()
        self.thread = threading.Thread(target=self.run, daemon=True)

    def run(self) -> None:
        while not self.ending.wait(LOOK_SECONDS):
            self.bytes = min(self.bytes, self.cgroup.headroom_bytes())

    def __enter__(self) -> "Lowest":
        self.thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.ending.set()
        self.thread.join(10)


def fill(folder: str, version: str) -> None:
    """The neighbour: takes all but a little, and what becomes free later; it gives way before memory runs out."""
    cgroup = Cgroup.__new__(Cgroup)
    cgroup.folder, cgroup.version, cgroup.limit_bytes = Path(folder), int(version), LIMIT_BYTES
    kept = []
    while True:
        free = cgroup.headroom_bytes() - NEIGHBOUR_LEAVES_BYTES
        if free >= NEIGHBOUR_STEP_BYTES:
            kept.append(bytearray(b"x") * NEIGHBOUR_STEP_BYTES)
        for _ in range(min(-free // NEIGHBOUR_STEP_BYTES, len(kept))):
            kept.pop()
        time.sleep(0.01)


@contextlib.contextmanager
def neighbour(cgroup: Cgroup):
    code = f"from tools.bench.memory_cgroup import fill; fill({str(cgroup.folder)!r}, {cgroup.version})"
    process = subprocess.Popen([*cgroup.enter(), sys.executable, "-c", code])
    try:
        yield
        if process.poll() is not None:
            print(f"  THE NEIGHBOUR ENDED: {process.returncode}")
    finally:
        process.kill()
        process.wait()


def counts(events: "list[dict]", *keys: str) -> str:
    counted = collections.Counter(" ".join(str(each[key]) for key in keys) for each in events)
    return ", ".join(f"{key} {count}" for key, count in sorted(counted.items())) or "none"


def report(server: Moult, cgroup: Cgroup, clients: Clients, lowest: Lowest, before: int) -> None:
    recycled = server.events("worker_recycled")
    exits = server.events("worker_exited")
    print(f"  OOM kills {cgroup.oom_kills() - before} (bound 0), of workers by moult's events "
          f"{sum(bool(each.get('oom_killed')) for each in exits)}; lowest headroom {lowest.bytes / 1e6:.0f} MB of "
          f"{cgroup.limit_bytes / 1e6:.0f} MB")
    print(f"  recycles: {counts(recycled, 'reason', 'replace', 'drain_outcome')}; ungated "
          f"{sum(not each['gated'] for each in recycled)}; most over a hard limit "
          f"{max((each['over_hard_seconds'] or 0 for each in recycled), default=0):.2f} s, longest drain "
          f"{max((each['drain_seconds'] for each in recycled), default=0):.2f} s")
    print(f"  holds: {counts(server.events('hold_started'), 'reason')}; futile: "
          f"{len(server.events('pressure_futile'))}")
    print(f"  {clients.answers} requests, {len(clients.failures)} failed (bound 0) "
          f"{dict(collections.Counter(clients.failures)) or ''}; exits {len(exits)}; load {os.getloadavg()[0]:.2f}\n",
          flush=True)


def one_run(options: argparse.Namespace, situation: str, limit: str) -> None:
    flags = ["-w", str(WORKERS), "--python", options.python, *options.flags]
    flags += ["--memory-limit", limit] if limit != "none" else []
    env = {"leaks": {"BENCH_LEAK_AT_START": str(LEAK_BYTES_PER_SECOND)}, "neighbour": {"BENCH_TOUCHED_A_REQUEST": "0"},
           "copies": {}}[situation]
    with Cgroup(LIMIT_BYTES) as cgroup:
        print(f"{situation}, --memory-limit {limit}, {options.seconds:g} s, cgroup v{cgroup.version}: load "
              f"{os.getloadavg()[0]:.2f}", flush=True)
        before = cgroup.oom_kills()
        with Moult(options.moult, "leak_app:app", *flags, before=cgroup.enter(), **env) as server:
            with Lowest(cgroup) as lowest, Clients(server.port) as clients:
                with neighbour(cgroup) if situation != "leaks" else contextlib.nullcontext():
                    time.sleep(options.seconds)
                    holds = [each["reason"] for each in server.events("hold_started")]
            if situation != "leaks":
                recycles = len(server.events("worker_recycled"))
                print(f"  {recycles} recycles (bound 2), the last hold: {holds[-1] if holds else 'none'} "
                      "(to be nothing_to_free, or pressure_futile after 2)")
            report(server, cgroup, clients, lowest, before)
            if options.log:
                print(server.said())


def main() -> None:
    parser = argparse.ArgumentParser(prog="tools.bench.memory_cgroup", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("moult")
    parser.add_argument("--seconds", type=float, default=60)
    situations = ["leaks", "neighbour", "copies"]
    parser.add_argument("--situations", nargs="+", default=situations, choices=situations)
    parser.add_argument("--limits", nargs="+", default=["auto", "none"], help="for --memory-limit")
    parser.add_argument("--flag", dest="flags", action="append", default=[],
                        help="one more flag for moult: --flag=--recycle-rate=off")
    parser.add_argument("--python", default="/usr/bin/python3")
    parser.add_argument("--log", action="store_true", help="print moult's log after each run")
    options = parser.parse_args()
    print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.2f}\n")
    for situation in options.situations:
        for limit in options.limits:
            one_run(options, situation, limit)


if __name__ == "__main__":
    main()
