"""All clients of a run, in one process or in several, and the sum of what they saw."""
import asyncio
import os
import resource
import signal
import time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

from tools.load_client.client import Client, Ending, Plan
from tools.load_client.tally import Tally

LOOK_SECONDS = 0.05  # how often it is looked whether the run is over
FORK = get_context("fork")


def run(plan: Plan) -> Tally:
    """OwnTrouble: the clients could not do what they should, and what they saw says nothing."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    if plan.processes == 1:
        return asyncio.run(share(plan, 0))
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # from a terminal the others have it too, and end the run
    total, failed = Tally(), FORK.Event()
    with ProcessPoolExecutor(plan.processes, FORK, begin_share, (os.getpid(), failed)) as pool:
        try:
            for seen in pool.map(run_share, [plan] * plan.processes, range(plan.processes)):
                total.add(seen)
        finally:
            failed.set()  # if it is by an exception that we come here, the others need not go on
    return total


class Parent:
    """Of a process of the pool."""
    pid, failed = 0, None


def begin_share(pid: int, failed) -> None:
    Parent.pid, Parent.failed = pid, failed


def run_share(plan: Plan, part: int) -> Tally:
    return asyncio.run(share(plan, part))


def parent_gave_up() -> bool:
    return Parent.failed is not None and (Parent.failed.is_set() or os.getppid() != Parent.pid)


async def share(plan: Plan, part: int) -> Tally:
    """Of each `plan.processes` clients one. Ends as the plan says, at SIGINT or SIGTERM, or when the parent gave up."""
    tally, ending = Tally(), Ending()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, setattr, ending, "over", True)
    clients = [Client(plan, number, number >= plan.connections, tally, ending)
               for number in range(part, plan.connections + plan.fresh, plan.processes)]
    began = time.monotonic()
    watch = asyncio.create_task(watch_the_end(plan, ending, began))
    tasks = [asyncio.create_task(client.live()) for client in clients]
    try:
        await asyncio.gather(*tasks)  # the first that raises ends all
    finally:
        for task in (watch, *tasks):
            task.cancel()
        await asyncio.gather(watch, *tasks, return_exceptions=True)
    tally.seconds = time.monotonic() - began
    return tally


async def watch_the_end(plan: Plan, ending: Ending, began: float) -> None:
    while not ending.over:
        await asyncio.sleep(LOOK_SECONDS)
        ending.over |= (plan.seconds is not None and time.monotonic() - began >= plan.seconds or
                        plan.until_file is not None and os.path.exists(plan.until_file) or
                        parent_gave_up())
