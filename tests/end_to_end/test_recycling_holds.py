"""One run for each reason to wait: hold_started says why, until when and by which figures; hold_ended how long."""
import os
import signal
import threading

import pytest

from harness import fetch, holds_for
from recycling import memory_cgroup  # noqa: F401
from recycling import (LIMIT, MEGABYTE, OVER_HARD_LIMIT, OVER_LIMIT, UNHURRIED, Neighbour, Run, paced, rss_bytes,
                       seconds_between)


def held_in(line: dict, reason: str) -> float:
    return sum(hold["seconds"] for hold in line["holds"] if hold["reason"] == reason)


def until_seconds(started: dict) -> float:
    """How long it was to last at most, when it began."""
    return seconds_between(started, {"at": started["until"]})


def assert_told_in(line: dict, reason: str, ended: dict) -> None:
    """The recycle's own line has the hold too, as long as hold_ended said."""
    assert line["pid"] == ended["pid"]
    assert held_in(line, reason) >= ended["held_seconds"] - 0.005


def test_the_second_reading_is_waited_for_until_it_is_due(start, scratch):
    run = Run(start, scratch, *LIMIT, "--sample-near", "300ms", "--sample-far", "300ms")
    pid = run.serve()[0]
    run.grow(pid, OVER_LIMIT)
    started, ended = run.held("second_reading")
    assert started["pid"] == pid
    assert started["rss_bytes"] >= started["limit_bytes"]
    assert started["margin_bytes"] == started["rss_bytes"] - started["limit_bytes"]
    assert 0.2 < until_seconds(started) < 0.31
    assert ended["held_seconds"] >= 0.2
    assert_told_in(run.the_recycle(), "second_reading", ended)


def test_within_the_cooldown_of_another_a_routine_recycle_waits_for_its_end(start, scratch):
    run = Run(start, scratch, "-w", "2", "--cooldown", "2s")
    run.serve(2)
    assert run.moult.client("recycle").returncode == 0
    first, second = run.recycled(2)
    started, ended = run.held("cooldown")
    assert started["pid"] == second["pid"]
    assert started["cooldown_seconds"] == second["cooldown_seconds"] == 2
    assert 1 < until_seconds(started) < 2.01
    assert second["gap_seconds"] >= 2
    assert_told_in(second, "cooldown", ended)
    assert first["gap_seconds"] is None


def load(run: Run, end: threading.Event) -> threading.Thread:
    thread = threading.Thread(target=paced, args=(run.moult.answers, 20, end.is_set), daemon=True)
    thread.start()
    return thread


BUSY = ["--busy-rps", "1"]  # a twentieth of what the client asks for: it may be starved


@pytest.mark.parametrize("defer_max, load_ends", [("1h", True), ("2s", False)])
def test_a_busy_worker_waits_for_a_quiet_moment_but_not_for_ever(start, scratch, defer_max: str, load_ends: bool):
    run = Run(start, scratch, *BUSY, "--defer-max", defer_max)
    pid = run.serve()[0]
    end = threading.Event()
    client = load(run, end)
    try:
        run.moult.wait_for(lambda: run.moult.workers()[0]["requests"] > 30, "it is busy")
        run.moult.client("recycle", "0")
        started = run.wait_events("hold_started", reason="busy")[0]
        assert not run.events.all("worker_recycled")
        if load_ends:
            end.set()
        line = run.the_recycle()
    finally:
        end.set()
        client.join()
    assert started["pid"] == line["pid"] == pid
    assert started["requests_per_second"] >= 1
    if load_ends:
        assert 3500 < until_seconds(started) < 3600.1
    else:
        assert held_in(line, "busy") >= 1.9
        assert until_seconds(started) < 2.1
    assert_told_in(line, "busy", run.held("busy")[1])


def test_a_routine_recycle_waits_while_another_worker_drains(start, scratch):
    run = Run(start, scratch, "-w", "2", env={"SHUTDOWN_SECONDS": "1.5"})
    run.serve(2)
    run.moult.client("recycle")
    first, second = run.recycled(2)
    run.held("turn_in_hand")
    waits = [event for event in run.events.all("hold_ended") if event["reason"] == "turn_in_hand"]
    assert {event["pid"] for event in waits} == {second["pid"]}
    assert first["drain_seconds"] >= 1.5
    assert max(event["held_seconds"] for event in waits) >= 1.4
    assert_told_in(second, "turn_in_hand", waits[-1])


def test_each_hold_that_begins_says_until_when_and_lasts(start, scratch):
    run = Run(start, scratch, "-w", "3", env={"SHUTDOWN_SECONDS": "0.5"})
    run.serve(3)
    run.moult.client("recycle")
    run.recycled(3)
    for started in run.events.all("hold_started"):
        assert started["until"], started
        assert 0 < until_seconds(started) <= 120
    third = run.recycled(3)[2]
    waits = [event for event in run.events.all("hold_ended") if event["pid"] == third["pid"]]
    assert len(waits) <= 2, "one for each turn before its own"


def test_an_urgent_one_does_not_wait_while_another_drains(start, scratch):
    run = Run(start, scratch, *LIMIT, "-w", "2", env={"SHUTDOWN_SECONDS": "2"})
    run.serve(2)
    pid = run.pid_of(1)
    run.moult.client("recycle", "0")
    run.moult.wait_for(lambda: run.moult.workers("retiring"), "the first drains")
    run.grow(pid, OVER_HARD_LIMIT)
    first, urgent = run.recycled(2)
    assert (urgent["pid"], urgent["reason"]) == (pid, "hard_limit")
    assert seconds_between(first, urgent) < 2, "both drained at the same time"
    assert held_in(urgent, "turn_in_hand") < 0.5


def test_while_replacements_cannot_boot_healthy_workers_stay(start, scratch):
    run = Run(start, scratch, "-w", "2", "--boot-attempts", "50")
    run.serve(2)
    crashed, healthy = run.pid_of(0), run.pid_of(1)
    run.fail_file.touch()
    os.kill(crashed, signal.SIGKILL)
    run.wait_events("boot_failed", 2)
    run.moult.client("recycle", "1")
    started = run.wait_events("hold_started", reason="boot_failing")[0]
    assert started["pid"] == healthy
    assert until_seconds(started) > 0
    assert not run.events.all("worker_recycled")
    run.fail_file.unlink()
    line = run.the_recycle()
    assert (line["pid"], line["reason"]) == (healthy, "operator")
    assert_told_in(line, "boot_failing", run.held("boot_failing")[1])
    assert len(run.serve(2)) == 2


def test_what_held_back_a_recycle_whose_successor_does_not_boot_is_told_with_the_one_that_succeeds(start, scratch):
    run = Run(start, scratch, "-w", "2", "--cooldown", "3s", "--boot-attempts", "50")
    run.serve(2)
    run.moult.client("recycle")
    first = run.the_recycle()
    run.fail_file.touch()
    started, ended = run.held("cooldown")
    assert started["pid"] != first["pid"]
    run.wait_events("boot_failed")
    run.fail_file.unlink()
    line = run.recycled(2)[1]
    assert line["pid"] == started["pid"]
    assert_told_in(line, "cooldown", ended)
    assert held_in(line, "boot_failing") > 0
    assert len(run.events.all("hold_started")) == len(run.events.all("hold_ended"))


def test_without_a_token_a_routine_recycle_waits_for_the_next(start, scratch):
    run = Run(start, scratch, "-w", "2", "--recycle-rate", "1800/h", "--recycle-burst", "1")
    run.serve(2)
    run.moult.client("recycle")
    first, second = run.recycled(2)
    started, ended = run.held("no_tokens")
    assert started["pid"] == second["pid"]
    assert 0.5 < until_seconds(started) < 2.01, "one token every two seconds"
    assert second["gap_seconds"] >= 1.9
    assert_told_in(second, "no_tokens", ended)
    assert run.moult.status()["gate"]["refusals"]["no_tokens"] >= 1


def test_an_urgent_one_overdraws_the_bucket_and_the_next_goes_ungated(start, scratch):
    run = Run(start, scratch, *LIMIT, "--cooldown", "1h", "--recycle-rate", "1/h", "--recycle-burst", "1")
    run.serve()
    run.moult.client("recycle", "0")  # takes the only token, and keeps the routine ones away for an hour
    run.recycled(1)
    for count in (2, 3):
        run.grow(run.serve()[0], OVER_HARD_LIMIT)
        run.recycled(count)
    lines = run.recycled(3)
    assert [line["reason"] for line in lines] == ["operator", "hard_limit", "hard_limit"]
    assert [line["gated"] for line in lines] == [True, True, False]
    assert lines[0]["fencing_token"] < lines[1]["fencing_token"] and lines[2]["fencing_token"] == 0
    ungated = run.events.all("gate_ungated")
    assert [event["pid"] for event in ungated] == [lines[2]["pid"]]
    assert (ungated[0]["reason"], ungated[0]["urgency"]) == ("hard_limit", "hard_limit")
    gate = run.moult.status()["gate"]
    assert (gate["ungated"], gate["granted"]) == (1, 2)
    assert -2 <= gate["tokens"] < -1.9, "it is owed"
    run.moult.wait_log("without a token")


def test_in_place_nobody_goes_while_too_few_serve(start, scratch):
    run = Run(start, scratch, "-w", "3", "--min-healthy", "66%", "--replace", "in-place",
              env={"STARTUP_SECONDS": "1.5"})
    run.serve(3)
    os.kill(run.pid_of(0), signal.SIGKILL)
    run.moult.wait_for(lambda: run.moult.workers("booting"), "a replacement boots")
    run.moult.client("recycle", "1")
    started, ended = run.held("below_minimum")
    assert started["slot"] == 1
    assert until_seconds(started) >= 0
    line = run.the_recycle()
    assert_told_in(line, "below_minimum", ended)
    assert (line["slot"], line["replace"]) == (1, "in-place")
    replacement = next(event for event in run.events.all("worker_ready")[3:] if event["slot"] == 0)
    assert seconds_between(replacement, line) >= 0, "only when three served again"


NARROW = [*UNHURRIED, "--min-headroom", "100MB", "--urgent-cooldown", "200ms", "--cooldown", "200ms"]


def test_a_neighbour_that_fills_the_cgroup_costs_two_recycles_at_most(start, scratch, memory_cgroup):  # noqa: F811
    cgroup = memory_cgroup(400)
    run = Run(start, scratch, "-w", "3", settings=NARROW, wrapper=cgroup.inside())
    for pid, megabytes in zip(run.serve(3), (15, 20, 25)):
        run.grow(pid, megabytes)  # less than what is worth a replacement
    neighbour = Neighbour(cgroup)
    try:
        while cgroup.usage() < 340e6:
            neighbour.take(10)
        started = run.wait_events("hold_started", reason="nothing_to_free")[0]
        assert started["headroom_bytes"] < 100e6
        assert started["frees_bytes"] < started["needs_bytes"]
        holds_for(lambda: len(run.events.all("worker_recycled")) <= 2, 2, "the neighbour costs more than two recycles")
        assert any(worker["hold"] == "nothing_to_free" for worker in run.moult.workers())
    finally:
        neighbour.end()
    ended = run.wait_events("hold_ended", reason="nothing_to_free", pid=started["pid"])[0]
    assert ended["held_seconds"] >= 1
    assert len(run.serve(3)) == 3 and cgroup.oom_kills() == 0


def test_pages_that_a_worker_has_copied_count_as_what_its_exit_frees(start, scratch, memory_cgroup):  # noqa: F811
    cgroup = memory_cgroup(600)
    run = Run(start, scratch, settings=NARROW, wrapper=cgroup.inside(), env={"SHARED_OBJECTS": "1500000"})
    run.serve()
    room = run.moult.status()["recycler"]["headroom_bytes"] // MEGABYTE - 100
    neighbour = Neighbour(cgroup)
    try:
        neighbour.take(room - 30)
        weighed = rss_bytes(run.pid_of(0))
        run.moult.fetch("/touch")  # reference counts are written: its RSS hardly changes, and the memory is gone
        line = run.the_recycle()
    finally:
        neighbour.end()
    assert line["reason"] == "pressure" and line["rss_bytes"] < weighed + 20e6
    assert line["frees_bytes"] >= line["needs_bytes"]


FUTILE = [*NARROW, "--min-headroom", "250MB"]


def test_two_recycles_that_freed_nothing_stop_those_for_pressure(start, scratch, memory_cgroup):  # noqa: F811
    cgroup = memory_cgroup(600)
    run = Run(start, scratch, "-w", "3", settings=FUTILE, wrapper=cgroup.inside(), env={"SHUTDOWN_SECONDS": "1.5"})
    run.serve(3)
    third = run.pid_of(2)
    for slot, megabytes in ((0, 80), (1, 70), (2, 60)):
        run.grow(run.pid_of(slot), megabytes)
    neighbour = Neighbour(cgroup)
    try:
        # Each time it takes most of what the victim will give back, so that the recycle frees 20 MB.
        for count, taken in ((1, 60), (2, 50)):
            while not run.moult.workers("retiring"):
                neighbour.take(5)
            neighbour.take(taken)
            run.recycled(count)
            run.serve(3)
        # Memory is not short then: it is judged a minute after the last one.
        assert run.wait_events("pressure_futile", deadline=90)[0]["for_seconds"] == 600
        while not run.events.all("hold_started") or run.events.all("hold_started")[-1]["reason"] != "pressure_futile":
            assert cgroup.usage() < 500e6, "there is no pressure"
            neighbour.take(5)
        started = run.events.all("hold_started")[-1]
        assert started["pid"] == third
        assert 580 < until_seconds(started) < 600.1
        assert started["frees_bytes"] >= started["needs_bytes"], "its exit would help, but that was no use twice"
        assert [line["reason"] for line in run.recycled(2)] == ["pressure", "pressure"]
    finally:
        neighbour.end()
    run.held("pressure_futile")


def test_one_that_waits_when_pressure_recycles_stop_does_not_go(start, scratch, memory_cgroup):  # noqa: F811
    cgroup = memory_cgroup(600)
    run = Run(start, scratch, "-w", "3", settings=[*FUTILE, "--sample-far", "2s", "--sample-near", "1s"],
              wrapper=cgroup.inside(), env={"SHUTDOWN_SECONDS": "2"})
    run.serve(3)
    for slot, megabytes in ((0, 80), (1, 70), (2, 60)):
        run.grow(run.pid_of(slot), megabytes)
    neighbour = Neighbour(cgroup)
    try:
        neighbour.take(120)
        for count in (1, 2):  # it takes all, so that the next one is to go before this one is gone
            run.moult.wait_for(lambda: run.moult.workers("retiring"), f"victim {count} drains", 10)
            neighbour.take(80)
            run.recycled(count)
        run.wait_events("pressure_futile", deadline=90)
        holds_for(lambda: len(run.events.all("worker_recycled")) == 2 and not run.moult.workers("retiring"), 3,
                  "a third went although that had been stopped")
    finally:
        neighbour.end()


def test_a_hold_that_the_gate_renews_is_one_hold(start, scratch):
    run = Run(start, scratch, *LIMIT, "-w", "3", "--min-healthy", "66%", "--replace", "in-place",
              env={"STARTUP_SECONDS": "2"})
    run.serve(3)
    urgent = run.pid_of(1)
    os.kill(run.pid_of(0), signal.SIGKILL)
    run.moult.wait_for(lambda: run.moult.workers("booting"), "a replacement boots")
    run.grow(urgent, OVER_HARD_LIMIT)  # asks the gate again and again
    run.the_recycle()
    started = [event for event in run.events.all("hold_started") if event["reason"] == "below_minimum"]
    assert len(started) == 1, [seconds_between(started[0], event) for event in started]


def test_a_hold_is_shown_in_the_status_while_it_lasts(start, scratch):
    run = Run(start, scratch, "-w", "2", "--cooldown", "1h")
    run.serve(2)
    run.moult.client("recycle")
    run.recycled(1)
    held = run.moult.wait_for(lambda: [worker for worker in run.moult.workers() if worker["hold"]], "one waits")
    assert [worker["hold"] for worker in held] == ["cooldown"]
    assert fetch(run.moult.address).status == 200
