"""Reloads, other numbers of workers, recycles and sleeps, asked for at random while clients ask: does one request fail?

    python3 -m tools.bench.storm MOULT --cell NAME ... [--minutes 10] [--seed 1]

The clients are those of tools.bench.recycles: 32 that keep their connections and never read before they write, and two
that connect for each request. The wishes come 0 to 2 s after one another, so many meet one that is still being
fulfilled. A sleep is ended by the next request, wherever it has come to. No worker may end but by a retirement. Exit 1:
something failed, was closed while idle, or ended otherwise.
"""
import argparse
import collections
import contextlib
import json
import os
import random
import sys
import tempfile
import threading
import time

from tools.bench.cells import ROOT, Cell, all_cells
from tools.bench.leaks import Moult, until
from tools.bench.recycles import PATIENCE_SECONDS, UNHURRIED, LoadClient
from tools.load_client.tally import in_words

WORKERS = (1, 5)  # from .. to
LONGEST_PAUSE_SECONDS = 2.0
RETIREMENTS = {"retiring", "terminating"}  # states from which a worker may end; terminating: at its deadline


class Storm:
    def __init__(self, server: Moult, dice: random.Random) -> None:
        self.server, self.dice, self.asked = server, dice, collections.Counter()

    def wish(self) -> None:
        name, arguments = self.dice.choice([
            ("reload", {}), ("recycle", {}), ("recycle", {"slot": 0}),
            ("scale", {"workers": self.dice.randint(*WORKERS)}), ("sleep", {})])
        if name == "sleep":  # is answered when it is over, and the next wish is not to wait for it
            sleeper = threading.Thread(target=self.ask, args=(name, arguments), daemon=True)
            sleeper.start()
        else:
            self.ask(name, arguments)

    def ask(self, name: str, arguments: dict) -> None:
        try:
            self.server.ask_master(name, **arguments)
            self.asked[name] += 1
        except KeyError:  # no result, but an error
            self.asked[f"{name} (refused)"] += 1

    def rage(self, seconds: float, is_over) -> None:
        end = time.monotonic() + seconds
        while time.monotonic() < end and not is_over():
            self.wish()
            time.sleep(self.dice.uniform(0, LONGEST_PAUSE_SECONDS))


def endings(server: Moult) -> "tuple[int, list[dict]]":
    """How many workers retired, and the ends that were no retirement."""
    exits = server.events("worker_exited")
    return len(exits), [each for each in exits if each["state"] not in RETIREMENTS or each["exit_status"] != 0]


def measure(options: argparse.Namespace, cell: Cell) -> bool:
    with contextlib.ExitStack() as open_now:
        folder = open_now.enter_context(tempfile.TemporaryDirectory(prefix="moult-storm-"))
        path = f"{folder}/socket"
        bind = ["-b", f"unix:{path}"] if cell.unix else []
        server = open_now.enter_context(Moult(options.moult, cell.app, "--chdir", str(ROOT), "--python", cell.python,
                                              "-w", "3", *bind, *cell.flags, *UNHURRIED, *options.flags))
        url = f"unix:{path}" if cell.unix else f"http://127.0.0.1:{server.port}"
        client = open_now.enter_context(LoadClient(options, url, folder))
        storm = Storm(server, random.Random(options.seed))
        storm.rage(options.minutes * 60, lambda: client.process.poll() is not None)
        server.ask_master("scale", workers=3)
        server.wait_serving(3, PATIENCE_SECONDS)
        seen = client.finish()
        count, unexpected = endings(server)
        reloads = collections.Counter(each["outcome"] for each in server.events("reload_finished"))
        parking = server.status()["parking"]
        slept, woke = server.events("slept"), server.events("woke")
    print(f"{cell.name}: {options.minutes:g} minutes, load {os.getloadavg()[0]:.2f}; asked for "
          f"{', '.join(f'{name} {number}' for name, number in sorted(storm.asked.items()))}; reloads that "
          f"{', '.join(f'{name} {number}' for name, number in sorted(reloads.items()))}; {count} workers retired; "
          f"{len(slept)} times asleep, {len(woke)} wakes")
    for line in in_words(seen).splitlines():
        print(f"  {line}")
    print(f"  parking {json.dumps(parking)}; ends that are no retirement: {unexpected}")
    for example in seen["examples"][:5]:
        print(f"  {example}")
    print(flush=True)
    return seen["answered"] > 0 and seen["failed"] == seen["idle_closes"] == 0 and not unexpected


def main() -> int:
    cells = all_cells()
    moults = [name for name, cell in cells.items() if not cell.is_peer]
    parser = argparse.ArgumentParser(prog="tools.bench.storm", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("moult")
    parser.add_argument("--cell", dest="cells", nargs="+", required=True, metavar="NAME", choices=moults)
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--watching", action="store_true", help="clients that see a close before they write")
    parser.add_argument("--connections", type=int, default=32)
    parser.add_argument("--fresh", type=int, default=2)
    parser.add_argument("--mix", default="get=1,post=1", help="as tools.load_client has it")
    parser.add_argument("--think", default="5-50", metavar="LOW-HIGH", help="milliseconds before each request (5-50)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--flag", dest="flags", action="append", default=[], help="one more flag for moult")
    options = parser.parse_args()
    print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.2f}\n", flush=True)
    return 0 if all([measure(options, cells[name]) for name in options.cells]) else 1


if __name__ == "__main__":
    sys.exit(main())
