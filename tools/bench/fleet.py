"""Two masters whose six workers leak without end share one budget in a real Redis: is it kept, and is nobody frozen?

    python3 -m tools.bench.fleet MOULT [--seconds S] [--situations NAME ...]

Times are a sixtieth of the defaults and the rate is sixty times the default (one a minute and worker), so that ten
minutes show what ten hours would. The leak passes the limit long before the budget affords a replacement, and stays far
below the hard limit: all recycles are routine.

    saturated    nothing else happens; replaced in place, so that the minimum is at stake
    killed       one master is killed with -9 after a quarter of the time
    asleep       from a quarter of the time on one master wants no workers, as one that sleeps: it stands in its
                 --stop-delay, which says the same to the store (wanted 0)
    cannot_boot  from a quarter of the time to three quarters, no worker of one master can boot

A program checks the grants: each fencing token is the store's time of its grant, in microseconds; a lease ends when its
slot serves again. Each figure is printed with its bound. Nothing here passes or fails.
"""

import argparse
import contextlib
import datetime
import os
import subprocess
import tempfile
import time
from pathlib import Path

from tools.bench.leaks import Clients, Moult, until
from tools.bench.processes import listens

WORKERS, INSTANCES = 3, 2
RATE_PER_HOUR_AND_WORKER, BURST, MINIMUM = 60, 2, 0.5
LEAK_BYTES_PER_SECOND = 2_000_000
STORE_KNOWS_SECONDS = 5  # a heartbeat's time
CLOCKS_AGREE_SECONDS = 0.02  # the event's time is a millisecond's, and is taken a little after the store's
FLAGS = ["-w", str(WORKERS), "--memory-limit", "120MB", "--hard-limit", "2GB", "--cooldown", "2s", "--lease-ttl", "2s",
         "--recycle-rate", f"{RATE_PER_HOUR_AND_WORKER}/h/worker", "--recycle-burst", str(BURST), "--min-healthy",
         f"{MINIMUM:.0%}", "--min-headroom", "off", "--boot-timeout", "3s", "--fleet-name", "bench"]


class Store:
    def __init__(self, folder: str) -> None:
        self.url = f"redis+unix://{folder}/store.sock"
        self.process = subprocess.Popen(
            ["redis-server", "--port", "0", "--unixsocket", f"{folder}/store.sock", "--dir", folder, "--save", "",
             "--appendonly", "no"], stdout=subprocess.DEVNULL)
        until(lambda: listens(f"{folder}/store.sock"), "the store listens", 20)

    def __enter__(self) -> "Store":
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.wait()


def seconds_of(event: dict) -> float:
    return datetime.datetime.fromisoformat(event["at"].replace("Z", "+00:00")).timestamp()


class Grant:
    """One recycle, as its instance's events tell it."""

    def __init__(self, instance: int, line: dict, readies: "list[dict]") -> None:
        self.instance, self.at = instance, line["fencing_token"] / 1e6
        self.told = seconds_of(line) - line["drain_seconds"]
        later = [seconds_of(each) for each in readies if each["slot"] == line["slot"] and seconds_of(each) > self.at]
        self.serves_again = min(later, default=None)  # none: its successor never came


def grants_of(servers: "list[Moult]") -> "list[Grant]":
    found = [Grant(number, line, server.events("worker_ready")) for number, server in enumerate(servers)
             for line in server.events("worker_recycled")]
    return sorted(found, key=lambda grant: grant.at)


def most_over_the_rate(grants: "list[Grant]", per_second: float) -> float:
    """Over all spans between two grants: how many more there were than rate x time + burst. At most 0."""
    times = [grant.at for grant in grants]
    return max((last - first + 1 - (times[last] - times[first]) * per_second - BURST
                for first in range(len(times)) for last in range(first, len(times))), default=0)


def overlaps(grants: "list[Grant]") -> int:
    """Pairs of which the second was granted while the slot of the first did not serve again."""
    return sum(one.serves_again is None or one.serves_again > other.at + CLOCKS_AGREE_SECONDS
               for one, other in zip(grants, grants[1:]))


def fewest_serving(grants: "list[Grant]", wanted: int) -> int:
    """Where one is replaced in place, its slot does not serve between its RETIRE and its successor's READY."""
    changes = sorted([(grant.told, -1) for grant in grants] +
                     [(grant.serves_again, 1) for grant in grants if grant.serves_again])
    serving = fewest = wanted
    for _, change in changes:
        serving = min(serving + change, wanted)
        fewest = min(fewest, serving)
    return fewest


def report(servers: "list[Moult]", clients: "list[Clients]", seconds: float, in_place: bool) -> None:
    grants, wanted = grants_of(servers), WORKERS * INSTANCES
    per_second = RATE_PER_HOUR_AND_WORKER * wanted / 3600
    by_instance = [sum(grant.instance == number for grant in grants) for number in range(len(servers))]
    print(f"  {len(grants)} grants in {seconds:.0f} s, by instance {by_instance}; the budget for six is "
          f"{per_second * seconds + BURST:.0f}")
    print(f"  most over rate x time + burst in any span: {most_over_the_rate(grants, per_second):.2f} (bound 0); "
          f"leases that overlap: {overlaps(grants)} (bound 0)")
    if in_place:
        print(f"  fewest that served: {fewest_serving(grants, wanted)} of {wanted} (bound {MINIMUM * wanted:.0f})")
    for number, server in enumerate(servers):
        reasons = {each["reason"] for each in server.events("worker_recycled")}
        holds = {}
        for each in server.events("hold_started"):
            holds[each["reason"]] = holds.get(each["reason"], 0) + 1
        print(f"  instance {number}: recycled for {sorted(reasons)} (to be limit alone), ungated "
              f"{len(server.events('gate_ungated'))} (bound 0); holds {holds}")
    answers, failures = sum(each.answers for each in clients), sum(len(each.failures) for each in clients)
    print(f"  {answers} requests, {failures} failed; load {os.getloadavg()[0]:.2f}\n", flush=True)


def after(grants: "list[Grant]", instance: int, since: float) -> int:
    return sum(grant.instance == instance and grant.at > since for grant in grants)


def one_run(options: argparse.Namespace, situation: str) -> None:
    in_place = situation == "saturated"
    flags = [*FLAGS, "--python", options.python, "--replace", "in-place" if in_place else "auto"]
    if situation == "asleep":
        flags += ["--stop-delay", f"{options.seconds:g}s"]
    print(f"{situation}, {options.seconds:g} s: load {os.getloadavg()[0]:.2f}", flush=True)
    with contextlib.ExitStack() as open_now:
        folder = open_now.enter_context(tempfile.TemporaryDirectory(prefix="moult-fleet-"))
        store = open_now.enter_context(Store(folder))
        fail_file = Path(folder) / "fail"
        env = {"BENCH_LEAK_AT_START": str(LEAK_BYTES_PER_SECOND), "BENCH_HEAP_BYTES": "1000000",
               "BENCH_HOOK_SECONDS": "0.3"}
        servers = [open_now.enter_context(Moult(options.moult, "leak_app:app", *flags, "--fleet", store.url, **env,
                                                **({"BENCH_FAIL_FILE": str(fail_file)} if number == 1 else {})))
                   for number in range(INSTANCES)]
        clients = [open_now.enter_context(Clients(server.port, 1)) for server in servers]
        time.sleep(options.seconds / 4)
        since = time.time()
        if situation == "killed":
            clients[1].ending.set()
            servers[1].process.kill()
        if situation == "asleep":
            servers[1].process.terminate()
        if situation == "cannot_boot":
            fail_file.touch()
        time.sleep(options.seconds / 2)
        middle = time.time()
        fail_file.unlink(missing_ok=True)
        time.sleep(options.seconds / 4)
        grants = grants_of(servers)
        if situation != "saturated":
            last_quarter = [after(grants, number, middle) for number in range(INSTANCES)]
            meanwhile = after(grants, 0, since) - last_quarter[0]
            print(f"  meanwhile the other instance had {meanwhile} grants; the last quarter had {last_quarter} "
                  "(not frozen)")
            if situation == "asleep":
                own = [grant for grant in grants if grant.instance == 0 and grant.at > since + STORE_KNOWS_SECONDS]
                rate = RATE_PER_HOUR_AND_WORKER * WORKERS / 3600
                print(f"  with three wanted in the fleet, most over their rate x time + burst: "
                      f"{most_over_the_rate(own, rate):.2f} (bound 0)")
        report(servers, clients, options.seconds, in_place)


def main() -> None:
    parser = argparse.ArgumentParser(prog="tools.bench.fleet", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("moult")
    parser.add_argument("--seconds", type=float, default=600)
    situations = ["saturated", "killed", "asleep", "cannot_boot"]
    parser.add_argument("--situations", nargs="+", default=situations, choices=situations)
    parser.add_argument("--python", default="/usr/bin/python3")
    options = parser.parse_args()
    print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.2f}\n")
    for situation in options.situations:
        one_run(options, situation)


if __name__ == "__main__":
    main()
