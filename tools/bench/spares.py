"""What spares are good for: how soon a worker that has started serves, as ratios and medians within one run.

    python3 -m tools.bench.spares MOULT [go recycle kill] [--pairs N] [--recycles N] [--python PATH]

    go       SIGKILL of the only worker to the first answer of its spare, and GO to READY by itself, for a spare that
             has got the pages that first requests write to, and for one that has not
    recycle  from the wish (`moult recycle` is asked for) to RETIRE, with --spares 1. RETIRE goes out when the spare is
             ready, in the same step, and that is an event; its time is in whole milliseconds
    kill     SIGKILL of the only worker to the first answer of its spare, against `gunicorn --preload`, by turns

Nothing here passes or fails.
"""
import argparse
import os
import signal
import statistics
import sys
import time
from datetime import datetime
from pathlib import Path

from tools.bench.__main__ import UVICORN_WORKER, gunicorn, moult, one_after_the_other, pairs
from tools.bench.leaks import Moult, until
from tools.bench.processes import Server

HEAP = {"BENCH_HEAP_BYTES": str(150_000_000)}
# Nothing but the wish decides when: with a cooldown it would be that which is measured.
AT_ONCE = ["--recycle-rate", "off", "--cooldown", "0", "--urgent-cooldown", "0"]
HERE = Path(__file__).resolve().parent
PATIENCE_SECONDS = 60


def spares_wait(server: Moult, count: int) -> bool:
    states = [worker["state"] for worker in server.status()["workers"]]
    return sorted(states) == ["serving"] + ["spare"] * count


def started(options: argparse.Namespace, *flags: str) -> Moult:
    return Moult(options.moult, "apps:app", "--chdir", str(HERE), "--python", options.python, "-w", "1", "--spares",
                 "1", *flags, **HEAP)


def say(what: str, milliseconds: "list[float]") -> None:
    print(f"  {what}: median {statistics.median(milliseconds):.1f} ms, from {min(milliseconds):.1f} to "
          f"{max(milliseconds):.1f} ({len(milliseconds)} times)", flush=True)


def first_bytes(options: argparse.Namespace, warm: bool) -> "list[float]":
    """`warm`: some requests were answered before, whose pages the spare has copied."""
    took = []
    for _ in range(options.pairs):
        with started(options) as server:
            until(lambda: spares_wait(server, 1), "the spare waits", PATIENCE_SECONDS)
            if warm:
                answer_some(server)
            began = time.monotonic()
            os.kill(server.status()["workers"][0]["pid"], signal.SIGKILL)
            server.get("/")
            took.append((time.monotonic() - began) * 1000)
    return took


def go(options: argparse.Namespace) -> None:
    print("SIGKILL of the only worker, to the end of the first answer of its spare, 150 MB heap")
    say("the first answers ever of this code", first_bytes(options, warm=False))
    say("after 10 answers", first_bytes(options, warm=True))


def recycle(options: argparse.Namespace) -> None:
    print(f"a recycle's decision to RETIRE, --spares 1, 150 MB heap, {options.recycles} recycles")
    took = []
    with started(options, *AT_ONCE) as server:
        until(lambda: spares_wait(server, 1), "the spare waits", PATIENCE_SECONDS)
        answer_some(server)
        for _ in range(options.recycles):
            until(lambda: spares_wait(server, 1), "the spare waits", PATIENCE_SECONDS)
            seen = len(server.events("worker_ready"))
            wished = time.time()
            server.ask_master("recycle")
            until(lambda: len(server.events("worker_ready")) > seen, "it is recycled", PATIENCE_SECONDS)
            ready = server.events("worker_ready")[seen]["at"].replace("Z", "+00:00")
            took.append((datetime.fromisoformat(ready).timestamp() - wished) * 1000)
    say("the wish to RETIRE", took)


def answer_some(server: Server) -> None:
    for _ in range(10):
        server.get("/")
    time.sleep(2)  # a heartbeat of the worker, and its spare has the pages


def kill(options: argparse.Namespace) -> None:
    print("SIGKILL of the only worker to the first answer of another, 150 MB heap, preloaded")

    def seconds(server: Server) -> float:
        with server:
            answer_some(server)
            victim = server.get_json("/pid")["pid"]
            killed_at = time.monotonic()
            os.kill(victim, signal.SIGKILL)
            while True:
                try:
                    if server.get_json("/pid")["pid"] != victim:
                        return time.monotonic() - killed_at
                except OSError:
                    pass
    pairs(options, "--spares 1 against gunicorn --preload", one_after_the_other(seconds),
          lambda: moult(options, "app", "-w", "1", "--spares", "1", **HEAP),
          lambda: gunicorn(options, "app", "--preload", "-w", "1", **HEAP), "ms", 1000)


def main() -> None:
    measures = {"go": go, "recycle": recycle, "kill": kill}
    parser = argparse.ArgumentParser(prog="tools.bench.spares", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("moult")
    parser.add_argument("what", nargs="*", metavar="go|recycle|kill", default=list(measures))
    parser.add_argument("--pairs", type=int, default=10)
    parser.add_argument("--recycles", type=int, default=20)
    parser.add_argument("--python", default="/usr/bin/python3")
    parser.add_argument("--gunicorn-class", default=UVICORN_WORKER)
    options = parser.parse_args()
    options.moult = str(Path(options.moult).resolve())
    print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.2f}, {sys.platform}, python {options.python}\n")
    for what in options.what:
        measures[what](options)


if __name__ == "__main__":
    main()
