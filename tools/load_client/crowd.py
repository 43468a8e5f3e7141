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


def run(plan: Plan) -> Tally:
    """OwnTrouble: the clients could not do what they should, and what they saw says nothing."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    if plan.processes == 1:
        return asyncio.run(share(plan, 0))
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # from a terminal the others have it too, and end the run
    total = Tally()
    with ProcessPoolExecutor(plan.processes, mp_context=get_context("fork")) as pool:
        for seen in pool.map(run_share, [(plan, part, os.getpid()) for part in range(plan.processes)]):
            total.add(seen)
    return total


def run_share(what: "tuple[Plan, int, int]") -> Tally:
    plan, part, parent = what
    return asyncio.run(share(plan, part, parent))


async def share(plan: Plan, part: int, parent: int = 0) -> Tally:
    """Of each `plan.processes` clients one. Ends as the plan says, at SIGINT or SIGTERM, or when the parent is gone."""
    tally, ending = Tally(), Ending()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, setattr, ending, "over", True)
    clients = [Client(plan, number, number >= plan.connections, tally, ending)
               for number in range(part, plan.connections + plan.fresh, plan.processes)]
    began = time.monotonic()
    watch = asyncio.create_task(watch_the_end(plan, ending, began, parent))
    tasks = [asyncio.create_task(client.live()) for client in clients]
    try:
        await asyncio.gather(*tasks)  # the first that raises ends all
    finally:
        for task in (watch, *tasks):
            task.cancel()
        await asyncio.gather(watch, *tasks, return_exceptions=True)
    tally.seconds = time.monotonic() - began
    return tally


async def watch_the_end(plan: Plan, ending: Ending, began: float, parent: int) -> None:
    while not ending.over:
        await asyncio.sleep(LOOK_SECONDS)
        ending.over |= (plan.seconds is not None and time.monotonic() - began >= plan.seconds or
                        plan.until_file is not None and os.path.exists(plan.until_file) or
                        parent != 0 and os.getppid() != parent)
