"""How many questions a second gates get answered by a store, against redis-benchmark with the same script.

Both in turns on one redis-server, with as many connections and calls under way. Prints figures. Nothing passes or
fails.
"""

import argparse
import contextlib
import re
import statistics
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Iterator, List

from tools.bench.processes import listens

CALLS_UNDER_WAY = 2  # of each connection: what a gate releases and asks next leave together
GATES = (1, 8, 32)
SECONDS = 2
REFERENCE_CALLS = 20000


@contextlib.contextmanager
def store() -> Iterator[str]:
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/store.sock"
        process = subprocess.Popen(["redis-server", "--port", "0", "--unixsocket", path, "--dir", folder, "--save", "",
                                    "--appendonly", "no"], stdout=subprocess.DEVNULL)
        try:
            deadline = time.monotonic() + 20
            while not listens(path) and time.monotonic() < deadline:
                time.sleep(0.01)
            yield path
        finally:
            process.kill()
            process.wait()


def ours(program: Path, path: str, gates: int) -> float:
    done = subprocess.run([str(program), path, str(gates), str(SECONDS)], capture_output=True, text=True, check=True)
    return float(done.stdout)


def repeated(program: Path, verb: str) -> List[str]:
    words = subprocess.run([str(program), "words", verb], capture_output=True, text=True, check=True).stdout.split("\n")
    return ["__rand_int__" if word == "@operation" else word for word in words[:-1]]


def theirs(program: Path, path: str, connections: int, verb: str) -> float:
    done = subprocess.run(["redis-benchmark", "-s", path, "-c", str(connections), "-P", str(CALLS_UNDER_WAY), "-n",
                           str(REFERENCE_CALLS), "-r", "1000000000", "-q", *repeated(program, verb)],
                          capture_output=True, text=True, check=True)
    return float(re.findall(r"([\d.]+) requests per second", done.stdout)[-1])


def lease_rate(options: argparse.Namespace) -> None:
    program = Path(options.moult).parent.parent / "bench" / "lease_rate"
    print("acquire and release a second through gates, each alone in its fleet; redis-benchmark: the same script's "
          "acquire, and the mean with a release that finds nothing")
    with store() as path:
        ours(program, path, 1)  # it has the script now
        for gates in GATES:
            rates, acquires, means = [], [], []
            for _ in range(options.pairs):
                rates.append(ours(program, path, gates))
                acquires.append(theirs(program, path, gates, "acquire"))
                means.append(2 / (1 / acquires[-1] + 1 / theirs(program, path, gates, "release")))
            against = [statistics.median(rate / other for rate, other in zip(rates, others))
                       for others in (acquires, means)]
            print(f"  {gates:2} connections, {gates * CALLS_UNDER_WAY:2} calls under way: "
                  f"{statistics.median(rates):.0f} calls/s; EVALSHA {statistics.median(acquires):.0f}, ratio "
                  f"{against[0]:.2f}; with releases {statistics.median(means):.0f}, ratio {against[1]:.2f} "
                  f"({options.pairs} pairs)", flush=True)
    print()
