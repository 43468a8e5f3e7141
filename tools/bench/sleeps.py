"""Does an app that sleeps again and again lose anybody? Long runs on the real thing, times scaled.

    python3 -m tools.bench.sleeps MOULT [crowds kept checks talks refusals] [--cycles N] [--kept-cycles N] [--idle S]

    crowds    sleep, then 50 who call at once: exactly one wake, and each is answered (100 times)
    kept      200 keep-alive connections through 20 sleeps, idle shorter than keep-alive, each sleep twice keep-alive
              long: none is closed, and each answers after each sleep
    checks    TCP and HTTP health checks all the time: the app sleeps on time all the same, and they are answered
    talks     an open WebSocket: the app does not sleep, and status names it; when it is closed it does
    refusals  100 who call in the window after failed wakes: each has 503 and Retry-After, and nobody tries to start

What a bound is is said with each figure. Exit 1: somebody was lost, woke it twice, or it slept when it should not.
"""
import argparse
import os
import socket
import statistics
import sys
import tempfile
import threading
import time
from pathlib import Path

from tools.bench.callers import Caller, Heard, ask_together, call_once
from tools.bench.leaks import HERE, Moult, until

PATIENCE_SECONDS = 60
CROWD = 50
KEPT = 200
CALLERS_IN_WINDOW = 100
REFUSED_WITHIN_MILLISECONDS = 50
SWEEP_SECONDS = 1.0  # how often moult looks whether it may sleep
LEAST_WINDOW_SECONDS = 3  # a window that is open for that long yet


class Sleepy(Moult):
    def __init__(self, options: argparse.Namespace, *flags: str, **env: str) -> None:
        super().__init__(options.moult, "sleep_app:app", "--chdir", str(HERE), "--python", options.python, *flags,
                         *options.flags, **env)

    def idle(self) -> dict:
        return self.status()["idle"]

    def wait_asleep(self) -> None:
        until(lambda: self.idle()["state"] == "asleep", "it sleeps", PATIENCE_SECONDS)

    def wakes(self) -> int:
        return len(self.events("woke"))


def say(name: str, passed: bool, text: str) -> bool:
    print(f"{name}: {'' if passed else 'FAILED: '}{text}; load {os.getloadavg()[0]:.2f}", flush=True)
    return passed


def troubles(heard: "list[Heard]") -> "list[str]":
    """Of those that were not answered as they should be, a few."""
    return [f"{each.status} {each.trouble} {each.body[:60]!r}" for each in heard if not each.fine][:5]


def crowd_of_strangers(port: int) -> "list[Heard]":
    """Each connects and asks."""
    heard: "list[Heard]" = []
    threads = [threading.Thread(target=lambda: heard.append(call_once(port))) for _ in range(CROWD)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return heard


def crowd_that_waited(port: int) -> "list[Heard]":
    """Each has been connected, and silent, before the first asks."""
    callers = [Caller(port) for _ in range(CROWD)]
    heard = ask_together(callers)
    for caller in callers:
        caller.close()
    return heard


def crowds(options: argparse.Namespace) -> bool:
    answered, wrong, latencies, bad = 0, [], [], []
    with Sleepy(options, "--idle", f"{options.idle:g}s") as server:
        for cycle in range(options.cycles):
            server.wait_asleep()
            before = server.wakes()
            heard = (crowd_of_strangers, crowd_that_waited)[cycle % 2](server.port)
            answered += sum(each.fine for each in heard)
            bad += troubles(heard)
            woke = until(lambda: server.events("woke")[before:], "the wake is told", PATIENCE_SECONDS)
            latencies.append(woke[0]["latency_seconds"] * 1000)
            if len(woke) != 1:
                wrong.append((cycle, len(woke)))
        server.wait_asleep()
        if server.wakes() != options.cycles:
            wrong.append(("in all", server.wakes()))
    expected = options.cycles * CROWD
    return say("crowds", answered == expected and not wrong,
               f"{options.cycles} sleeps, {answered:,} of {expected:,} answered; cycles with other than one wake: "
               f"{wrong}; wake, as moult says, median {statistics.median(latencies):.1f} ms, worst "
               f"{max(latencies):.1f} ms; {bad}")


def kept(options: argparse.Namespace) -> bool:
    keep_alive = 2 * options.idle
    closed, lost, wrong = 0, [], 0
    with Sleepy(options, "--idle", f"{options.idle:g}s", "--keep-alive", f"{keep_alive:g}s") as server:
        callers = [Caller(server.port) for _ in range(KEPT)]
        lost += troubles(ask_together(callers))
        for _ in range(options.kept_cycles):
            server.wait_asleep()
            before, fell_asleep = server.wakes(), time.monotonic()
            while time.monotonic() - fell_asleep < 2 * keep_alive:
                time.sleep(0.1)
                wrong += server.idle()["state"] != "asleep"
            closed += sum(caller.was_closed() for caller in callers)
            lost += troubles(ask_together(callers))
            wrong += len(until(lambda: server.events("woke")[before:], "the wake is told", PATIENCE_SECONDS)) != 1
        for caller in callers:
            caller.close()
    return say("kept", closed == wrong == 0 and not lost,
               f"{KEPT} connections through {options.kept_cycles} sleeps of {2 * keep_alive:g} s (--idle "
               f"{options.idle:g}s --keep-alive {keep_alive:g}s): {closed} closed, not answered: {lost[:5]}; "
               f"{wrong} times it was awake when it should not be, or woke twice")


class Checks:
    """One of each kind in turn, all the time; `unanswered` are those that were not."""

    def __init__(self, port: int, pause: float) -> None:
        self.port, self.pause, self.made, self.unanswered = port, pause, 0, []
        self.ending = threading.Event()
        self.thread = threading.Thread(target=self.run)

    def run(self) -> None:
        while not self.ending.wait(self.pause):
            try:
                with socket.create_connection(("127.0.0.1", self.port), timeout=PATIENCE_SECONDS):
                    pass
                heard = call_once(self.port)
                if heard.status != 200:
                    self.unanswered.append(f"{heard.status} {heard.trouble}")
            except OSError as error:
                self.unanswered.append(repr(error))
            self.made += 1

    def __enter__(self) -> "Checks":
        self.thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.ending.set()
        self.thread.join()


def checks(options: argparse.Namespace) -> bool:
    """As if every 5 s with --idle 75s. What callers.py asks is / here, which is what health checks ask."""
    idle, pause, late = 2 * options.idle, 2 * options.idle / 15, []
    with Sleepy(options, "--idle", f"{idle:g}s", "--idle-ignore", "/") as server:
        with Checks(server.port, pause) as asked:
            for number in range(options.check_cycles):
                server.wait_asleep()
                asleep_since = time.monotonic()
                while time.monotonic() - asleep_since < idle:
                    time.sleep(0.1)
                    if server.idle()["state"] != "asleep":
                        late.append("woken by a check")
                server.get("/visit")
                visited = time.monotonic()
                server.wait_asleep()
                took = time.monotonic() - visited
                if not idle <= took + 0.05 or took > idle + SWEEP_SECONDS + 1:
                    late.append(f"asleep {took:.2f} s after the last visit")
        made, unanswered = asked.made, asked.unanswered
    return say("checks", not late and not unanswered,
               f"{made} TCP and {made} HTTP checks, one of each every {pause:g} s (--idle {idle:g}s), "
               f"{len(unanswered)} unanswered {unanswered[:5]}; late or woken: {late}")


def upgraded(port: int) -> socket.socket:
    """An open WebSocket."""
    client = socket.create_connection(("127.0.0.1", port), timeout=PATIENCE_SECONDS)
    client.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
                   b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n")
    said = b""
    while not said.endswith(b"\r\n\r\n"):
        said += client.recv(1)
    if not said.startswith(b"HTTP/1.1 101 "):
        raise SystemExit(f"no WebSocket is to be had: {said!r}")
    return client


def is_answered(client: socket.socket) -> bool:
    """To a message: a masked frame of text, with a mask of zeros."""
    client.sendall(b"\x81\x82\x00\x00\x00\x00hi")
    return client.recv(1) == b"\x81"


def talks(options: argparse.Namespace) -> bool:
    seen, lasts = [], 5 * options.idle
    with Sleepy(options, "--idle", f"{options.idle:g}s") as server:
        with upgraded(server.port) as client:
            end = time.monotonic() + lasts
            while time.monotonic() < end:
                time.sleep(options.idle / 2)
                idle = server.idle()
                seen.append((idle["state"], idle["blocked_by"]))
            answered = is_answered(client)
        server.wait_asleep()
    stayed = all(state == "active" for state, _ in seen)
    named = all(why == "upgraded" for _, why in seen[3:])  # not before the last visitor has been gone for --idle
    return say("talks", stayed and named and answered, f"an open WebSocket for {lasts:g} s (--idle "
               f"{options.idle:g}s): {seen[-1]} at the last of {len(seen)} looks, and it is answered; when it is "
               f"closed the app sleeps")


def refusals(options: argparse.Namespace) -> bool:
    with tempfile.TemporaryDirectory(prefix="moult-sleeps-") as folder:
        broken = Path(folder) / "broken"
        with Sleepy(options, "--wake-timeout", "2s", SLEEP_APP_BROKEN=str(broken)) as server:
            server.ask_master("sleep")
            server.wait_asleep()
            broken.touch()

            def window() -> float:
                return server.idle()["refuses_for_seconds"] or 0.0

            def is_long() -> bool:
                return call_once(server.port).status == 503 and window() >= LEAST_WINDOW_SECONDS
            until(is_long, "wakes fail", PATIENCE_SECONDS)
            failed, heard = len(server.events("wake_failed")), []
            for timed_from in ("connect", "request"):
                began = time.monotonic()
                callers = [Caller(server.port) for _ in range(CALLERS_IN_WINDOW)]
                heard.append(ask_together(callers, began if timed_from == "connect" else None))
                for caller in callers:
                    caller.close()
            tried = len(server.events("wake_failed")) - failed
            still = window()
    passed = True
    for how, group in zip(("from the first connect", "from each request"), heard):
        polite = sum(each.status == 503 and int(each.headers.get("retry-after", 0)) >= 1 and b"shelf" not in each.body
                     for each in group)
        milliseconds = sorted(each.seconds * 1000 for each in group)
        late = sum(each > REFUSED_WITHIN_MILLISECONDS for each in milliseconds)
        passed &= say(f"refusals, {how}", polite == CALLERS_IN_WINDOW and tried == 0 and still > 0,
                      f"{polite} of {CALLERS_IN_WINDOW} have a polite 503, median "
                      f"{statistics.median(milliseconds):.1f} ms, the last after {milliseconds[-1]:.1f} ms, {late} "
                      f"after more than {REFUSED_WITHIN_MILLISECONDS} ms; {tried} attempts meanwhile")
    return passed


def main() -> int:
    parts = {"crowds": crowds, "kept": kept, "checks": checks, "talks": talks, "refusals": refusals}
    parser = argparse.ArgumentParser(prog="tools.bench.sleeps", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("moult")
    parser.add_argument("what", nargs="*", metavar="|".join(parts), default=list(parts))
    parser.add_argument("--cycles", type=int, default=100, help="of crowds (100)")
    parser.add_argument("--kept-cycles", type=int, default=20, help="of kept (20)")
    parser.add_argument("--check-cycles", type=int, default=10, help="of checks (10)")
    parser.add_argument("--idle", type=float, default=1.0, help="seconds; what else is a time is a multiple (1)")
    parser.add_argument("--python", default="/usr/bin/python3")
    parser.add_argument("--flag", dest="flags", action="append", default=[], help="one more flag for moult")
    options = parser.parse_args()
    unknown = set(options.what) - set(parts)
    if unknown:
        parser.error(f"there is no {', '.join(sorted(unknown))}")
    print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.2f}, python {options.python} "
          f"{' '.join(options.flags)}\n", flush=True)
    return 0 if all([parts[name](options) for name in options.what]) else 1


if __name__ == "__main__":
    sys.exit(main())
