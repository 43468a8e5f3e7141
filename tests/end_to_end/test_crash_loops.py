"""Code that keeps dying is started ever more rarely, the cause is shown, and nothing has to be restarted when it is
mended."""
import os
import re
import signal
import time

import pytest

from events import Events
from harness import holds_for
from processes import exists
from versions import BROKEN_IMPORT, version

DIES = version("dying", startup="asyncio.get_running_loop().call_later(0.3, os._exit, 7)")


def test_a_worker_that_dies_soon_after_ready_is_started_ever_more_rarely(start, write_app, scratch):
    events = Events(scratch / "events")
    moult = start(*events.flags, "app:app", chdir=write_app(version("fine")))
    moult.wait_serving(1)
    write_app(DIES)
    moult.client("reload", "--wait")
    moult.wait_for(lambda: events.all("worker_exited"), "the new code dies")
    seen = len(events.all("worker_exited"))
    holds_for(lambda: moult.process.poll() is None, 8, "moult stays")
    # At once, then after 1, 2, 4 s: four more in 8 s, and one in hand.
    assert 2 <= len(events.all("worker_exited")) - seen <= 6, events.all()
    assert "status 7" in moult.status()["boot_error"]


@pytest.mark.parametrize("end, told", [("os._exit(7)", {"exit_status": 7}),
                                       ("os.kill(os.getpid(), 9)", {"signal": "SIGKILL"})], ids=["exits", "is-killed"])
def test_a_worker_that_dies_at_its_birth_is_told_with_how(start, write_app, scratch, end: str, told: dict):
    events = Events(scratch / "events")
    moult = start(*events.flags, "--boot-attempts", "2", "app:app",
                  chdir=write_app(version("stillborn", top=f"os.register_at_fork(after_in_child=lambda: {end})")))
    assert moult.wait_exit() == 3
    for event in events.all("boot_failed"):
        assert {key: event.get(key) for key in told} == told, event
        assert event["pid"] > 0
    assert "it ended before it said HELLO" in moult.log()


def test_an_app_that_is_mended_serves_again_without_a_restart(start, scratch, write_app):
    broken = scratch / "broken"
    folder = write_app(version("mended", startup=f"os.path.exists({str(broken)!r}) and os._exit(9)"))
    moult = start("-w", "1", "--boot-attempts", "1000", "app:app", chdir=folder)
    moult.wait_serving(1)
    broken.touch()
    os.kill(moult.worker_pids()[0], signal.SIGKILL)
    moult.wait_for(lambda: moult.status().get("boot_error"), "the cause is in the status")
    moult.wait_for(lambda: not moult.workers(), "nobody serves")
    broken.unlink()
    moult.wait_serving(1)
    assert moult.fetch().text == "mended"
    moult.wait_for(lambda: not moult.status()["boot_error"], "the cause is forgotten")


def test_the_table_names_the_slot_that_waits_until_the_app_is_mended(start, scratch, write_app):
    broken = scratch / "broken"
    folder = write_app(version("x", startup=f"if os.path.exists({str(broken)!r}): raise ValueError('no bread')"))
    moult = start("-w", "2", "app:app", chdir=folder)
    moult.wait_serving(2)
    victim, other = moult.workers()
    broken.touch()
    os.kill(victim["pid"], signal.SIGKILL)
    row = re.compile(rf"^ +{victim['slot']} +- +waiting  next attempt in \d+s, after \d+ failed boots$", re.MULTILINE)
    moult.wait_for(lambda: row.search(moult.client("status").stdout), "the row says when it is tried again")
    assert moult.worker_pids() == [other["pid"]]
    assert re.search(r"^last trouble, \d+s ago:$", moult.client("status").stdout, re.MULTILINE)
    broken.unlink()
    moult.wait_serving(2)
    assert moult.status()["waiting_slots"] == []
    assert "waiting" not in moult.client("status").stdout


def test_a_cause_that_repeats_is_logged_once(start, scratch, write_app):
    broken = scratch / "broken"
    folder = write_app(version("x", startup=f"if os.path.exists({str(broken)!r}): raise ValueError('no bread')"))
    moult = start("--boot-attempts", "1000", "app:app", chdir=folder)
    worker = moult.wait_serving(1)[0]
    broken.touch()
    os.kill(worker, signal.SIGKILL)
    moult.wait_for(lambda: "no bread" in (moult.status().get("boot_error") or ""), "the cause is in the status")
    began = time.monotonic()
    moult.wait_for(lambda: time.monotonic() - began > 3, "some more attempts")
    causes = [line for line in moult.log().splitlines() if "no bread" in line]
    assert 1 <= len(causes) <= 12, causes  # moult says it once; the servers' own tracebacks are theirs


def test_a_fork_server_that_is_killed_is_loaded_anew_and_its_workers_live_on(start, write_app):
    moult = start("-w", "2", "app:app", chdir=write_app(version("first")))
    before = moult.wait_serving(2)
    old = moult.wait_for(moult.fork_servers, "the fork server is seen")
    write_app(version("second"))
    for pid in old:
        os.kill(pid, signal.SIGKILL)
    assert moult.fetch().status == 200
    moult.wait_for(lambda: {moult.fetch().text for _ in range(5)} == {"second"}, "workers are replaced by turns")
    after = moult.wait_serving(2)
    assert not set(before) & set(after)
    assert not set(old) & set(moult.fork_servers())


def test_a_fork_server_that_is_killed_while_the_app_is_broken_costs_no_worker(start, write_app):
    moult = start("-w", "2", "app:app", chdir=write_app(version("fine")))
    before = moult.wait_serving(2)
    write_app(BROKEN_IMPORT)
    for pid in moult.wait_for(moult.fork_servers, "the fork server is seen"):
        os.kill(pid, signal.SIGKILL)
    moult.wait_for(lambda: "the shelf is empty" in (moult.status().get("boot_error") or ""), "the cause is shown")
    assert moult.worker_pids() == before
    assert moult.fetch().text == "fine"
    write_app(version("mended"))
    moult.wait_for(lambda: moult.fetch().text == "mended", "the mended code serves", 60)
    moult.wait_serving(2)
    moult.wait_for(lambda: not moult.status()["boot_error"], "the cause is forgotten")


def test_a_fork_server_that_is_killed_again_and_again_is_loaded_ever_more_rarely(start):
    moult = start("hello:app")
    worker = moult.wait_serving(1)
    killed = set()
    end = time.monotonic() + 6
    while time.monotonic() < end:
        for pid in moult.fork_servers():
            if exists(pid):
                os.kill(pid, signal.SIGKILL)
                killed.add(pid)
        time.sleep(0.02)
    assert 2 <= len(killed) <= 8
    assert moult.fetch().status == 200
    moult.wait_for(lambda: moult.worker_pids() and moult.worker_pids() != worker, "it recovers", 60)


def test_a_crash_without_a_fork_server_is_refilled_from_the_new_load(start, write_app):
    moult = start("-w", "2", "app:app", chdir=write_app(version("first")))
    before = moult.wait_serving(2)
    write_app(version("second", startup="await asyncio.sleep(1)"))
    for pid in moult.wait_for(moult.fork_servers, "the fork server is seen"):
        os.kill(pid, signal.SIGKILL)
    os.kill(before[0], signal.SIGKILL)
    moult.wait_for(lambda: len(moult.worker_pids()) == 2 and before[0] not in moult.worker_pids(), "a refill serves")
    moult.wait_for(lambda: {moult.fetch().text for _ in range(5)} == {"second"}, "only the new load serves")
