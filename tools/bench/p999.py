"""What recycles cost in the tail: p99.9 of the clients with one recycle every 5 s, against none.

    python3 -m tools.bench.p999 MOULT --cell NAME ... [--pairs 5] [--seconds 60] [--every 5]

Three workers, the clients of tools.bench.recycles. Both halves of a pair meet the same moult, and the order alternates.
Figures are medians over the pairs, and their ratio. Nothing here passes or fails.
"""
import argparse
import contextlib
import os
import statistics
import sys
import tempfile
import time

from tools.bench.cells import ROOT, Cell, all_cells
from tools.bench.leaks import Moult
from tools.bench.recycles import UNHURRIED, LoadClient

WORKERS = 3
NAME = "p99.9"


def recycle_by_turns(server: Moult, seconds: float, every: float) -> int:
    """The slots one after the other."""
    began = time.monotonic()
    asked = 0
    while time.monotonic() - began < seconds:
        time.sleep(every)
        server.ask_master("recycle", slot=asked % WORKERS)
        asked += 1
    return asked


def half(options: argparse.Namespace, server: Moult, url: str, with_recycles: bool) -> dict:
    before = len(server.events("worker_recycled"))
    with tempfile.TemporaryDirectory(prefix="moult-p999-") as folder, LoadClient(options, url, folder) as client:
        if with_recycles:
            recycle_by_turns(server, options.seconds, options.every)
        else:
            time.sleep(options.seconds)
        seen = client.finish()
    server.wait_serving(WORKERS)
    seen["recycles"] = len(server.events("worker_recycled")) - before
    return seen


def measure(options: argparse.Namespace, cell: Cell) -> None:
    with contextlib.ExitStack() as open_now:
        folder = open_now.enter_context(tempfile.TemporaryDirectory(prefix="moult-p999-"))
        path = f"{folder}/socket"
        bind = ["-b", f"unix:{path}"] if cell.unix else []
        server = open_now.enter_context(Moult(options.moult, cell.app, "--chdir", str(ROOT), "--python", cell.python,
                                              "-w", str(WORKERS), *bind, *cell.flags, *UNHURRIED, *options.flags))
        server.wait_serving(WORKERS)
        url = f"unix:{path}" if cell.unix else f"http://127.0.0.1:{server.port}"
        tails = {False: [], True: []}
        for pair in range(options.pairs):
            for with_recycles in (pair % 2 == 0, pair % 2 == 1):
                seen = half(options, server, url, with_recycles)
                tails[with_recycles].append(seen["latency_seconds"][NAME])
                print(f"  pair {pair + 1}: {seen['recycles']:2} recycles, {seen['answered']} answered, "
                      f"{seen['failed']} failed, {seen['idle_closes']} idle closes, {NAME} "
                      f"{tails[with_recycles][-1] * 1000:.1f} ms; load {os.getloadavg()[0]:.2f}", flush=True)
    recycled, calm = (statistics.median(tails[which]) for which in (True, False))
    ratios = [mine / other for mine, other in zip(tails[True], tails[False])]
    print(f"{cell.name}: {NAME} {recycled * 1000:.1f} ms with a recycle every {options.every:g} s, "
          f"{calm * 1000:.1f} ms without; ratio of the medians {recycled / calm:.2f}, median of the "
          f"ratios {statistics.median(ratios):.2f} ({options.pairs} pairs of {options.seconds:g} s)\n", flush=True)


def main() -> int:
    cells = all_cells()
    moults = [name for name, cell in cells.items() if not cell.is_peer]
    parser = argparse.ArgumentParser(prog="tools.bench.p999", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("moult")
    parser.add_argument("--cell", dest="cells", nargs="+", required=True, metavar="NAME", choices=moults)
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=60, help="each half of a pair")
    parser.add_argument("--every", type=float, default=5, help="seconds from one recycle to the next")
    parser.add_argument("--watching", action="store_true", help="clients that see a close before they write")
    parser.add_argument("--connections", type=int, default=32)
    parser.add_argument("--fresh", type=int, default=0)
    parser.add_argument("--mix", default="get=1,post=1", help="as tools.load_client has it")
    parser.add_argument("--think", default="5-50", metavar="LOW-HIGH", help="milliseconds before each request (5-50)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--flag", dest="flags", action="append", default=[], help="one more flag for moult")
    options = parser.parse_args()
    print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.2f}\n", flush=True)
    for name in options.cells:
        measure(options, cells[name])
    return 0


if __name__ == "__main__":
    sys.exit(main())
