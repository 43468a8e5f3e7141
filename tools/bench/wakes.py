"""How soon a sleeping app answers, and what it costs while it sleeps: FastAPI with a heap of 150 MB.

    python3 -m tools.bench.wakes MOULT [wake] [memory] [--rounds N] [--python PATH]

    wake    connect to the first byte of the first answer, by turns: --warmth spare, fork-server and nothing, and what
            systemd has for it, systemd-socket-activate with uvicorn
    memory  PSS of the whole tree asleep for each warmth, against the same tree awake

The app has answered some requests before it sleeps. Nothing here passes or fails; the bounds are printed.
"""
import argparse
import os
import shutil
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Dict, List

from tools.bench.callers import call_once
from tools.bench.leaks import HERE, Moult, until
from tools.bench.processes import Server, free_port, memory_bytes

HEAP = {"BENCH_HEAP_BYTES": str(150_000_000)}
WARMTHS = ("spare", "fork-server", "nothing")
COLD = "systemd-socket-activate + uvicorn"
SPARE_BOUND_MILLISECONDS, SPARE_BOUND_RATIO = 15, 0.05
PATIENCE_SECONDS = 60
CALM_SECONDS = 0.5  # after a sleep has begun, for what goes on then


class Sleeper(Moult):
    def __init__(self, options: argparse.Namespace, warmth: str) -> None:
        super().__init__(options.moult, "apps:app", "--chdir", str(HERE), "--python", options.python, "-w", "1",
                         "--warmth", warmth, **HEAP)
        self.warmth = warmth

    def serve_some(self) -> None:
        """As any app has that sleeps: its worker has been used, and moult knows what a first request writes to."""
        for _ in range(10):
            self.get("/")
        time.sleep(2)  # a heartbeat

    def sleep(self) -> None:
        self.ask_master("sleep")
        kept = ["spare"] if self.warmth == "spare" else []

        def settled() -> bool:
            status = self.status()
            return status["idle"]["state"] == "asleep" and [each["state"] for each in status["workers"]] == kept
        until(settled, f"it sleeps, with {kept or 'nobody'} kept", PATIENCE_SECONDS)
        time.sleep(CALM_SECONDS)

    def wake_seconds(self) -> float:
        self.sleep()
        return first_byte_seconds(self.port)


def first_byte_seconds(port: int) -> float:
    heard = call_once(port)
    if not heard.fine:
        raise SystemExit(f"the caller who should wake it was not answered: {heard}")
    return heard.seconds


def activate() -> str:
    found = shutil.which("systemd-socket-activate")
    if not found:
        raise SystemExit("there is no systemd-socket-activate here: it comes with the package systemd")
    return found


class Activated(Server):
    """systemd-socket-activate listens; the first connection has it become uvicorn."""

    def __init__(self, options: argparse.Namespace) -> None:
        port = free_port()
        given = [word for name in ("PATH", "HOME", *HEAP) for word in ("-E", name)]
        super().__init__([activate(), "-l", f"127.0.0.1:{port}", *given, options.python, "-m", "uvicorn", "--fd", "3",
                          "apps:app", "--no-access-log"], port, HERE, HEAP)

    def __enter__(self) -> "Activated":
        """Without a request, which would start it."""
        self.words = open(os.devnull, "wb")
        self.process = subprocess.Popen(self.command, cwd=self.cwd, env=self.env, start_new_session=True,
                                        stdout=subprocess.DEVNULL, stderr=self.words)
        listens = f"0100007F:{self.port:04X} 00000000:0000 0A"
        until(lambda: listens in Path("/proc/net/tcp").read_text(), "systemd-socket-activate listens", PATIENCE_SECONDS)
        return self


def cold_seconds(options: argparse.Namespace) -> float:
    with Activated(options) as server:
        time.sleep(CALM_SECONDS)
        return first_byte_seconds(server.port)


def wake(options: argparse.Namespace) -> None:
    print("connect to first byte of an app that sleeps; 150 MB heap")
    took: Dict[str, List[float]] = {name: [] for name in (*WARMTHS, COLD)}
    servers = {warmth: Sleeper(options, warmth) for warmth in WARMTHS}
    try:
        for server in servers.values():
            server.__enter__()
            server.serve_some()
        for number in range(options.rounds):
            for warmth, server in servers.items():
                took[warmth].append(server.wake_seconds() * 1000)
            took[COLD].append(cold_seconds(options) * 1000)
            print(f"  round {number + 1:2}: " + ", ".join(f"{name} {each[-1]:.1f}" for name, each in took.items()) +
                  f" ms; load {os.getloadavg()[0]:.2f}", flush=True)
    finally:
        for server in servers.values():
            if hasattr(server, "process"):
                server.__exit__()
    cold = statistics.median(took[COLD])
    for name, each in took.items():
        print(f"  {name}: median {statistics.median(each):.1f} ms, from {min(each):.1f} to {max(each):.1f}; "
              f"{statistics.median(each) / cold:.3f} of {COLD}", flush=True)
    print(f"  bounds of a spare: a median of {SPARE_BOUND_MILLISECONDS} ms, and {SPARE_BOUND_RATIO} of {COLD}\n")


def tree_bytes(server: Server) -> int:
    return sum(memory_bytes(pid, "Pss") for pid in server.pids())


def memory(options: argparse.Namespace) -> None:
    print("PSS of the whole tree, one worker")
    for warmth in WARMTHS:
        with Sleeper(options, warmth) as server:
            server.serve_some()
            awake = tree_bytes(server)
            server.sleep()
            asleep = tree_bytes(server)
        print(f"  {warmth}: awake {awake / 1e6:.1f} MB, asleep {asleep / 1e6:.1f} MB ({asleep / awake:.3f})",
              flush=True)


def main() -> None:
    parts = {"wake": wake, "memory": memory}
    parser = argparse.ArgumentParser(prog="tools.bench.wakes", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("moult")
    parser.add_argument("what", nargs="*", metavar="|".join(parts), default=list(parts))
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--python", default="/usr/bin/python3")
    options = parser.parse_args()
    if unknown := set(options.what) - set(parts):
        parser.error(f"there is no {', '.join(sorted(unknown))}")
    print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.2f}, {sys.platform}, python {options.python}\n",
          flush=True)
    for name in options.what:
        parts[name](options)


if __name__ == "__main__":
    main()
