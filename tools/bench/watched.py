"""What it costs the master to be watched: by a scraper, by people in front of the status page, by somebody hostile.

    python3 -m tools.bench.watched MOULT [--workers N] [--native PATH] [--rounds N] [--seconds S] [--hostile N]

Workers are processes of the native example that do nothing, each sampled because of a --memory-limit. In turns, so that
what else the machine does meets both, the master is left alone and is watched by 10 scrapes of /metrics a second and 20
viewers of /events: how much more CPU time does its process take, all threads together? Then it gets many malformed,
oversized and slow requests: does its memory grow? Throughout, tools/bench/loop_watch.cc inside it notes the CPU time of
each turn of its loop. Each figure is printed with its bound. Nothing here passes or fails.
"""

import argparse
import contextlib
import os
import selectors
import socket
import statistics
import struct
import tempfile
import threading
import time
from pathlib import Path

from tools.bench.leaks import Moult, ask
from tools.bench.processes import cpu_seconds, free_port, memory_bytes
from tools.bench.thousand import NATIVE, wait_calm

SCRAPES_PER_SECOND, VIEWERS = 10, 20
CPU_BOUND = 1.0  # % of a core more than alone
TURN_BOUND_MS = 5.0
MEMORY_BOUND_BYTES = 2_000_000
AT_A_TIME = 100  # hostile connections


class Turns:
    """What loop_watch.cc has written since it was reset."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def reset(self) -> None:
        with open(self.path, "r+b") as file:
            file.write(bytes(24))

    def __str__(self) -> str:
        turns, longest, over = struct.unpack("<3q", self.path.read_bytes())
        return (f"{turns} turns of the loop, the longest {longest / 1e6:.2f} ms of CPU time (bound {TURN_BOUND_MS:g}), "
                f"{over} over it")


class Watchers:
    """A scraper and viewers, until they are told to go."""

    def __init__(self, port: int) -> None:
        self.port, self.going = port, threading.Event()
        self.scrapes = self.pictures = 0
        self.threads = [threading.Thread(target=work, daemon=True) for work in (self.scrape, self.view)]

    def __enter__(self) -> "Watchers":
        for thread in self.threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.going.set()
        for thread in self.threads:
            thread.join()

    def scrape(self) -> None:
        while not self.going.wait(1 / SCRAPES_PER_SECOND):
            status, _ = ask(self.port, "/metrics")
            self.scrapes += status == 200

    def view(self) -> None:
        with contextlib.ExitStack() as open_ones, selectors.DefaultSelector() as selector:
            for _ in range(VIEWERS):
                viewer = open_ones.enter_context(socket.create_connection(("127.0.0.1", self.port)))
                viewer.sendall(b"GET /events HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
                selector.register(viewer, selectors.EVENT_READ)
            while not self.going.is_set():
                for key, _ in selector.select(0.2):
                    self.pictures += key.fileobj.recv(1 << 20).count(b"event: status")


def share_of_a_core(pid: int, seconds: float) -> float:
    before, since = cpu_seconds([pid]), time.monotonic()
    time.sleep(seconds)
    return (cpu_seconds([pid]) - before) / (time.monotonic() - since) * 100


def watched(pid: int, port: int, turns: Turns, options: argparse.Namespace) -> None:
    more = []
    turns.reset()
    for _ in range(options.rounds):
        alone = share_of_a_core(pid, options.seconds)
        with Watchers(port) as watchers:
            time.sleep(1)
            seen = share_of_a_core(pid, options.seconds)
            per_second = options.seconds + 1
            print(f"  alone {alone:.3f} %, watched {seen:.3f} % of a core; {watchers.scrapes / per_second:.1f} scrapes "
                  f"and {watchers.pictures / per_second:.1f} pictures a second", flush=True)
        more.append(seen - alone)
    print(f"watched by {SCRAPES_PER_SECOND} scrapes/s and {VIEWERS} viewers: median {statistics.median(more):.3f} % of "
          f"a core more (bound {CPU_BOUND:g}), {options.rounds} rounds; {turns}\n", flush=True)


def hostile_request(number: int) -> bytes:
    return (b"nonsense\r\n\r\n", b"GET / HTTP/1.1\r\nX-Large: " + b"x" * 100_000 + b"\r\n\r\n",
            b"GET /status.json HT")[number % 3]


def attack(port: int, count: int) -> None:
    """Each is sent and stays open until the server has enough of it; so many at a time."""
    numbers, lock = iter(range(count)), threading.Lock()

    def work() -> None:
        while True:
            with lock:
                number = next(numbers, None)
            if number is None:
                return
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=30) as client:
                client.sendall(hostile_request(number))
                while client.recv(65536):
                    pass
    threads = [threading.Thread(target=work, daemon=True) for _ in range(AT_A_TIME)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def hostile(pid: int, port: int, turns: Turns, options: argparse.Namespace) -> None:
    attack(port, options.hostile // 10)  # so that each thread has had its first one
    before = memory_bytes(pid, "Pss")
    turns.reset()
    began = time.monotonic()
    attack(port, options.hostile)
    grown = memory_bytes(pid, "Pss") - before
    status, _ = ask(port, "/livez")
    print(f"{options.hostile} hostile requests in {time.monotonic() - began:.0f} s: memory {before / 1e6:.1f} MB, "
          f"grown by {grown / 1e6:.2f} MB (bound {MEMORY_BOUND_BYTES / 1e6:g}); /livez afterwards {status}; {turns}",
          flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(prog="tools.bench.watched", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("moult")
    parser.add_argument("--workers", type=int, default=3)
    parser.add_argument("--native", default=str(NATIVE))
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--hostile", type=int, default=10_000)
    options = parser.parse_args()
    shim = Path(options.moult).resolve().parent.parent / "bench/loop-watch.so"
    print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.2f}, {options.workers} workers\n")
    with tempfile.TemporaryDirectory(prefix="moult-bench-") as folder:
        turns = Turns(Path(folder) / "turns")
        port = free_port()
        with Moult(options.moult, f"--app=native:{options.native}", "-w", str(options.workers), "--memory-limit", "4GB",
                   "--admin", f"127.0.0.1:{port}", LD_PRELOAD=str(shim), MOULT_LOOP_WATCH=str(turns.path)) as server:
            server.wait_serving(options.workers, 600)
            pid = server.process.pid
            wait_calm(pid)
            watched(pid, port, turns, options)
            hostile(pid, port, turns, options)


if __name__ == "__main__":
    main()
