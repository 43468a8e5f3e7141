"""One run for each reason to recycle: its event line alone explains what happened."""
import contextlib
import os

import pytest

from harness import start_request, wait_until
from recycling import memory_cgroup  # noqa: F401
from recycling import LIMIT, OVER_HARD_LIMIT, OVER_LIMIT, UNHURRIED, Run, rss_bytes, seconds_between


def holds_of(line: dict) -> dict:
    return {hold["reason"]: hold["seconds"] for hold in line["holds"]}


def assert_same_worker(line: dict, pid: int, slot: int = 0) -> None:
    assert (line["pid"], line["slot"], line["generation"], line["instance"]) == (pid, slot, 1, "moult")


def test_over_its_limit_a_worker_is_recycled_and_the_line_has_the_figures_that_prove_it(start, scratch):
    run = Run(start, scratch, *LIMIT)
    pid = run.serve()[0]
    at_boot = rss_bytes(pid)
    run.grow(pid, OVER_LIMIT)
    line = run.the_recycle()
    assert_same_worker(line, pid)
    assert (line["reason"], line["urgency"]) == ("limit", "routine")
    assert 120e6 <= line["limit_bytes"] <= 121e6
    assert line["limit_bytes"] <= line["rss_bytes"] < line["hard_limit_bytes"] == 156e6
    assert line["margin_bytes"] == line["rss_bytes"] - line["limit_bytes"]
    assert abs(line["boot_rss_bytes"] - at_boot) < 5e6
    assert line["freed_bytes"] >= 100e6
    assert line["over_limit_seconds"] > 0 and line["over_hard_seconds"] == 0
    assert line["gap_seconds"] is None and line["cooldown_seconds"] == 0
    assert "second_reading" in holds_of(line)
    assert (line["gated"], line["replace"], line["drain_outcome"]) == (True, "successor-first", "clean")
    assert line["fencing_token"] > 0
    assert run.serve() != [pid]


def test_over_its_hard_limit_a_worker_is_recycled_in_the_middle_of_the_cooldown(start, scratch):
    run = Run(start, scratch, *LIMIT, "-w", "2", "--cooldown", "1h")
    run.serve(2)
    run.moult.client("recycle", "0")  # the cooldown begins
    run.recycled(1)
    pid = run.pid_of(1)
    run.grow(pid, OVER_LIMIT)
    run.wait_events("hold_started", reason="cooldown", pid=pid)
    run.grow(pid, OVER_HARD_LIMIT - OVER_LIMIT)
    first, line = run.recycled(2)
    assert_same_worker(line, pid, slot=1)
    assert (line["reason"], line["urgency"]) == ("hard_limit", "hard_limit")
    assert line["rss_bytes"] >= line["hard_limit_bytes"] > line["limit_bytes"]
    assert line["over_limit_seconds"] >= line["over_hard_seconds"] >= 0
    assert line["cooldown_seconds"] == 0, "the short one"
    assert 0 < line["gap_seconds"] < 3600
    assert line["over_limit_seconds"] >= holds_of(line)["cooldown"] > 0
    assert line["replace"] == "together"


def test_after_max_requests_a_worker_is_recycled_and_the_line_counts_them(start, scratch):
    run = Run(start, scratch, "--max-requests", "7")
    pid = run.serve()[0]
    for _ in range(7):
        run.moult.fetch()
    line = run.the_recycle()
    assert_same_worker(line, pid)
    assert (line["reason"], line["urgency"], line["requests"]) == ("max_requests", "routine", 7)
    assert line["limit_bytes"] is line["hard_limit_bytes"] is line["margin_bytes"] is None
    assert line["rss_bytes"] > 1e6
    assert (line["drain_outcome"], line["over_limit_seconds"]) == ("clean", 0)


def test_one_request_fewer_than_max_requests_keeps_the_worker(start, scratch):
    run = Run(start, scratch, "--max-requests", "7", "-w", "1")
    pid = run.serve()[0]
    for _ in range(6):
        run.moult.fetch()
    run.moult.wait_for(lambda: run.moult.workers()[0]["requests"] == 6, "six are counted")
    looks = run.moult.status()["uptime_seconds"] + 1
    run.moult.wait_for(lambda: run.moult.status()["uptime_seconds"] > looks, "it was looked at since")
    assert run.serve() == [pid] and not run.events.all("worker_recycled")
    run.moult.fetch()
    assert run.the_recycle()["requests"] == 7


def test_after_its_max_lifetime_a_worker_is_recycled(start, scratch):
    run = Run(start, scratch, "--max-lifetime", "1s", "--max-lifetime-jitter", "100ms", "--cooldown", "1h")
    pid = run.serve()[0]
    line = run.the_recycle()
    assert_same_worker(line, pid)
    assert (line["reason"], line["urgency"], line["drain_outcome"]) == ("max_lifetime", "routine", "clean")
    assert line["lifetime_seconds"] >= 1
    ready = run.events.all("worker_ready")[0]
    assert line["lifetime_seconds"] + line["drain_seconds"] == pytest.approx(seconds_between(ready, line), abs=0.05)


def test_an_operator_recycles_one_slot(start, scratch):
    run = Run(start, scratch, "-w", "3")
    before = set(run.serve(3))
    pid = run.pid_of(1)
    asked = run.moult.client("recycle", "1")
    assert asked.returncode == 0, asked.stderr
    line = run.the_recycle()
    assert_same_worker(line, pid, slot=1)
    assert (line["reason"], line["urgency"], line["gap_seconds"]) == ("operator", "routine", None)
    assert before - set(run.serve(3)) == {pid}


def test_an_operator_recycles_all_one_after_the_other_and_each_gap_is_measured(start, scratch):
    run = Run(start, scratch, "-w", "3")
    before = run.serve(3)
    assert run.moult.client("recycle").returncode == 0
    lines = run.recycled(3)
    assert sorted(line["pid"] for line in lines) == before
    assert sorted(line["slot"] for line in lines) == [0, 1, 2]
    assert lines[0]["gap_seconds"] is None
    ready = run.events.all("worker_ready")[3:]  # each successor
    for number in (1, 2):
        # It began after the one before was gone, and before its own successor was ready.
        longest = seconds_between(lines[number - 2] if number == 2 else run.events.all("worker_ready")[2],
                                  ready[number])
        shortest = seconds_between(ready[number - 1], lines[number - 1])
        assert shortest - 0.01 <= lines[number]["gap_seconds"] <= longest + 0.01
        assert lines[number]["fleet_gap_seconds"] == lines[number]["gap_seconds"]
        assert lines[number]["fencing_token"] > lines[number - 1]["fencing_token"]


def test_recycling_a_slot_that_is_not_there_is_said_and_nobody_goes(start, scratch):
    run = Run(start, scratch)
    workers = run.serve()
    asked = run.moult.client("recycle", "5")
    assert asked.returncode != 0 and "5" in asked.stderr
    assert run.serve() == workers and not run.events.all("worker_recycled")


def test_a_request_that_outlives_the_deadline_makes_the_drain_outcome_deadline(start, scratch):
    run = Run(start, scratch, "--graceful-timeout", "1s")
    pid = run.serve()[0]
    client = start_request(run.moult.address, "/slow?seconds=50")
    run.moult.wait_for(lambda: run.moult.workers()[0]["in_flight"] == 1, "the request is in flight")
    run.moult.client("recycle", "0")
    line = run.the_recycle()
    client.close()
    assert_same_worker(line, pid)
    assert line["drain_outcome"] == "deadline", "its client got no answer"


def test_a_worker_that_goes_only_after_sigterm_has_the_drain_outcome_deadline(start, scratch):
    run = Run(start, scratch, "--graceful-timeout", "1s", "--kill-after", "30s")
    pid = run.serve()[0]
    client = start_request(run.moult.address, "/block?seconds=3")  # neither RETIRE nor SIGTERM gets through
    run.moult.wait_for(lambda: run.moult.workers()[0]["in_flight"] == 1, "the request is in flight")
    run.moult.client("recycle", "0")
    line = run.the_recycle()
    client.close()
    assert_same_worker(line, pid)
    assert line["drain_outcome"] == "deadline"
    assert line["drain_seconds"] >= 1
    assert run.wait_events("worker_exited", pid=pid)[0]["state"] == "terminating"


def test_a_worker_that_ignores_sigterm_is_killed_and_the_line_says_so(start, scratch):
    run = Run(start, scratch, "--graceful-timeout", "1s", "--kill-after", "500ms")
    pid = run.serve()[0]
    client = start_request(run.moult.address, "/stubborn?seconds=50")
    run.moult.wait_for(lambda: run.moult.workers()[0]["in_flight"] == 1, "the request is in flight")
    run.moult.client("recycle", "0")
    line = run.the_recycle()
    client.close()
    assert line["drain_outcome"] == "killed"
    assert line["drain_seconds"] >= 1.5
    exited = run.wait_events("worker_exited", pid=pid)[0]
    assert (exited["signal"], exited["state"], exited["oom_killed"]) == ("SIGKILL", "killed", False)


def test_a_request_in_flight_is_answered_before_the_worker_goes(start, scratch):
    run = Run(start, scratch)
    pid = run.serve()[0]
    client = start_request(run.moult.address, "/slow?seconds=2")
    run.moult.wait_for(lambda: run.moult.workers()[0]["in_flight"] == 1, "the request is in flight")
    run.moult.client("recycle", "0")
    answer = client.getresponse()
    assert answer.status == 200 and str(pid) in answer.read().decode()
    line = run.the_recycle()
    assert (line["drain_outcome"], line["requests"]) == ("clean", 1)
    assert line["drain_seconds"] > 0.3
    client.close()


PRESSURE = [*UNHURRIED, "--min-headroom", "100MB", "--urgent-cooldown", "1s", "--cooldown", "1s"]


@pytest.mark.parametrize("workers, replace", [(1, "successor-first"), (2, "in-place")])
def test_under_pressure_who_frees_most_is_recycled(start, scratch, memory_cgroup, workers, replace):  # noqa: F811
    cgroup = memory_cgroup(300)
    run = Run(start, scratch, "-w", str(workers), settings=PRESSURE, wrapper=cgroup.inside())
    run.serve(workers)
    pid = run.pid_of(workers - 1)
    with contextlib.suppress(ProcessLookupError):  # it may have gone already
        while cgroup.usage() < 210e6:
            run.grow(pid, 10)
    line = run.the_recycle()
    assert_same_worker(line, pid, slot=workers - 1)
    assert (line["reason"], line["urgency"], line["replace"]) == ("pressure", "pressure", replace)
    assert line["headroom_bytes"] < 100e6
    assert line["needs_bytes"] == max(32e6, 100e6 - line["headroom_bytes"])
    assert line["frees_bytes"] >= line["needs_bytes"]
    assert line["frees_bytes"] <= line["freed_bytes"]
    assert line["limit_bytes"] is None and line["cooldown_seconds"] == 1
    assert line["drain_outcome"] == "clean"
    wait_until(lambda: cgroup.usage() < 150e6, "its memory is free again")
    assert cgroup.oom_kills() == 0
    assert len(run.serve(workers)) == workers and not os.path.exists(f"/proc/{pid}")
