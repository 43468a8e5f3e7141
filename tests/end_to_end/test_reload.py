"""New code is loaded beside the old; what does not work is refused, and the old code serves on."""
import datetime
import os
import re
import signal

import pytest

from events import Events
from harness import holds_for
from load import Load
from versions import BROKEN_IMPORT, BROKEN_STARTUP, HANGING_STARTUP, version


@pytest.fixture
def old(start, write_app):
    """Two workers of version old; failed boots are given up quickly."""
    moult = start("-w", "2", "--boot-attempts", "2", "--boot-timeout", "2s", "app:app",
                  chdir=write_app(version("old")))
    moult.wait_serving(2)
    assert moult.fetch().text == "old"
    return moult


def test_reload_wait_ends_when_every_worker_serves_the_new_code(old, write_app):
    before = old.worker_pids()
    write_app(version("new"))
    reload = old.client("reload", "--wait")
    assert reload.returncode == 0, reload.stderr
    assert {old.fetch().text for _ in range(10)} == {"new"}
    assert not set(before) & set(old.wait_serving(2))


def test_hup_reloads(old, write_app):
    write_app(version("new"))
    old.signal(signal.SIGHUP)
    old.wait_for(lambda: {old.fetch().text for _ in range(5)} == {"new"}, "only the new code answers")


def test_no_request_fails_while_the_code_is_exchanged(old, write_app):
    with Load(old.address) as load:
        for number in range(3):
            write_app(version(f"new {number}"))
            assert old.client("reload", "--wait").returncode == 0
        old.wait_for(lambda: load.answers["new 2"], "an answer of the last one")
    assert load.failures == []


def test_a_request_in_flight_is_answered_by_the_old_worker(old, write_app):
    with Load(old.address, clients=1, path="/slow") as load:
        old.wait_for(lambda: any(w["in_flight"] for w in old.workers()), "a request is in flight")
        write_app(version("new"))
        assert old.client("reload", "--wait").returncode == 0
    assert load.failures == []
    assert load.answers["old"] >= 1


@pytest.mark.parametrize("broken, cause", [(BROKEN_IMPORT, "the shelf is empty"),
                                           (BROKEN_STARTUP, "the cupboard is bare")],
                         ids=["at import", "at start-up"])
def test_code_that_fails_is_refused_with_its_cause_and_the_old_code_serves_on(old, write_app, broken, cause):
    before = old.worker_pids()
    write_app(broken)
    reload = old.client("reload", "--wait")
    assert reload.returncode != 0
    assert cause in reload.stdout + reload.stderr + old.log()
    assert cause in (old.status()["boot_error"] or "")
    assert old.fetch().text == "old"
    assert old.worker_pids() == before


def test_the_trouble_of_a_refused_reload_has_its_time_and_is_said_to_be_past(old, write_app):
    before = datetime.datetime.now(datetime.timezone.utc)
    write_app(BROKEN_IMPORT)
    assert old.client("reload", "--wait").returncode != 0
    status = old.status()
    at = datetime.datetime.fromisoformat(status["boot_error_at"].replace("Z", "+00:00"))
    assert before - datetime.timedelta(seconds=1) < at < datetime.datetime.now(datetime.timezone.utc)
    assert old.status()["boot_error_at"] == status["boot_error_at"]
    said = r"^last trouble, (\d+s|\d+m\d\ds) ago, every wanted worker serves now:$"
    assert re.search(said, old.client("status").stdout, re.MULTILINE)


def test_code_that_never_gets_ready_is_refused_after_the_boot_timeout(old, write_app):
    before = old.worker_pids()
    write_app(HANGING_STARTUP)
    reload = old.client("reload", "--wait", timeout=60)
    assert reload.returncode != 0
    assert old.status()["boot_error"]
    assert old.fetch().text == "old"
    old.wait_for(lambda: old.worker_pids() == before, "the old workers serve")


def test_a_reload_to_mended_code_succeeds_after_one_that_was_refused(old, write_app):
    write_app(BROKEN_IMPORT)
    assert old.client("reload", "--wait").returncode != 0
    write_app(version("mended"))
    reload = old.client("reload", "--wait")
    assert reload.returncode == 0, reload.stderr
    assert old.fetch().text == "mended"
    old.wait_for(lambda: not old.status()["boot_error"], "the cause is forgotten")


def test_a_worker_that_crashes_during_a_bad_reload_is_refilled_from_the_old_code(old, write_app):
    write_app(HANGING_STARTUP)
    assert old.client("reload").returncode == 0
    old.wait_for(lambda: old.workers("booting"), "the new code boots")
    victim = old.worker_pids()[0]
    os.kill(victim, signal.SIGKILL)
    old.wait_for(lambda: len(old.worker_pids()) == 2 and victim not in old.worker_pids(), "a refill serves")
    assert {old.fetch().text for _ in range(10)} == {"old"}


def test_a_bad_reload_ends_though_slots_of_the_old_code_cannot_boot_either(start, scratch, write_app):
    bad = scratch / "bad"
    events = Events(scratch / "moult.jsonl")
    moult = start("-w", "3", "--boot-attempts", "3", *events.flags, "app:app", chdir=write_app(version(
        "old", startup=f"if os.path.exists({str(bad)!r}): raise ValueError('no database')")))
    pids = moult.wait_serving(3)
    bad.touch()
    for pid in pids[:2]:
        os.kill(pid, signal.SIGKILL)
    moult.wait_for(lambda: "no database" in (moult.status()["boot_error"] or ""), "the old code cannot boot")
    write_app(BROKEN_STARTUP)
    reload = moult.client("reload", "--wait", timeout=60)
    assert reload.returncode == 1 and "the cupboard is bare" in reload.stderr, reload.stderr
    ended = moult.wait_for(lambda: events.all("reload_finished"), "the event is written")
    assert [each["outcome"] for each in ended] == ["rejected"]
    assert moult.worker_pids() == [pids[2]] and moult.fetch().text == "old"
    bad.unlink()
    moult.wait_serving(3, deadline=60)
    assert {moult.fetch().text for _ in range(10)} == {"old"}


@pytest.fixture
def only_the_candidate(start, scratch, write_app):
    """During a reload whose workers do not get ready the old fork server is killed, and then the old worker that is
    not being replaced. Returns moult, the old worker that is left, and what lets the new start-up go on."""
    waits = scratch / "waits"
    waits.touch()
    moult = start("-w", "2", "--boot-attempts", "2", "app:app", chdir=write_app(version("old")))

    def begin(new: str, then: str = "pass"):
        moult.wait_serving(2)
        (old_server,) = moult.wait_for(moult.fork_servers, "the fork server is seen")
        write_app(version(new, startup=f"""
            while os.path.exists({str(waits)!r}):
                await asyncio.sleep(0.05)
            {then}"""))
        assert moult.client("reload").returncode == 0
        (successor,) = moult.wait_for(lambda: moult.workers("booting"), "the new code boots")
        os.kill(old_server, signal.SIGKILL)
        moult.wait_log("is gone")
        victim, left = sorted(moult.workers(), key=lambda worker: worker["slot"] == successor["slot"])
        os.kill(victim["pid"], signal.SIGKILL)
        moult.wait_for(lambda: sorted((worker["slot"], worker["generation"]) for worker in moult.workers("booting"))
                       == [(slot, successor["generation"]) for slot in (0, 1)], "its slot is filled with the new code")
        assert moult.worker_pids() == [left["pid"]]
        assert moult.fetch().text == "old"
        return moult, left["pid"], waits.unlink
    return begin


def test_a_worker_that_crashes_when_the_old_fork_server_is_gone_too_is_refilled_from_the_new_code(only_the_candidate):
    moult, _, go_on = only_the_candidate("new")
    go_on()
    moult.wait_for(lambda: {moult.fetch().text for _ in range(5)} == {"new"}, "only the new code answers")
    moult.wait_serving(2)


def test_where_only_bad_code_can_be_forked_the_old_worker_serves_on_until_a_reload_mends_it(only_the_candidate,
                                                                                          write_app):
    moult, left, go_on = only_the_candidate("bad", "raise ValueError('the cupboard is bare')")
    go_on()
    moult.wait_for(lambda: "the cupboard is bare" in (moult.status()["boot_error"] or ""), "the cause is shown")
    holds_for(lambda: moult.worker_pids() == [left] and moult.fetch().text == "old", 5,
              "the old worker serves on, though more than --boot-attempts have failed")
    write_app(version("mended"))
    reload = moult.client("reload", "--wait", timeout=60)
    assert reload.returncode == 0, reload.stderr
    assert {moult.fetch().text for _ in range(10)} == {"mended"}
    moult.wait_for(lambda: not moult.status()["boot_error"], "the cause is forgotten")


def test_a_second_reload_supersedes_one_that_hangs(old, write_app):
    write_app(HANGING_STARTUP)
    assert old.client("reload").returncode == 0
    old.wait_for(lambda: old.workers("booting"), "the hanging code boots")
    write_app(version("newest"))
    reload = old.client("reload", "--wait", timeout=60)
    assert reload.returncode == 0, reload.stderr
    assert {old.fetch().text for _ in range(10)} == {"newest"}


def test_a_stop_during_a_reload_that_hangs_ends_it(old, write_app):
    write_app(HANGING_STARTUP)
    assert old.client("reload").returncode == 0
    old.wait_for(lambda: old.workers("booting"), "the hanging code boots")
    assert old.stop() == 0


def test_the_generation_rises_with_each_load(old):
    before = old.status()["generation"]
    assert old.client("reload", "--wait").returncode == 0
    assert old.status()["generation"] > before


def test_many_signals_at_once_end_in_one_state(old, write_app):
    write_app(version("new"))
    for _ in range(20):
        old.signal(signal.SIGHUP)
    old.wait_for(lambda: {old.fetch().text for _ in range(5)} == {"new"}, "only the new code answers")
    old.wait_serving(2)
