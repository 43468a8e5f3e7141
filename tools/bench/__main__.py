"""Benchmarks of moult against its peers, as ratios within one run: machines are shared and noisy.

    python3 -m tools.bench MOULT {cost,replace,memory,idle,loops,micro,lease,all} [--pairs N] [--seconds S]
                                 [--python PATH]

Each figure is printed with what it was measured on. Nothing here passes or fails.
"""

import argparse
import collections
import os
import re
import statistics
import subprocess
import sys
import time
from pathlib import Path

from tools.bench.crash_loops import crash_loops
from tools.bench.lease_rate import lease_rate
from tools.bench.processes import Server, cpu_seconds, free_port, memory_bytes, unique_bytes

HERE = Path(__file__).resolve().parent
UVICORN_WORKER = "uvicorn.workers.UvicornWorker"


def moult(options: argparse.Namespace, app: str, *flags: str, **env: str) -> Server:
    port = free_port()
    control = f"/tmp/moult-bench-{os.getpid()}-{port}.sock"
    command = [options.moult, "run", f"apps:{app}", "-b", f"127.0.0.1:{port}", "--python", options.python,
               "--control", control, *flags]
    return Server(command, port, HERE, env)


def uvicorn(options: argparse.Namespace, app: str, *flags: str, **env: str) -> Server:
    port = free_port()
    command = [options.python, "-m", "uvicorn", f"apps:{app}", "--port", str(port), "--no-access-log", *flags]
    return Server(command, port, HERE, env)


def gunicorn(options: argparse.Namespace, app: str, *flags: str, **env: str) -> Server:
    port = free_port()
    command = [options.python, "-m", "gunicorn", f"apps:{app}", "-b", f"127.0.0.1:{port}", "-k",
               options.gunicorn_class, *flags]
    return Server(command, port, HERE, env)


def load(server: Server, path: str, seconds: float) -> int:
    """How many requests were answered in that time by 16 keep-alive connections."""
    done = subprocess.run(["wrk", "-t1", "-c16", f"-d{seconds}s", f"http://127.0.0.1:{server.port}{path}"],
                          capture_output=True, text=True, check=True)
    return int(re.search(r"(\d+) requests in", done.stdout).group(1))


class Served:
    """CPU time and requests of one server, by whether one worker served a slice of the load alone.

    Then it costs up to a fifth less than if two share it (fewer switches between processes, two cores for worker and
    client), and which of the two happens is drawn anew whenever the client connects. So like is compared with like.
    """

    ALONE = 0.95  # of the slice's CPU time

    def __init__(self, server: Server) -> None:
        self.server, self.pids = server, server.pids()
        self.cpu, self.requests = collections.Counter(), collections.Counter()

    def load(self, seconds: float) -> None:
        before = [cpu_seconds([pid]) for pid in self.pids]
        requests = load(self.server, "/", seconds)
        took = [cpu_seconds([pid]) - since for pid, since in zip(self.pids, before)]
        alone = max(took) > self.ALONE * sum(took)
        self.cpu[alone] += sum(took)
        self.requests[alone] += requests

    def per_thousand(self, alone: bool) -> float:
        return self.cpu[alone] / self.requests[alone] * 1000


def cpu_per_thousand_requests(ours: Server, theirs: Server, slices: int) -> "list[float]":
    """Both run all the time and are loaded in turns of a second, so that what else the machine does meets both."""
    with ours, theirs:
        for server in (ours, theirs):
            load(server, "/", 1)  # warm; the first answer came before the last worker
        both = [Served(server) for server in (ours, theirs)]
        turn = 0
        while turn < 2 * slices or not set(both[0].requests) & set(both[1].requests):
            both[(turn + turn // 2) % 2].load(1)  # ours, theirs, theirs, ours, ...
            turn += 1
    weights = {kind: min(served.requests[kind] for served in both) for kind in (False, True)}
    total = sum(weights.values())
    return [sum(served.per_thousand(kind) * weight / total for kind, weight in weights.items() if weight)
            for served in both]


def replacement_seconds(server: Server) -> float:
    """From SIGKILL of the only worker to the first answer of another: requests wait in the listener meanwhile."""
    with server:
        time.sleep(1)  # past the first moments, in which a crash would meet a back-off
        victim = server.get_json("/pid")["pid"]
        killed_at = time.monotonic()
        os.kill(victim, 9)
        while True:
            try:
                if server.get_json("/pid")["pid"] != victim:
                    return time.monotonic() - killed_at
            except OSError:
                pass


def one_after_the_other(measure):
    """A way to measure a pair: each alone, in an order that alternates."""
    order = [0, 1]

    def measured(ours: Server, theirs: Server) -> "list[float]":
        order.reverse()
        both = [0.0, 0.0]
        for which in order:
            both[which] = measure((ours, theirs)[which])
        return both
    return measured


def pairs(options: argparse.Namespace, what: str, measure, ours, theirs, unit: str, scale: float) -> None:
    ratios, mine, peers = [], [], []
    for pair in range(options.pairs):
        for figures, figure in zip((mine, peers), measure(ours(), theirs())):
            figures.append(figure)
        ratios.append(mine[-1] / peers[-1])
        print(f"  pair {pair + 1:2}: moult {mine[-1] * scale:.3f} {unit}, peer {peers[-1] * scale:.3f} {unit}, "
              f"ratio {ratios[-1]:.3f}", flush=True)
    print(f"{what}: median ratio {statistics.median(ratios):.3f} (moult {statistics.median(mine) * scale:.3f}, peer "
          f"{statistics.median(peers) * scale:.3f} {unit}; {options.pairs} pairs)\n", flush=True)


def cost(options: argparse.Namespace) -> None:
    def measure(ours, theirs):
        return cpu_per_thousand_requests(ours, theirs, options.seconds)
    for app in options.apps:
        def ours():
            return moult(options, app, "-w", "2")
        print(f"CPU time of the whole tree per 1,000 requests, {app}, 2 workers, 16 connections; slices of a second "
              "that one worker served alone, and that two shared, are compared with their like")
        pairs(options, f"{app} against uvicorn --workers 2", measure, ours,
              lambda: uvicorn(options, app, "--workers", "2"), "CPU s", 1)
        pairs(options, f"{app} against gunicorn -k {options.gunicorn_class} -w 2", measure, ours,
              lambda: gunicorn(options, app, "-w", "2"), "CPU s", 1)


def replace(options: argparse.Namespace) -> None:
    heap = {"BENCH_HEAP_BYTES": str(150_000_000)}
    print("SIGKILL of the only worker to the first answer of its replacement, 150 MB heap, preloaded")
    pairs(options, "against gunicorn --preload", one_after_the_other(replacement_seconds),
          lambda: moult(options, "app", "-w", "1", **heap),
          lambda: gunicorn(options, "app", "--preload", "-w", "1", **heap), "ms", 1000)


def workers_of(server: Server) -> "set[int]":
    seen = set()
    for _ in range(200):
        seen.add(server.get_json("/pid")["pid"])
    return seen


def memory(options: argparse.Namespace) -> None:
    heap = {"BENCH_HEAP_OBJECTS": "500000"}
    print("USS per worker with 500,000 tracked objects, after 2,000 requests and one full garbage collection each")
    figures = {}
    for name, server in (("moult", moult(options, "app", "-w", "2", **heap)),
                         ("gunicorn --preload", gunicorn(options, "app", "--preload", "-w", "2", **heap))):
        with server:
            for _ in range(2000):
                server.get("/")
            for _ in range(60):
                server.get("/collect")
            figures[name] = statistics.mean(unique_bytes(pid) for pid in workers_of(server)) / 1e6
            print(f"  {name}: {figures[name]:.1f} MB")
    print(f"ratio {figures['moult'] / figures['gunicorn --preload']:.3f}\n")


def idle(options: argparse.Namespace) -> None:
    print("the master with idle workers")
    for workers in (3, 300):
        with moult(options, "app", "-w", str(workers)) as server:
            deadline = time.monotonic() + 300
            while len(server.pids()) < workers + 2 and time.monotonic() < deadline:
                time.sleep(0.5)
            time.sleep(5)
            before, since = cpu_seconds([server.process.pid]), time.monotonic()
            time.sleep(30)
            share = (cpu_seconds([server.process.pid]) - before) / (time.monotonic() - since)
            pss = memory_bytes(server.process.pid, "Pss") / 1e6
            print(f"  {workers} workers: PSS {pss:.1f} MB, CPU {share * 100:.2f} % of a core", flush=True)


def micro(options: argparse.Namespace) -> None:
    """What is done for every request, in both languages, and for every sample of a worker."""
    built = Path(options.moult).parent.parent / "bench"
    for name in ("scoreboard_cost", "recycler_cost"):
        if (built / name).exists():
            subprocess.run([str(built / name)], check=True)
        else:
            print(f"there is no {built / name}: it is built where libbenchmark-dev is installed")
        print(flush=True)
    subprocess.run([options.python, str(HERE / "counting_cost.py")], check=True)


def main() -> None:
    parser = argparse.ArgumentParser(prog="tools.bench", description=__doc__)
    parser.add_argument("moult")
    parser.add_argument("what", choices=["cost", "replace", "memory", "idle", "loops", "micro", "lease", "all"])
    parser.add_argument("--pairs", type=int, default=10)
    parser.add_argument("--seconds", type=int, default=12, help="under load, for each of a pair")
    parser.add_argument("--apps", nargs="+", default=["app", "bare"], help="what cost measures: FastAPI, no framework")
    parser.add_argument("--loop-seconds", type=int, default=150, help="how long each crash loop runs")
    parser.add_argument("--python", default="/usr/bin/python3")
    parser.add_argument("--gunicorn-class", default=UVICORN_WORKER)
    options = parser.parse_args()
    options.moult = str(Path(options.moult).resolve())
    print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.2f}, {sys.platform}, python {options.python}\n")
    for name, run in (("cost", cost), ("replace", replace), ("memory", memory), ("idle", idle),
                      ("loops", crash_loops), ("micro", micro), ("lease", lease_rate)):
        if options.what in (name, "all"):
            run(options)


if __name__ == "__main__":
    main()
