"""A real leak under load, watched from outside: how far over its hard limit does a worker get before it is gone?

    python3 -m tools.bench.leaks MOULT [--flat SECONDS] [--rates MB/S ...] [--situations NAME ...]

Three preloaded FastAPI workers of 150 MB, a start-up hook of 1 s, requests of up to 100 ms on fresh connections, and
no setting but --memory-limit. After a flat phase, at a random moment, one worker leaks until its process is gone:

    alone     nothing else happens: it passes its limit first, and its hard limit if it is fast
    begun     the routine replacement of another worker has just begun; the leak is just below the hard limit
    draining  that other worker drains, held by a slow request; the leak is just below the hard limit

Each figure is printed with its bound. Nothing here passes or fails.
"""

import argparse
import contextlib
import http.client
import json
import os
import random
import socket
import tempfile
import threading
import time
from pathlib import Path

from tools.bench.processes import Server, free_port, unique_bytes

HERE = Path(__file__).resolve().parent
WORKERS = 3
MEGABYTE = 1_000_000
BOUND_SECONDS = 1.5  # what may leak between the hard limit and the end, in time
LOOK_SECONDS = 0.01
SLOW_REQUEST_SECONDS = 25  # less than the 30 s of --graceful-timeout
PAGE = os.sysconf("SC_PAGE_SIZE")


def ask(port: int, path: str) -> "tuple[int, bytes]":
    """One request on a connection of its own."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    try:
        connection.request("GET", path, headers={"Connection": "close"})
        answer = connection.getresponse()
        return answer.status, answer.read()
    finally:
        connection.close()


def until(condition, what: str, seconds: float):
    deadline = time.monotonic() + seconds
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > deadline:
            raise SystemExit(f"waited {seconds:g} s in vain: {what}")
        time.sleep(0.02)


class Moult(Server):
    """One `moult run` of an app of this folder, with its events, its log and its status; `before` runs the command."""

    def __init__(self, binary: str, app: str, *flags: str, before: "tuple[str, ...]" = (), **env: str) -> None:
        self.folder = tempfile.TemporaryDirectory(prefix="moult-bench-")
        folder = Path(self.folder.name)
        self.control, self.events_file = folder / "control", folder / "events"
        port = free_port()
        super().__init__([*before, str(Path(binary).resolve()), "run", app, "-b", f"127.0.0.1:{port}", "--control",
                          str(self.control), "--events", str(self.events_file), *flags], port, HERE, env)

    def __exit__(self, *_: object) -> None:
        super().__exit__()
        self.folder.cleanup()

    def events(self, name: str) -> "list[dict]":
        lines = self.events_file.read_text().split("\n")[:-1]
        return [event for event in map(json.loads, lines) if event["event"] == name]

    def status(self) -> dict:
        return self.ask_master("status")

    def ask_master(self, name: str, **arguments: object) -> dict:
        """Without `moult status` and its like, which would be a process a look."""
        with socket.socket(socket.AF_UNIX) as client:
            client.settimeout(30)
            client.connect(str(self.control))
            client.sendall(json.dumps({"protocol": 1, "command": name, **arguments}).encode() + b"\n")
            with client.makefile("rb") as answers:
                return json.loads(answers.readline())["result"]

    def wait_serving(self, count: int, seconds: float = 60) -> "list[dict]":
        """That many workers serve, and there are no others."""
        def settled():
            workers = self.status()["workers"]
            return len(workers) == count and all(each["state"] == "serving" for each in workers) and workers
        return until(settled, f"{count} workers serve", seconds)


class Clients:
    """Each asks all the time, a connection a request."""

    def __init__(self, port: int, count: int = 4) -> None:
        self.port, self.answers, self.failures, self.ending = port, 0, [], threading.Event()
        self.threads = [threading.Thread(target=self.run, daemon=True) for _ in range(count)]

    def run(self) -> None:
        while not self.ending.is_set():
            if self.try_once("/") == 200:
                self.answers += 1

    def try_once(self, path: str, fine: "tuple[int, ...]" = (200,)) -> int:
        try:
            status, _ = ask(self.port, path)
            if status not in fine:
                self.failures.append(f"status {status}")
            return status
        except (OSError, http.client.HTTPException) as error:
            self.failures.append(repr(error))
            return 0

    def tell(self, path: str) -> None:
        """To one worker, which is named in the path: the others answer 409."""
        until(lambda: self.try_once(path, (200, 409)) == 200, path, 60)

    def hold(self, pid: int, seconds: float) -> threading.Thread:
        """A slow request in that worker: it is under way when this returns."""
        begun = threading.Event()

        def wait() -> None:
            connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=seconds + 60)
            status = 0
            while status != 200:
                connection.request("GET", f"/hold?pid={pid}&seconds={seconds}", headers={"Connection": "close"})
                answer = connection.getresponse()
                status = answer.status
                if status != 200:
                    answer.read()
            answer.readline()
            begun.set()
            if answer.read() != b"done\n":
                self.failures.append("the slow request was cut short")

        def run() -> None:
            try:
                wait()
            except (OSError, http.client.HTTPException) as error:
                self.failures.append(f"the slow request: {error!r}")
        thread = threading.Thread(target=run, daemon=True)
        thread.start()
        until(begun.is_set, "a slow request under way", 60)
        return thread

    def __enter__(self) -> "Clients":
        for thread in self.threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.ending.set()
        for thread in self.threads:
            thread.join(60)


class Watch:
    """RSS of each child of the master, every 10 ms: the most that it was, and when it was seen above a threshold."""

    def __init__(self, master: int, threshold: float) -> None:
        self.master, self.threshold = master, threshold
        self.peak: "dict[int, int]" = {}
        self.crossed: "dict[int, float]" = {}  # first seen above the threshold
        self.seen: "dict[int, float]" = {}  # last seen alive
        self.longest_gap = 0.0
        self.ending = threading.Event()
        self.thread = threading.Thread(target=self.run, daemon=True)

    def children(self) -> "set[int]":
        found = set()
        for path in Path(f"/proc/{self.master}/task").glob("*/children"):
            with contextlib.suppress(OSError):
                found.update(map(int, path.read_text().split()))
        return found

    def look(self, pid: int) -> None:
        try:
            with open(f"/proc/{pid}/statm", "rb", buffering=0) as file:
                rss = int(file.read().split()[1]) * PAGE
        except (OSError, IndexError):
            return
        now = time.monotonic()
        if rss == 0:
            return  # a zombie
        self.seen[pid] = now
        self.peak[pid] = max(self.peak.get(pid, 0), rss)
        if rss > self.threshold:
            self.crossed.setdefault(pid, now)

    def run(self) -> None:
        looked = listed = time.monotonic()
        pids = self.children()
        while not self.ending.is_set():
            now = time.monotonic()
            self.longest_gap = max(self.longest_gap, now - looked)
            looked = now
            if now - listed > 0.2:
                pids, listed = self.children(), now
            for pid in pids:
                self.look(pid)
            time.sleep(max(0.0, looked + LOOK_SECONDS - time.monotonic()))

    def __enter__(self) -> "Watch":
        self.thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.ending.set()
        self.thread.join(10)


def rss_bytes(pid: int) -> int:
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * PAGE


def other_is_replaced(server: Moult, clients: Clients, other: dict, situation: str) -> None:
    """The worker grows past its limit, so that its routine replacement begins; a slow request will hold it."""
    pid = other["pid"]
    clients.hold(pid, SLOW_REQUEST_SECONDS)
    clients.tell(f"/grow?pid={pid}&count={int(other['limit_bytes'] - rss_bytes(pid) + 8 * MEGABYTE)}")
    if situation == "begun":
        return until(lambda: f"(pid {pid}) is replaced" in server.said(), "the routine replacement begins", 60)

    def drains():
        return any(each["pid"] == pid and each["state"] == "retiring" for each in server.status()["workers"])
    return until(drains, "the other worker drains", 60)


def began_to_leak(clients: Clients, server: Moult, leaker: dict, other: dict, rate: float, situation: str) -> None:
    """Where another is replaced, the leaking one is near its own limit by then, to cross the hard limit soon after."""
    pid, jump = leaker["pid"], 0
    if situation != "alone":
        clients.tell(f"/grow?pid={pid}&count={int(leaker['limit_bytes'] - rss_bytes(pid) - 8 * MEGABYTE)}")
        other_is_replaced(server, clients, other, situation)
        below = max(2 * MEGABYTE, rate * random.uniform(0.02, 0.5))
        jump = max(int(leaker["hard_limit_bytes"] - rss_bytes(pid) - below), 0)
    clients.tell(f"/leak?pid={pid}&count={jump}&rate={rate}")


def figures(server: Moult, watch: Watch, clients: Clients, leaker: dict, other: dict, rate: float,
            situation: str) -> "list[str]":
    pid, hard = leaker["pid"], leaker["hard_limit_bytes"]
    over = watch.peak[pid] - hard
    crossed = watch.crossed.get(pid)
    took = f"gone {watch.seen[pid] - crossed:.2f} s after it crossed" if crossed else "it never crossed"
    lines = [f"peak {watch.peak[pid] / 1e6:.1f} MB, hard limit {hard / 1e6:.1f} MB: {max(over, 0) / 1e6:.1f} MB over "
             f"(bound {rate * BOUND_SECONDS / 1e6:.1f} MB: {'within' if over <= rate * BOUND_SECONDS else 'BROKEN'}); "
             f"{took}"]
    expected = {pid} | ({other["pid"]} if situation != "alone" else set())
    recycled = server.events("worker_recycled")
    for each in recycled:
        who = "the leak" if each["pid"] == pid else "the other" if each["pid"] in expected else "A STRANGER"
        lines.append(f"{who}: {each['reason']} at {each['rss_bytes'] / 1e6:.1f} MB, over hard for "
                     f"{each['over_hard_seconds'] or 0:.2f} s when told to go, drained {each['drain_seconds']:.2f} s "
                     f"({each['drain_outcome']}), replace {each['replace']}, gated {each['gated']}, "
                     f"holds {[(h['reason'], round(h['seconds'], 2)) for h in each['holds']]}")
    strangers = [each for each in recycled if each["pid"] not in expected]
    exits = [each for each in server.events("worker_exited") if each["pid"] not in {r["pid"] for r in recycled}]
    lines.append(f"{clients.answers} requests, {len(clients.failures)} failed (bound 0) {clients.failures[:3] or ''}; "
                 f"workers without a leak recycled: {len(strangers)} (bound 0); exits that are no recycles: "
                 f"{len(exits)} (bound 0)")
    return lines


def one_run(options: argparse.Namespace, rate: float, situation: str) -> None:
    print(f"{rate / 1e6:g} MB/s, {situation}: load {os.getloadavg()[0]:.2f}", flush=True)
    flags = ["-w", str(WORKERS), "--python", options.python, "--memory-limit", options.memory_limit,
             *options.flags]
    with Moult(options.moult, "leak_app:app", *flags) as server:
        workers = server.wait_serving(WORKERS)
        leaker, other, bystander = random.sample(workers, WORKERS)
        at_first = unique_bytes(bystander["pid"]), rss_bytes(bystander["pid"])
        with Clients(server.port) as clients, Watch(server.process.pid, leaker["hard_limit_bytes"]) as watch:
            time.sleep(options.flat)
            print(f"  flat for {options.flat:g} s: {len(server.events('worker_recycled'))} recycles (bound 0)")
            time.sleep(random.uniform(0, 5))
            began_to_leak(clients, server, leaker, other, rate, situation)
            until(lambda: any(each["pid"] == leaker["pid"] for each in server.events("worker_exited")),
                  "the leaking worker is gone", 120 + leaker["hard_limit_bytes"] / rate)
            server.wait_serving(WORKERS)
            at_last = unique_bytes(bystander["pid"]), rss_bytes(bystander["pid"])
        for line in figures(server, watch, clients, leaker, other, rate, situation):
            print(f"  {line}")
        print(f"  one that only touched what it shares: private {at_first[0] / 1e6:.0f} -> {at_last[0] / 1e6:.0f} MB, "
              f"RSS {at_first[1] / 1e6:.0f} -> {at_last[1] / 1e6:.0f} MB")
        print(f"  the watch's longest gap {watch.longest_gap * 1000:.0f} ms; load {os.getloadavg()[0]:.2f}\n",
              flush=True)
        if options.log:
            print(server.said())


def main() -> None:
    parser = argparse.ArgumentParser(prog="tools.bench.leaks", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("moult")
    parser.add_argument("--flat", type=float, default=60, help="seconds before the leak")
    parser.add_argument("--rates", type=float, nargs="+", default=[2, 20, 100], help="MB/s")
    parser.add_argument("--situations", nargs="+", default=["alone", "begun", "draining"],
                        choices=["alone", "begun", "draining"])
    parser.add_argument("--memory-limit", default="330MB")
    parser.add_argument("--flag", dest="flags", action="append", default=[],
                        help="one more flag for moult: --flag=--urgent-cooldown=5s")
    parser.add_argument("--python", default="/usr/bin/python3")
    parser.add_argument("--log", action="store_true", help="print moult's log after each run")
    options = parser.parse_args()
    print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.2f}, --memory-limit {options.memory_limit}\n")
    for situation in options.situations:
        for rate in options.rates:
            one_run(options, rate * MEGABYTE, situation)


if __name__ == "__main__":
    main()
