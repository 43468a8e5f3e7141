"""What clients notice of recycles: requests that fail, by class, and idle connections that are closed.

    python3 -m tools.bench.recycles MOULT --cell NAME ... [--recycles N] [--watching]

Three workers serve tools.load_client.echo_app to 32 clients of tools.load_client that think for 5 to 50 ms and, unless
--watching, never read before they write; half of their requests are POST. Under moult a third of the recycles each is
for max requests, memory and the operator; a peer knows max requests only. Hand-overs are counted by moult, in its
events, and by the clients: how often a connection's next answer came from another process.

The only worker, an app that takes 5 s to boot, and clients that ask every 10 ms:

    python3 -m tools.bench.recycles MOULT --cell NAME --workers 1 --connections 4 --think 10 \\
        --before 'env ECHO_BOOT_SECONDS=5'

Cells are described in tools/bench/cells.py; `all` is all of moult's. Exit 1: a cell of moult was not clean.
"""
import argparse
import contextlib
import http.client
import json
import os
import re
import shlex
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tools.bench.cells import KEEP_ALIVE_SECONDS, ROOT, Cell, all_cells
from tools.bench.leaks import Moult, ask, until
from tools.bench.processes import Server, free_port
from tools.load_client.tally import in_words

# 32 clients ask about 1,100 times a second, a third of that each worker: about 5 to 10 s, if nothing else happens.
MAX_REQUESTS = 1500
# The app weighs 25 to 60 MB, so one leak takes a worker over its limit and not over its hard limit.
LEAK_BYTES = 90_000_000
MEMORY = ["--memory-limit", "100MB", "--hard-limit", "200MB", "--limit-jitter", "0%", "--limit-spread", "1MB",
          "--min-runway", "10MB", "--min-headroom", "off"]
UNHURRIED = ["--recycle-rate", "off", "--cooldown", "500ms", "--urgent-cooldown", "0", "--sample-far", "100ms",
             "--sample-near", "20ms"]
REASONS = {"limit": "memory", "hard_limit": "memory"}  # the others are their own name
OTHERS_MEANWHILE = 3  # recycles, after which one that was asked for is thought not to come
PATIENCE_SECONDS = 90  # for the next recycle
AFTERWARDS_SECONDS = 1  # twenty times the longest thought: every connection has been used since the last recycle


def max_requests(options: argparse.Namespace) -> "list[str]":
    return ["--max-requests", str(options.max_requests), "--max-requests-jitter", str(options.max_requests)]


class MoultUnderTest:
    """Recycles by turns for what is behind: the operator and memory are made to happen, max requests happens."""

    def __init__(self, options: argparse.Namespace, cell: Cell, path: str) -> None:
        bind = ["-b", f"unix:{path}"] if cell.unix else []
        self.server = Moult(options.moult, cell.app, "--chdir", str(ROOT), "--python", cell.python, "-w",
                            str(options.workers), *bind, *cell.flags, *max_requests(options), *MEMORY, *UNHURRIED,
                            *options.flags, before=tuple(shlex.split(options.before)))
        self.lines, self.exits, self.read_bytes = [], 0, 0  # of the events so far
        self.workers, self.pending, self.slot, self.leak_failures = options.workers, None, 0, []

    def read_events(self) -> None:
        """Those that came since: a look has to be cheap."""
        with open(self.server.events_file, "rb") as file:
            file.seek(self.read_bytes)
            whole = file.read().rpartition(b"\n")[0]
        self.read_bytes += len(whole) + (1 if whole else 0)
        events = [json.loads(line) for line in whole.splitlines()]
        self.lines += [event for event in events if event["event"] == "worker_recycled"]
        self.exits += sum(event["event"] == "worker_exited" for event in events)

    def by_reason(self) -> "dict[str, int]":
        self.read_events()
        counts = {"max_requests": 0, "memory": 0, "operator": 0}
        for line in self.lines:
            reason = REASONS.get(line["reason"], line["reason"])
            counts[reason] = counts.get(reason, 0) + 1
        return counts

    def recycles(self) -> int:
        return sum(self.by_reason().values())

    def nudge(self) -> None:
        """Called every now and then: makes the next recycle happen, if it is not up to the clients."""
        counts = self.by_reason()
        if self.pending and self.is_still_to_come(counts, *self.pending):
            return
        reason = min(counts, key=counts.get)
        self.pending = None if reason == "max_requests" else (reason, dict(counts))
        if reason == "operator":
            self.server.ask_master("recycle", slot=self.slot)
            self.slot = (self.slot + 1) % self.workers
        elif reason == "memory":
            self.leak()

    def is_still_to_come(self, counts: "dict[str, int]", reason: str, before: "dict[str, int]") -> bool:
        """Not for ever: the worker that was meant may just have gone for another reason."""
        others = sum(counts.values()) - sum(before.values())
        return counts[reason] == before[reason] and others < OTHERS_MEANWHILE

    def leak(self) -> None:
        try:
            status, _ = ask(self.server.port, f"/leak/{LEAK_BYTES}")
            if status != 200:
                self.leak_failures.append(f"status {status}")
        except (OSError, http.client.HTTPException) as error:
            self.leak_failures.append(repr(error))

    def figures(self) -> dict:
        counts, lines = self.by_reason(), self.lines
        return {"recycles": len(lines), "by_reason": counts,
                "handed_over": [line["handed_over"] for line in lines],
                "drain_outcomes": sorted({line["drain_outcome"] for line in lines}),
                "longest_drain_seconds": max((line["drain_seconds"] for line in lines), default=0),
                "exits_that_are_no_recycles": self.exits - len(lines),
                "leak_failures": self.leak_failures, "parking": self.server.status().get("parking")}


class PeerUnderTest:
    def __init__(self, options: argparse.Namespace, cell: Cell, path: str) -> None:
        port = free_port()
        bind = ["-b", f"127.0.0.1:{port}", *(["-b", f"unix:{path}"] if cell.unix else [])]
        command = [cell.python, "-m", "gunicorn", cell.app, *bind, "-w", str(options.workers), "--keep-alive",
                   KEEP_ALIVE_SECONDS, *cell.flags, *max_requests(options)]
        self.server, self.workers = Server(command, port, ROOT, {}), options.workers

    def recycles(self) -> int:
        return max(0, len(re.findall(r"Booting worker with pid", self.server.said())) - self.workers)

    def nudge(self) -> None:
        pass

    def figures(self) -> dict:
        return {"recycles": self.recycles(), "by_reason": {"max_requests": self.recycles()}}


class LoadClient:
    """Runs in a process of its own until it is told to end."""

    def __init__(self, options: argparse.Namespace, url: str, folder: str) -> None:
        self.end = Path(folder) / "end"
        how = [] if options.watching else ["--blind"]
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tools.load_client", url, "--connections", str(options.connections), "--fresh",
             str(options.fresh), "--mix", options.mix, "--think", options.think, *how, "--until-file", str(self.end),
             "--seed", str(options.seed), "--json"], cwd=ROOT, stdout=subprocess.PIPE)

    def finish(self) -> dict:
        self.end.touch()
        said = self.process.communicate(timeout=PATIENCE_SECONDS)[0]
        if not said:
            raise SystemExit("the load client could not go on")
        return json.loads(said)

    def __enter__(self) -> "LoadClient":
        return self

    def __exit__(self, *_: object) -> None:
        if self.process.poll() is None:
            self.process.terminate()
            self.process.communicate()


def measure(options: argparse.Namespace, cell: Cell) -> "tuple[dict, dict]":
    """What the clients saw, and what the server said."""
    with contextlib.ExitStack() as open_now:
        folder = open_now.enter_context(tempfile.TemporaryDirectory(prefix="moult-recycles-"))
        path = f"{folder}/socket"
        subject = (PeerUnderTest if cell.is_peer else MoultUnderTest)(options, cell, path)
        server = open_now.enter_context(subject.server)
        if not cell.is_peer:
            server.wait_serving(options.workers)
        url = f"unix:{path}" if cell.unix else f"http://127.0.0.1:{server.port}"
        client = open_now.enter_context(LoadClient(options, url, folder))
        done = 0
        while done < options.recycles:
            def another() -> bool:
                if client.process.poll() is not None:
                    raise SystemExit("the load client could not go on")
                subject.nudge()
                return subject.recycles() > done
            until(another, f"recycle {done + 1}", PATIENCE_SECONDS)
            done = subject.recycles()
        time.sleep(AFTERWARDS_SECONDS)
        return client.finish(), subject.figures()


def clean(seen: dict, said: dict) -> bool:
    return (seen["answered"] > 0 and seen["failed"] == seen["idle_closes"] == 0 and not said.get("leak_failures") and
            not said.get("exits_that_are_no_recycles"))


def report(cell: Cell, seen: dict, said: dict) -> None:
    count = said["recycles"]
    reasons = ", ".join(f"{reason} {number}" for reason, number in said["by_reason"].items())
    print(f"{cell.name}: {count} recycles ({reasons}); load {os.getloadavg()[0]:.2f}")
    for line in in_words(seen).splitlines():
        print(f"  {line}")
    print(f"  per recycle: {seen['failed'] / count:.2f} failed, {seen['idle_closes'] / count:.2f} idle closes, "
          f"{seen['announced_closes'] / count:.2f} announced, {seen['moved'] / count:.1f} connections moved")
    if not cell.is_peer:
        handed = said["handed_over"]
        print(f"  hand-overs of a recycle, as moult counts them: least {min(handed)}, median "
              f"{statistics.median(handed):g}, most {max(handed)}; parking {json.dumps(said['parking'])}")
        print(f"  drains {', '.join(said['drain_outcomes'])}, the longest {said['longest_drain_seconds']:.2f} s; exits "
              f"that are no recycles: {said['exits_that_are_no_recycles']}; failed leaks: {said['leak_failures']}")
    for example in seen["examples"][:3]:
        print(f"  {example}")
    print(flush=True)


def options_of(arguments: "list[str] | None" = None) -> argparse.Namespace:
    cells = all_cells()
    parser = argparse.ArgumentParser(prog="tools.bench.recycles", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("moult")
    parser.add_argument("--cell", dest="cells", nargs="+", required=True, metavar="NAME", choices=[*cells, "all"])
    parser.add_argument("--recycles", type=int, default=30)
    parser.add_argument("--workers", type=int, default=3)
    parser.add_argument("--watching", action="store_true", help="clients that see a close before they write")
    parser.add_argument("--connections", type=int, default=32)
    parser.add_argument("--fresh", type=int, default=0, help="besides, so many that connect for each request")
    parser.add_argument("--mix", default="get=1,post=1", help="as tools.load_client has it")
    parser.add_argument("--think", default="5-50", metavar="LOW-HIGH", help="milliseconds before each request (5-50)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--max-requests", type=int, default=MAX_REQUESTS,
                        help=f"of each worker, and up to as many more ({MAX_REQUESTS})")
    parser.add_argument("--flag", dest="flags", action="append", default=[],
                        help="one more flag for moult: --flag=--parking-max=8")
    parser.add_argument("--before", default="", help="what runs moult: --before 'prlimit --nofile=64'")
    parser.add_argument("--json", action="store_true", help="a line of JSON for each cell besides")
    options = parser.parse_args(arguments)
    moults = [cell.name for cell in cells.values() if not cell.is_peer]
    options.cells = [cells[name] for asked in options.cells for name in (moults if asked == "all" else [asked])]
    return options


def main() -> int:
    options, all_clean = options_of(), True
    print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.2f}; {options.connections} clients that are "
          f"{'watching' if options.watching else 'blind'}, mix {options.mix}\n", flush=True)
    for cell in options.cells:
        seen, said = measure(options, cell)
        report(cell, seen, said)
        if options.json:
            print(json.dumps({"cell": cell.name, "clients": seen, "server": said}), flush=True)
        all_clean &= cell.is_peer or clean(seen, said)
    return 0 if all_clean else 1


if __name__ == "__main__":
    sys.exit(main())
