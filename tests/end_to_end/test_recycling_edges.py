"""Recycles that meet something else: a crash, a second urgent one, a growth while the successor boots."""
import os
import signal

import pytest

from harness import DEBIAN_PYTHON, SANITIZED, fetch, wait_until
from recycling import memory_cgroup  # noqa: F401
from recycling import LIMIT, MEGABYTE, OVER_HARD_LIMIT, OVER_LIMIT, UNHURRIED, Run, rss_bytes, seconds_between


def test_a_worker_that_crashes_while_it_drains_is_not_told_as_clean(start, scratch):
    run = Run(start, scratch, env={"SHUTDOWN_SECONDS": "4"})
    pid = run.serve()[0]
    run.moult.client("recycle", "0")
    run.moult.wait_for(lambda: run.moult.workers("retiring"), "it drains")
    os.kill(pid, signal.SIGKILL)
    assert run.wait_events("worker_exited", pid=pid)[0]["signal"] == "SIGKILL"
    assert run.the_recycle()["drain_outcome"] == "killed"


def test_the_hold_of_a_worker_that_crashes_ends(start, scratch):
    run = Run(start, scratch, "-w", "2", "--cooldown", "1h")
    run.serve(2)
    run.moult.client("recycle")
    run.recycled(1)
    held = run.wait_events("hold_started", reason="cooldown")[0]
    os.kill(held["pid"], signal.SIGKILL)
    run.wait_events("worker_exited", pid=held["pid"])
    run.serve(2)
    ended = [event["reason"] for event in run.events.all("hold_ended") if event["pid"] == held["pid"]]
    assert ended[-1:] == ["cooldown"]
    assert len(run.events.all("worker_recycled")) == 1


@pytest.mark.parametrize("command", [["scale", "1"], ["stop"]])
def test_the_hold_of_a_worker_that_is_no_longer_wanted_ends(start, scratch, command):
    run = Run(start, scratch, "-w", "2", "--cooldown", "1h")
    run.serve(2)
    run.moult.client("recycle", "0")
    run.recycled(1)
    pid = run.pid_of(1)
    run.moult.client("recycle", "1")
    run.wait_events("hold_started", reason="cooldown", pid=pid)
    run.moult.client(*command)
    wait_until(lambda: any(event["pid"] == pid for event in run.events.all("worker_exited")), "it is gone", 20)
    assert [event["reason"] for event in run.events.all("hold_ended") if event["pid"] == pid][-1:] == ["cooldown"]
    assert len(run.events.all("worker_recycled")) == 1


def test_a_worker_that_a_scale_down_takes_while_its_successor_boots_is_no_recycle(start, scratch):
    run = Run(start, scratch, "-w", "2", env={"STARTUP_SECONDS": "3"})
    run.serve(2)
    pid = run.pid_of(1)
    run.moult.client("recycle", "1")
    run.moult.wait_for(lambda: run.moult.workers("booting"), "its successor boots")
    assert run.moult.client("scale", "1").returncode == 0
    run.wait_events("worker_exited", pid=pid)
    run.serve(1)
    assert not run.events.all("worker_recycled")
    assert run.moult.status()["lifetimes"]["samples"] == 0
    assert run.moult.client("scale", "2").returncode == 0
    run.serve(2)
    run.moult.client("recycle", "1")
    assert run.the_recycle()["gap_seconds"] is not None, "the one that was broken off had begun its cooldown"


def test_a_routine_recycle_that_becomes_urgent_while_the_successor_boots_is_told_as_urgent(start, scratch):
    run = Run(start, scratch, *LIMIT, "-w", "2", env={"STARTUP_SECONDS": "3"})
    run.serve(2)
    pid = run.pid_of(0)
    run.grow(pid, OVER_LIMIT)
    run.moult.wait_for(lambda: run.moult.workers("booting"), "its successor boots")
    run.grow(pid, OVER_HARD_LIMIT - OVER_LIMIT)
    line = run.the_recycle()
    successor = run.events.all("worker_ready")[2:]
    assert not successor, "it was told to go at once"
    assert (line["pid"], line["reason"], line["urgency"]) == (pid, "hard_limit", "hard_limit")
    assert line["rss_bytes"] >= line["hard_limit_bytes"]
    assert line["over_hard_seconds"] < 1.5
    run.serve(2)
    assert len(run.events.all("worker_recycled")) == 1


def test_at_most_two_retire_at_once_and_a_third_urgent_one_waits(start, scratch):
    run = Run(start, scratch, *LIMIT, "-w", "4", env={"SHUTDOWN_SECONDS": "4"})
    run.serve(4)
    for slot in (0, 1, 2):
        run.grow(run.pid_of(slot), OVER_HARD_LIMIT)
    retiring = []

    def all_gone() -> bool:
        retiring.append(len(run.moult.workers("retiring")))
        return len(run.events.all("worker_recycled")) == 3
    run.moult.wait_for(all_gone, "three were recycled")
    lines = run.recycled(3)
    assert max(retiring) == 2
    assert sorted(line["slot"] for line in lines) == [0, 1, 2]
    waited = [hold for hold in lines[2]["holds"] if hold["reason"] == "turn_in_hand"]
    assert waited and waited[0]["seconds"] > 0.5
    assert {line["urgency"] for line in lines[:2]} >= {"hard_limit"}


def test_an_urgent_worker_is_told_to_go_within_a_second_and_a_half_by_default(start, scratch):
    run = Run(start, scratch, *LIMIT, "-w", "2", settings=["--min-headroom", "off"])
    run.serve(2)
    run.grow(run.pid_of(0), OVER_HARD_LIMIT)
    line = run.the_recycle()
    assert line["urgency"] == "hard_limit" or line["reason"] == "limit"
    assert line["over_hard_seconds"] < 1.5 and line["over_limit_seconds"] < 2.5


@pytest.mark.skipif(SANITIZED, reason="a sanitizer takes more of the cgroup than moult does")
def test_under_pressure_only_as_many_go_as_are_needed(start, scratch, memory_cgroup):  # noqa: F811
    cgroup = memory_cgroup(400)
    settings = [*UNHURRIED, "--min-headroom", "150MB"]
    run = Run(start, scratch, "-w", "3", settings=settings, wrapper=cgroup.inside(), env={"SHUTDOWN_SECONDS": "1.5"})
    run.serve(3)
    # What the cgroup has used before differs: whoever touches a file's page first has it.
    room = run.moult.status()["recycler"]["headroom_bytes"] // MEGABYTE - 150
    for slot, share in ((0, 0.25), (1, 0.4), (2, 0.25)):
        run.grow(run.pid_of(slot), int(room * share))
    run.grow(run.pid_of(1), room // 10 + 20)
    line = run.the_recycle()
    assert (line["slot"], line["reason"]) == (1, "pressure")
    now = run.moult.status()["uptime_seconds"]
    run.moult.wait_for(lambda: run.moult.status()["uptime_seconds"] > now + 1, "it was looked at again")
    run.recycled(1)


def test_under_pressure_workers_are_weighed_as_they_are_now(start, scratch, memory_cgroup):  # noqa: F811
    cgroup = memory_cgroup(400)
    run = Run(start, scratch, "-w", "2", settings=[*UNHURRIED, "--sample-far", "3s", "--min-headroom", "150MB"],
              wrapper=cgroup.inside())
    run.serve(2)
    room = run.moult.status()["recycler"]["headroom_bytes"] // MEGABYTE - 150
    smaller = room * 2 // 5  # when memory gets short the other one is the heavier by far, whoever else takes some
    run.grow(run.pid_of(0), smaller)
    run.moult.wait_for(lambda: run.moult.workers()[0]["rss_bytes"] > smaller * MEGABYTE, "its weight is known")
    run.grow(run.pid_of(1), room - smaller + 40)  # and this one's is not, before there is pressure
    line = run.the_recycle()
    assert (line["slot"], line["reason"]) == (1, "pressure")


GROWING_COMMAND = """
import os, signal, socket, time
kept = []
signal.signal(signal.SIGUSR2, lambda *_: kept.append(b"x" * (int(open(os.environ["GROW_FILE"]).read()) * 1000000)))
listener = socket.socket(fileno=3)
while True:
    client, _ = listener.accept()
    client.recv(65536)
    client.sendall(b"HTTP/1.1 200 OK\\r\\ncontent-length: 2\\r\\nconnection: close\\r\\n\\r\\nok")
    client.close()
"""


def test_a_command_that_knows_nothing_of_moult_is_recycled_by_its_weight_too(start, scratch):
    program = scratch / "app" / "server.py"
    program.write_text(GROWING_COMMAND)
    limit = ["--memory-limit", "80MB", "--limit-jitter", "0%", "--limit-spread", "1MB", "--min-runway", "10MB"]
    run = Run(start, scratch, *limit, "--ready-delay", "200ms", "--", DEBIAN_PYTHON, app=str(program))
    pid = run.serve()[0]
    assert run.moult.fetch().text == "ok"  # --ready-delay is no promise: now it heeds the signal that makes it grow
    run.grow(pid, 75)
    line = run.the_recycle()
    assert (line["pid"], line["reason"], line["requests"]) == (pid, "limit", 0)
    run.serve()
    assert fetch(run.moult.address).text == "ok"


def test_a_wsgi_app_is_recycled_after_max_requests_too(start, scratch):
    run = Run(start, scratch, "--max-requests", "5", app="flasky:app")
    pid = run.serve()[0]
    for _ in range(5):
        run.moult.fetch()
    line = run.the_recycle()
    assert (line["pid"], line["reason"], line["requests"], line["drain_outcome"]) == (pid, "max_requests", 5, "clean")


def test_a_worker_replaced_by_a_reload_is_no_recycle(start, scratch):
    run = Run(start, scratch, "-w", "2", "--cooldown", "1h")
    before = run.serve(2)
    run.moult.client("recycle", "0")
    run.recycled(1)
    run.moult.client("recycle", "1")
    run.wait_events("hold_started", reason="cooldown")
    assert run.moult.client("reload", "--wait").returncode == 0
    after = run.serve(2)
    assert not set(before) & set(after)
    run.recycled(1)
    started, ended = run.held("cooldown")
    assert seconds_between(started, ended) >= 0 and rss_bytes(started["pid"]) == 0


def test_the_status_tells_of_limit_headroom_and_the_last_recycle(start, scratch, memory_cgroup):  # noqa: F811
    cgroup = memory_cgroup(500)
    run = Run(start, scratch, *LIMIT, "--min-headroom", "20%", wrapper=cgroup.inside())
    run.serve()
    now = run.moult.status()["uptime_seconds"]
    run.moult.wait_for(lambda: run.moult.status()["uptime_seconds"] > now + 0.5, "it was looked at")
    recycler = run.moult.status()["recycler"]
    assert recycler["memory_limit_bytes"] == 120e6 and recycler["since_last_recycle_seconds"] is None
    assert recycler["min_headroom_bytes"] == pytest.approx(cgroup.limit_bytes / 5, abs=1)
    assert recycler["headroom_bytes"] == pytest.approx(cgroup.limit_bytes - cgroup.usage(), abs=10e6)
    run.moult.client("recycle")
    run.recycled(1)
    assert 0 < run.moult.status()["recycler"]["since_last_recycle_seconds"] < 60
