"""What the master costs while many workers do nothing: its CPU time and its memory.

    python3 -m tools.bench.thousand MOULT [--workers N ...] [--native PATH] [--seconds S]

Workers are processes of the native example: what they weigh does not matter here, that there are so many does. Each
number of workers is measured with no --memory-limit and with one that is far above what they weigh, so that each is
sampled once a second. Each figure is printed with its bound. Nothing here passes or fails.
"""

import argparse
import os
import time
from pathlib import Path

from tools.bench.leaks import Moult
from tools.bench.processes import cpu_seconds, memory_bytes

NATIVE = Path(__file__).resolve().parents[2] / "build/release/examples/native/libnative-example.so"
CPU_BOUNDS = {3: 0.3, 300: 3.0, 1000: 2.0}  # % of a core
PSS_BOUND_BYTES = 12_000_000
CALM_SECONDS = 5
MOST_SECONDS_TO_CALM = 120


def share_of_a_core(pid: int, seconds: float) -> float:
    before, since = cpu_seconds([pid]), time.monotonic()
    time.sleep(seconds)
    return (cpu_seconds([pid]) - before) / (time.monotonic() - since) * 100


def wait_calm(pid: int) -> None:
    """Until two looks in a row cost about the same, and at most for two minutes."""
    deadline, last = time.monotonic() + MOST_SECONDS_TO_CALM, share_of_a_core(pid, CALM_SECONDS)
    while time.monotonic() < deadline:
        now = share_of_a_core(pid, CALM_SECONDS)
        if abs(now - last) <= max(0.2 * last, 0.05):
            return
        last = now


def one_run(options: argparse.Namespace, workers: int, limit: str) -> None:
    flags = ["-w", str(workers), *(["--memory-limit", limit] if limit else [])]
    with Moult(options.moult, f"--app=native:{options.native}", *flags) as server:
        began = time.monotonic()
        server.wait_serving(workers, 600)
        booted = time.monotonic() - began
        pid = server.process.pid
        wait_calm(pid)
        share = share_of_a_core(pid, options.seconds)
        pss = memory_bytes(pid, "Pss")
        bound = CPU_BOUNDS.get(workers)
        print(f"{workers:5} workers, --memory-limit {limit or 'off':5}: CPU {share:.3f} % of a core"
              f"{f' (bound {bound:g})' if bound else ''}, PSS {pss / 1e6:.1f} MB (bound {PSS_BOUND_BYTES / 1e6:g}); "
              f"all served after {booted:.0f} s; load {os.getloadavg()[0]:.2f}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(prog="tools.bench.thousand", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("moult")
    parser.add_argument("--workers", type=int, nargs="+", default=[3, 300, 1000])
    parser.add_argument("--native", default=str(NATIVE))
    parser.add_argument("--seconds", type=float, default=30)
    parser.add_argument("--memory-limit", default="4GB")
    options = parser.parse_args()
    print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.2f}\n")
    for workers in options.workers:
        for limit in ("", options.memory_limit):
            one_run(options, workers, limit)


if __name__ == "__main__":
    main()
