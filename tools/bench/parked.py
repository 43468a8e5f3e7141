"""What many parked connections cost the master, and whether all of them work afterwards.

    python3 -m tools.bench.parked MOULT --cell NAME ... [--count 2000] [--seconds 30]

One worker has so many idle keep-alive connections; it is recycled, so that all of them wait in the master; after a
while each client speaks again. Exit 1: a client was not answered on the connection that it had.
"""
import argparse
import contextlib
import os
import resource
import socket
import sys
import tempfile
import time

from tools.bench.cells import ROOT, Cell, all_cells
from tools.bench.leaks import Moult, until
from tools.bench.processes import cpu_seconds, memory_bytes, stat
from tools.bench.recycles import PATIENCE_SECONDS, UNHURRIED

REQUEST = b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"


def speak(client: socket.socket) -> bool:
    """Whether it is answered, whole, and may go on."""
    client.sendall(REQUEST)
    answer = b""
    while not answer.endswith(b"\r\n\r\nready"):
        received = client.recv(4096)
        if not received:
            return False
        answer += received
    return answer.startswith(b"HTTP/1.1 200 ") and b"connection: close" not in answer.lower()


def share_of_a_core(pid: int, seconds: float) -> float:
    before, since = cpu_seconds([pid]), time.monotonic()
    time.sleep(seconds)
    return (cpu_seconds([pid]) - before) / (time.monotonic() - since) * 100


def figures(pid: int, seconds: float) -> str:
    uss = memory_bytes(pid, "Private_Clean", "Private_Dirty")
    pss, share = memory_bytes(pid, "Pss"), share_of_a_core(pid, seconds)
    return f"PSS {pss / 1e6:.1f} MB, USS {uss / 1e6:.1f} MB, CPU {share:.2f} %"


def measure(options: argparse.Namespace, cell: Cell) -> bool:
    with contextlib.ExitStack() as open_now:
        folder = open_now.enter_context(tempfile.TemporaryDirectory(prefix="moult-parked-"))
        path = f"{folder}/socket"
        bind = ["-b", f"unix:{path}"] if cell.unix else []
        server = open_now.enter_context(Moult(options.moult, cell.app, "--chdir", str(ROOT), "--python", cell.python,
                                              *bind, *cell.flags, *UNHURRIED, *options.flags))
        master, old = server.process.pid, server.wait_serving(1)[0]["pid"]
        where = (socket.AF_UNIX, path) if cell.unix else (socket.AF_INET, ("127.0.0.1", server.port))
        clients = []
        for _ in range(options.count):
            clients.append(open_now.enter_context(socket.socket(where[0])))
            clients[-1].settimeout(PATIENCE_SECONDS)
            clients[-1].connect(where[1])
            if not speak(clients[-1]):
                raise SystemExit("a client was not answered before anything happened")
        print(f"{cell.name}: {options.count} connections; master before: {figures(master, options.seconds)}",
              flush=True)
        cpu = cpu_seconds([master])
        server.ask_master("recycle")
        until(lambda: server.status()["workers"] and server.status()["parking"]["held"] > 0, "one is parked", 60)
        began = time.monotonic()
        until(lambda: stat(old) is None, "the worker that had them is gone", PATIENCE_SECONDS)
        took, parking = time.monotonic() - began, server.status()["parking"]
        print(f"  given up within {took:.2f} s of the first one, "
              f"{(cpu_seconds([master]) - cpu) * 1e6 / options.count:.0f} µs of the master's CPU each; "
              f"held {parking['held']}, declined {parking['declined']}")
        print(f"  master meanwhile: {figures(master, options.seconds)}", flush=True)
        cpu, began = cpu_seconds([master]), time.monotonic()
        answered = sum(speak(client) for client in clients)
        print(f"  {answered} answered on the connections that they had, one after the other, in "
              f"{time.monotonic() - began:.2f} s; {(cpu_seconds([master]) - cpu) * 1e6 / options.count:.0f} µs of the "
              f"master's CPU each\n  master afterwards: {figures(master, options.seconds)}; parking "
              f"{server.status()['parking']}\n", flush=True)
    return answered == options.count


def main() -> int:
    cells = all_cells()
    moults = [name for name, cell in cells.items() if not cell.is_peer]
    parser = argparse.ArgumentParser(prog="tools.bench.parked", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("moult")
    parser.add_argument("--cell", dest="cells", nargs="+", required=True, metavar="NAME", choices=moults)
    parser.add_argument("--count", type=int, default=2000)
    parser.add_argument("--seconds", type=float, default=30, help="over which the master's CPU time is "
                        "measured; less than the 75 after which a silent connection is closed")
    parser.add_argument("--flag", dest="flags", action="append", default=[], help="one more flag for moult")
    options = parser.parse_args()
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.2f}\n", flush=True)
    return 0 if all([measure(options, cells[name]) for name in options.cells]) else 1


if __name__ == "__main__":
    sys.exit(main())
