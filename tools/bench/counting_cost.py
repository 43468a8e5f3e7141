"""What counting costs a Python worker, a request: started, oldest in flight, finished, last activity. At most 1 us.

The C++ side is scoreboard_cost.cc. Run with the Python that serves; `python3 -m tools.bench MOULT micro` does.
"""

import asyncio
import os
import struct
import sys
import threading
import time
import timeit
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Callable, List

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "worker/python"))

from moult import contract, ledger  # noqa: E402
from moult.ignored_paths import IgnoredPaths  # noqa: E402
from moult.uvicorn_counting import Counting, can_count  # noqa: E402

ROUNDS, REPEATS = 10_000, 100  # short rounds, so that some of them are not disturbed
HEADERS = [(b"host", b"127.0.0.1:8000"), (b"user-agent", b"curl/7.88.1"), (b"accept", b"*/*")]
STATUS_LINE = {200: b"HTTP/1.1 200 OK\r\n"}  # of this module, which stands for uvicorn's


def scoreboard() -> Any:
    fd = os.memfd_create("scoreboard")
    os.ftruncate(fd, contract.SCOREBOARD_BYTES)
    os.pwrite(fd, struct.pack("=QQ", contract.SCOREBOARD_MAGIC, contract.SCOREBOARD_VERSION), 0)
    return contract.open_scoreboard(fd)


def one_request(counted: ledger.Ledger, others: int = 0) -> Callable[[], None]:
    begin, finish = counted.begin, counted.finish
    for other in range(others):
        begin(("other", other))

    def request() -> None:
        key = object()
        begin(key)
        finish(key)
    return request


def with_ages(words: Any) -> ledger.Ledger:
    return ledger.showing_oldest(ledger.of_visitors(words), words)


def the_oldest_ends(counted: ledger.Ledger, others: int) -> Callable[[], None]:
    """Another becomes the oldest each time."""
    begin, finish = counted.begin, counted.finish
    keys = [object() for _ in range(others)]
    for key in keys:
        begin(key)
    turn = 0

    def request() -> None:
        nonlocal turn
        key = keys[turn]
        finish(key)
        begin(key)
        turn = (turn + 1) % others
    return request


class RequestResponseCycle:
    """uvicorn's, without what it does: each request makes one, and runs it."""

    def __init__(self, scope: dict, transport: Any) -> None:
        self.scope, self.transport, self.more_body = scope, transport, False

    def run_asgi(self, app: Any) -> None:
        pass


class Protocol:
    """uvicorn's, without what it does."""

    def __init__(self, _loop: Any = None) -> None:
        self.cycle: Any = None
        self.transport: Any = self

    def get_write_buffer_size(self) -> int:
        return 0

    def on_response_complete(self) -> None:
        pass


class ConnectionLoop:
    def __init__(self) -> None:
        self.whole = asyncio.new_event_loop()


def through_uvicorn(protocol: Any) -> Callable[[], None]:
    """A request as uvicorn has it: a cycle is made and run, and its answer is complete."""
    scope, app = {"headers": HEADERS}, object()
    module = sys.modules[__name__]

    def request() -> None:
        protocol.cycle = cycle = module.RequestResponseCycle(scope, protocol)
        cycle.run_asgi(app)
        protocol.on_response_complete()
    return request


def nanoseconds(request: Callable[[], None]) -> float:
    """CPU time: what else the machine does is not in it, and the least of it is what the code needs."""
    times: List[float] = timeit.repeat(request, timer=time.process_time, number=ROUNDS, repeat=REPEATS)
    return min(times) / ROUNDS * 1e9


def show(name: str, cost: float) -> None:
    print(f"{name:58} {cost:8.0f} ns", flush=True)


def main() -> None:
    print(f"Python {sys.version.split()[0]}: least CPU time of {REPEATS} times {ROUNDS} requests")
    words, lock = scoreboard(), threading.Lock()
    show("a visitor, alone", nanoseconds(one_request(ledger.of_visitors(words))))
    show("a visitor, 1000 others in flight", nanoseconds(one_request(ledger.of_visitors(words), 1000)))
    show("a visitor, alone, with --request-timeout", nanoseconds(one_request(with_ages(words))))
    for others in (10, 1000):
        show(f"the oldest of {others} ends, with --request-timeout",
             nanoseconds(the_oldest_ends(with_ages(words), others)))
    show("a visitor in a worker of threads (one lock)",
         nanoseconds(one_request(ledger.thread_safe(ledger.of_visitors(words), lock))))
    show("a scheduled call", nanoseconds(one_request(ledger.of_calls(words))))

    assert can_count(Protocol)
    bare = nanoseconds(through_uvicorn(Protocol()))
    connection_loop = ConnectionLoop()
    worker, config = SimpleNamespace(words=words), SimpleNamespace(loaded_app=None, ssl=None)
    counting = Counting(Protocol, worker, ledger.of_visitors(words), ledger.of_calls(words), connection_loop, config,
                        IgnoredPaths([]))
    counted = nanoseconds(through_uvicorn(counting.public()))
    show("all that is added to a request of uvicorn's", counted - bare)
    connection_loop.whole.close()


if __name__ == "__main__":
    main()
