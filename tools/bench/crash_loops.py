"""Crash loops over minutes: how often code that cannot work is started, what it costs, how soon mended code serves.

Each scenario runs twice, with a bare ASGI app and with one that imports FastAPI; all of them at once, since they idle.
Prints figures. Nothing passes or fails.
"""

import argparse
import contextlib
import http.client
import json
import os
import signal
import socket
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Callable, Dict, List, NamedTuple, Optional

from tools.bench.processes import Server, cpu_seconds, free_port, stat, tree_cpu_seconds

WORKERS = 3
WINDOW_SECONDS = 30
MEND_SECONDS = 120  # then it is said that it did not serve
MEND_APART_SECONDS = 5
LOOK_SECONDS = 0.1
FORKS = ("worker_ready", "boot_failed")  # the events of which each launched worker has exactly one

APP = '''
import asyncio, os
{imports}
{trouble}
async def app(scope, receive, send):
    if scope["type"] == "lifespan":
        await receive()
        if os.path.exists({flag!r}):
            asyncio.get_running_loop().call_later(0.3, os._exit, 7)
        await send({{"type": "lifespan.startup.complete"}})
        await receive()
        await send({{"type": "lifespan.shutdown.complete"}})
        return
    body = {version!r}.encode()
    await send({{"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"%d" % len(body))]}})
    await send({{"type": "http.response.body", "body": body}})
'''
IMPORTS = {"bare": "", "fastapi": "from fastapi import FastAPI\nframework = FastAPI()"}
BREAK = "raise ValueError('the shelf is empty')"


class Loop:
    """One instance of moult in a crash loop."""

    def __init__(self, options: argparse.Namespace, folder: Path, scenario: "Scenario", imports: str) -> None:
        self.scenario, self.imports, self.folder = scenario, imports, folder
        folder.mkdir()
        self.flag, self.events = folder / "broken", folder / "events"
        self.control = str(folder / "control")
        self.moult, self.killed = options.moult, 0
        self.unlisted: "set[int]" = set()  # children that were in nobody's list at the last look
        self.seen: Dict[int, float] = {}  # fork servers, and when they were seen first
        self.write("old")
        port = free_port()
        command = [options.moult, "run", "app:app", "-w", str(WORKERS), "-b", f"127.0.0.1:{port}", "--python",
                   options.python, "--control", self.control, "--events", str(self.events)]
        self.server = Server(command, port, folder, {"PYTHONDONTWRITEBYTECODE": "1"})
        self.windows: List[List[float]] = []  # seconds, forks and loads so far, at the beginning and at each end
        self.shares: Optional[List[float]] = None

    @property
    def name(self) -> str:
        return f"{self.scenario.name}, {self.imports}"

    @property
    def master(self) -> int:
        return self.server.process.pid

    def write(self, version: str, trouble: str = "") -> None:
        text = APP.format(imports=IMPORTS[self.imports], trouble=trouble, flag=str(self.flag), version=version)
        beside = self.folder / "app.py.new"
        beside.write_text(text)
        beside.rename(self.folder / "app.py")

    def client(self, *arguments: str) -> subprocess.CompletedProcess:
        return subprocess.run([self.moult, *arguments, "--control", self.control], capture_output=True, text=True)

    def status(self) -> dict:
        """Asked for without `moult status`: a process a look would be most of what the machine does."""
        with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX) as client:
            client.settimeout(5)
            client.connect(self.control)
            client.sendall(b'{"protocol":1,"command":"status"}\n')
            with client.makefile("rb") as answers:
                return json.loads(answers.readline() or b"{}").get("result", {})
        return {}

    def fork_servers(self) -> List[int]:
        """The master's children that are no workers, at two looks: one forked just now is not listed yet."""
        workers = {worker["pid"] for worker in self.status().get("workers", [])}
        children = {pid for pid in self.server.pids() if is_child(pid, self.master)} - workers
        again, self.unlisted = sorted(children & self.unlisted), children
        return again

    def answers(self, version: str) -> bool:
        with contextlib.suppress(OSError, http.client.HTTPException):
            return self.server.get("/", timeout=2) == version.encode()
        return False

    def counts(self) -> List[float]:
        """Forks by the events. Of loads the log alone has all: those that nobody asked for are no reload."""
        lines = [json.loads(line) for line in self.events.read_text().split("\n")[:-1] if line]
        forks = sum(line["event"] in FORKS for line in lines)
        return [time.monotonic(), forks, self.server.said().count(": loading the app")]

    def note_window(self) -> None:
        self.windows.append(self.counts())

    def note_cpu(self) -> List[float]:
        return [time.monotonic(), cpu_seconds([self.master]), tree_cpu_seconds(self.server.pids())]


def is_child(pid: int, parent: int) -> bool:
    fields = stat(pid)
    return fields is not None and fields[0] != "Z" and int(fields[1]) == parent


class Scenario(NamedTuple):
    name: str
    begin: Callable[[Loop], None]
    keep_on: Callable[[Loop], None]  # called some times a second
    mend: Callable[[Loop], None]  # the new version is called "mended"


def nothing(loop: Loop) -> None:
    pass


def kill_fork_servers(loop: Loop, age_seconds: float = 0) -> None:
    """Each once it has been there for so long."""
    now = time.monotonic()
    for pid in loop.fork_servers():
        if now - loop.seen.setdefault(pid, now) >= age_seconds:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
                loop.killed += 1


def kill_old_fork_servers(loop: Loop) -> None:
    kill_fork_servers(loop, age_seconds=2)


def break_and_reload(loop: Loop) -> None:
    loop.write("broken", BREAK)
    loop.client("reload", "--wait")


def break_and_kill_fork_server(loop: Loop) -> None:
    break_and_reload(loop)
    while not loop.killed:
        kill_fork_servers(loop)


def die(loop: Loop) -> None:
    loop.flag.touch()
    loop.client("reload")


def write_mended(loop: Loop) -> None:
    loop.write("mended")


def write_mended_and_reload(loop: Loop) -> None:
    loop.write("mended")
    loop.flag.unlink(missing_ok=True)
    loop.client("reload")


def write_mended_and_kill_the_last(loop: Loop) -> None:
    """One that lives has loaded the old code already, and would serve it for good."""
    loop.write("mended")
    for _ in range(2):
        kill_fork_servers(loop)
        time.sleep(LOOK_SECONDS)


def remove_the_cause(loop: Loop) -> None:
    loop.flag.unlink()


SCENARIOS = [
    Scenario("reload to code that raises at import; mended by a reload", break_and_reload, nothing,
             write_mended_and_reload),
    Scenario("the same, and the old fork server is gone; mended by itself", break_and_kill_fork_server, nothing,
             write_mended),
    Scenario("dies 300 ms after READY; its cause goes away", die, nothing, remove_the_cause),
    Scenario("dies 300 ms after READY; mended by a reload", die, nothing, write_mended_and_reload),
    Scenario("fork server killed 0.1 s after it is seen", nothing, kill_fork_servers,
             write_mended_and_kill_the_last),
    Scenario("fork server killed 2 s after it is seen", nothing, kill_old_fork_servers,
             write_mended_and_kill_the_last),
]


def run_until(loops: List[Loop], end: float) -> None:
    while time.monotonic() < end:
        for loop in loops:
            loop.scenario.keep_on(loop)
        time.sleep(LOOK_SECONDS)


def measure(loops: List[Loop], seconds: int) -> None:
    """Windows of half a minute; the CPU time of the last two."""
    began = time.monotonic()
    for loop in loops:
        loop.scenario.begin(loop)
        loop.note_window()
    before: List[List[float]] = []
    count = max(2, seconds // WINDOW_SECONDS)
    for window in range(count):
        if window == count - 2:
            before = [loop.note_cpu() for loop in loops]
        run_until(loops, began + (window + 1) * WINDOW_SECONDS)
        for loop in loops:
            loop.note_window()
    for loop, then in zip(loops, before):
        now = loop.note_cpu()
        wall, own, tree = (after - first for after, first in zip(now, then))
        loop.shares = [own / wall, (tree - own) / wall]


def mend(loops: List[Loop]) -> "dict[str, Optional[float]]":
    """Seconds from the mending of each until all its workers serve, if they did. One begins after the other, so that
    their loads do not wait for each other."""
    began: Dict[str, float] = {}
    served: "dict[str, Optional[float]]" = {loop.name: None for loop in loops}
    start = time.monotonic()
    while None in served.values() and time.monotonic() - start < MEND_SECONDS + len(loops) * MEND_APART_SECONDS:
        for number, loop in enumerate(loops):
            if loop.name in began:
                if served[loop.name] is None and is_well(loop):
                    served[loop.name] = time.monotonic() - began[loop.name]
            elif time.monotonic() - start >= number * MEND_APART_SECONDS:
                began[loop.name] = time.monotonic()
                loop.scenario.mend(loop)
            else:
                loop.scenario.keep_on(loop)
        time.sleep(LOOK_SECONDS)
    return served


def is_well(loop: Loop) -> bool:
    """Every wanted worker serves the code that is on disk."""
    version = "old" if loop.scenario.mend is remove_the_cause else "mended"
    status = loop.status() if loop.answers(version) else {}
    workers = status.get("workers", [])
    return (len(workers) == WORKERS and all(worker["state"] == "serving" for worker in workers)
            and all(loop.answers(version) for _ in range(2 * WORKERS)))


def report(loop: Loop, cause: str, served: Optional[float]) -> None:
    print(loop.name)
    for before, after in zip(loop.windows, loop.windows[1:]):
        forks, loads = ((after[which] - before[which]) / (after[0] - before[0]) * 60 for which in (1, 2))
        print(f"  {forks:5.1f} forks/min  {loads:5.1f} loads/min")
    own, rest = (share * 100 for share in loop.shares or [0, 0])
    print(f"  CPU in the last minute: {own + rest:.2f} % of a core = master {own:.2f} + app {rest:.2f}")
    if loop.killed:
        print(f"  killed {loop.killed} fork servers")
    print(f"  status names: {cause!r}")
    serves = f"{served:.1f} s until all workers serve it" if served else f"does not serve: {loop.status()}"
    print(f"  mended: {serves}\n", flush=True)


def crash_loops(options: argparse.Namespace) -> None:
    print(f"Crash loops of {WORKERS} workers, {WINDOW_SECONDS} s a window; back-off at most 30 s: 2 a minute and slot")
    with tempfile.TemporaryDirectory(prefix="moult-loops-") as scratch, contextlib.ExitStack() as running:
        loops = [Loop(options, Path(scratch) / f"{number}-{imports}", scenario, imports)
                 for number, scenario in enumerate(SCENARIOS) for imports in IMPORTS]
        for loop in loops:
            running.enter_context(loop.server)
        measure(loops, options.loop_seconds)
        causes = [str(loop.status().get("boot_error")).strip().splitlines()[-1] for loop in loops]
        served = mend(loops)
        print()
        for loop, cause in zip(loops, causes):
            report(loop, cause, served[loop.name])
