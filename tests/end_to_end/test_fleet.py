"""Several masters that share one budget in a real Redis: what the fleet may do, and what goes on without its store."""
import json
import os
import re
import signal
import subprocess
from pathlib import Path
from typing import List

import pytest

from harness import fetch, wait_until
from recycling import OVER_HARD_LIMIT, LIMIT, Run
from stores import Store

# Nothing but the fleet's budget is in the way.
EAGER = ["--cooldown", "0", "--min-headroom", "off", "--sample-far", "100ms", "--sample-near", "20ms"]


def member(start, scratch, store: Store, name: str, *flags: str, env: dict = {}, app: str = "leaky:app") -> Run:
    return Run(start, scratch, "--fleet", store.url, "--fleet-name", "web", *flags, name=name, settings=EAGER, env=env,
               app=app)


def fleet_of(run: Run) -> dict:
    """Empty while the store cannot be asked."""
    answer = run.moult.client("fleet", "status", "--json")
    return json.loads(answer.stdout) if answer.returncode == 0 else {}


def whole(run: Run, wanted: int) -> None:
    wait_until(lambda: fleet_of(run).get("healthy") == wanted, f"{wanted} serve in the fleet")


def recycles(*runs: Run) -> List[dict]:
    return sorted((line for run in runs for line in run.events.all("worker_recycled")),
                  key=lambda line: line["fencing_token"])


def test_two_masters_spend_one_budget(start, scratch, store):
    redis = store()
    runs = [member(start, scratch, redis, name, "-w", "2", "--recycle-rate", "3/h") for name in "ab"]
    for run in runs:
        run.serve(2)
    whole(runs[0], 4)
    for run in runs:
        assert run.moult.client("recycle").returncode == 0
    wait_until(lambda: len(recycles(*runs)) == 2, "the burst is spent")
    wait_until(lambda: [worker["hold"] for run in runs for worker in run.moult.workers()].count("no_tokens") == 2,
               "the others wait for tokens")
    assert len(recycles(*runs)) == 2 and len({line["fencing_token"] for line in recycles(*runs)}) == 2
    assert fleet_of(runs[1])["tokens"] < 1


def test_in_a_fleet_one_worker_is_replaced_at_a_time(start, scratch, store):
    redis = store()
    env = {"STARTUP_SECONDS": "0.5"}
    runs = [member(start, scratch, redis, name, "-w", "2", "--recycle-rate", "off", env=env) for name in "ab"]
    for run in runs:
        run.serve(2)
    whole(runs[0], 4)
    for run in runs:
        run.moult.client("recycle")
    most = 0

    def all_went() -> bool:
        nonlocal most
        most = max(most, len(fleet_of(runs[0]).get("leases", [])))
        return len(recycles(*runs)) == 4
    wait_until(all_went, "all four were replaced")
    assert most == 1
    assert any(hold["reason"] == "lease_held" for line in recycles(*runs) for hold in line["holds"])


def test_the_fleet_stays_above_its_minimum(start, scratch, store):
    redis = store()
    flags = ["-w", "2", "--recycle-rate", "off", "--min-healthy", "75%", "--replace", "in-place"]
    a = member(start, scratch, redis, "a", *flags)
    b = member(start, scratch, redis, "b", *flags)
    a.serve(2), b.serve(2)
    whole(a, 4)
    os.kill(b.moult.pid, signal.SIGSTOP)  # not heard any more: its two count as down
    try:
        wait_until(lambda: fleet_of(a).get("healthy") == 2, "b has vanished", 40)
        a.moult.client("recycle", "0")
        a.wait_events("hold_started", reason="below_minimum")
        assert not recycles(a)
    finally:
        os.kill(b.moult.pid, signal.SIGCONT)
    assert a.the_recycle()["reason"] == "operator"


def test_an_instance_that_stopped_is_not_missed(start, scratch, store):
    redis = store()
    a, b = member(start, scratch, redis, "a", "-w", "2"), member(start, scratch, redis, "b", "-w", "2")
    a.serve(2), b.serve(2)
    whole(a, 4)
    assert b.moult.stop() == 0
    assert fleet_of(a)["wanted"] == 2
    assert {each["state"] for each in fleet_of(a)["instances"]} == {"awake", "idle"}


IN_PLACE = ["--recycle-rate", "off", "--replace", "in-place"]


def recycles_at_once(run: Run) -> None:
    assert run.moult.client("recycle", "0").returncode == 0
    run.the_recycle()
    assert not run.events.all("hold_started")


def test_an_instance_whose_app_does_not_load_holds_nobody_back(start, scratch, store):
    redis = store()
    a = member(start, scratch, redis, "a", "-w", "2", *IN_PLACE)
    a.serve(2)
    whole(a, 2)
    b = member(start, scratch, redis, "b", "-w", "6", *IN_PLACE, app="nowhere:app")
    assert b.moult.wait_exit() == 4
    assert fleet_of(a)["wanted"] == 2
    recycles_at_once(a)


def test_an_instance_that_boots_for_the_first_time_holds_nobody_back(start, scratch, store):
    redis = store()
    a = member(start, scratch, redis, "a", "-w", "2", *IN_PLACE)
    a.serve(2)
    whole(a, 2)
    b = member(start, scratch, redis, "b", "-w", "6", *IN_PLACE, env={"STARTUP_SECONDS": "3600"})
    b.moult.wait_for(lambda: len(b.moult.workers("booting")) == 6, "b boots")
    assert fleet_of(b)["wanted"] == 2
    recycles_at_once(a)
    assert b.moult.stop(signal.SIGINT) == 0
    assert len(fleet_of(a)["instances"]) == 1, "who never served leaves no trace"


def test_an_instance_that_was_killed_and_boots_again_is_missed(start, scratch, store, leaves):
    redis = store()
    a, b = member(start, scratch, redis, "a", "-w", "2"), member(start, scratch, redis, "b", "-w", "2")
    a.serve(2), b.serve(2)
    whole(a, 4)
    b.moult.process.kill()
    b.moult.process.wait()
    again = member(start, scratch, redis, "b", "-w", "2", env={"STARTUP_SECONDS": "3600"})
    wait_until(lambda: fleet_of(a).get("healthy") == 2, "its workers are down")
    assert fleet_of(a)["wanted"] == 4
    assert again.moult.stop(signal.SIGINT) == 0
    assert fleet_of(a)["wanted"] == 2


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT], ids=["TERM", "INT"])
def test_an_instance_that_cannot_boot_again_takes_its_leave(start, scratch, store, number):
    redis = store()
    a, b = member(start, scratch, redis, "a", "-w", "2"), member(start, scratch, redis, "b", "-w", "2")
    a.serve(2), b.serve(2)
    whole(a, 4)
    b.moult.process.kill()
    b.moult.process.wait()
    again = member(start, scratch, redis, "b", "-w", "2", app="nowhere:app")
    assert again.moult.wait_exit() == 4
    assert fleet_of(a)["wanted"] == 2
    assert a.moult.stop(number) == 0
    third = member(start, scratch, redis, "c", "-w", "1")
    third.serve(1)
    whole(third, 1)
    assert fleet_of(third)["wanted"] == 1


def test_an_end_waits_no_longer_than_a_second_for_the_store(start, scratch, store):
    redis = store()
    run = member(start, scratch, redis, "a", "-w", "1")
    run.serve(1)
    whole(run, 1)
    redis.signal(signal.SIGSTOP)
    try:
        assert run.moult.stop(deadline=10) == 0
    finally:
        redis.signal(signal.SIGCONT)


def test_routine_recycles_wait_for_the_store_and_requests_do_not(start, scratch, store):
    redis = store()
    run = member(start, scratch, redis, "a", "-w", "2")
    run.serve(2)
    whole(run, 2)
    assert run.moult.log().count(f"joined the fleet web at {redis.url}") == 1
    redis.signal(signal.SIGSTOP)
    run.moult.client("recycle", "0")
    run.wait_events("hold_started", reason="store_unreachable")
    assert run.moult.fetch().status == 200 and not recycles(run)
    wait_until(lambda: run.moult.status()["gate"]["state"] == "unreachable", "the status says so")
    assert "fleet web: the store has been away for " in run.moult.client("status").stdout
    redis.signal(signal.SIGCONT)
    assert run.the_recycle()["gated"] is True
    wait_until(lambda: "the fleet's store answers again" in run.moult.log(), "it is said")
    assert "the fleet's store does not answer" in run.moult.log()


def test_an_urgent_recycle_goes_on_without_the_store_and_is_paid_when_it_is_back(start, scratch, store):
    redis = store()
    run = member(start, scratch, redis, "a", "-w", "2", *LIMIT, "--urgent-wait", "500ms")
    run.serve(2)
    whole(run, 2)
    redis.kill()
    run.grow(run.pid_of(0), OVER_HARD_LIMIT)
    line = run.the_recycle()
    assert (line["urgency"], line["gated"]) == ("hard_limit", False)
    assert line["over_hard_seconds"] < 1 + 2 * 0.5 + 1.5  # cooldown, wait and jitter; and a machine that is busy
    assert run.events.all("gate_ungated") and run.moult.status()["gate"]["owed"] == 1
    redis.start()
    wait_until(lambda: run.moult.status()["gate"]["owed"] == 0, "the debt is in the store")
    assert fleet_of(run)["tokens"] < 2


def test_the_wait_of_an_urgent_recycle_for_the_store_is_told(start, scratch, store):
    redis = store()
    run = member(start, scratch, redis, "a", "-w", "2", *LIMIT, "--urgent-wait", "2s")
    run.serve(2)
    whole(run, 2)
    redis.signal(signal.SIGSTOP)
    try:
        run.grow(run.pid_of(0), OVER_HARD_LIMIT)
        run.held("store_unreachable")
        line = run.the_recycle()
        gate = run.moult.status()["gate"]
    finally:
        redis.signal(signal.SIGCONT)
    assert (line["urgency"], line["gated"]) == ("hard_limit", False)
    held = {hold["reason"]: hold["seconds"] for hold in line["holds"]}
    untold = line["lease_wait_seconds"] - held.pop("store_unreachable")
    assert 0 < untold < 1, "a store that is well may need so long; and a machine that is busy"
    assert sum(held.values()) < 1, "it waited for nothing else meanwhile"
    assert (gate["granted"], gate["ungated"], gate["refusals"]["store_unreachable"]) == (0, 1, 1)


def test_a_store_that_forgot_has_the_lease_back(start, scratch, store):
    redis = store()
    run = member(start, scratch, redis, "a", "-w", "2", env={"STARTUP_SECONDS": "8"})
    run.serve(2)
    whole(run, 2)
    run.moult.client("recycle", "0")
    lease = wait_until(lambda: fleet_of(run).get("leases"), "it is replaced")[0]
    redis.kill()
    redis.start()
    again = wait_until(lambda: fleet_of(run).get("leases"), "the lease is there again")[0]
    assert again["fencing_token"] == lease["fencing_token"]
    assert run.the_recycle()["fencing_token"] == lease["fencing_token"]


def test_a_store_that_was_emptied_has_the_lease_back_with_the_next_heartbeat(start, scratch, store):
    redis = store()
    env = {"STARTUP_SECONDS": "15"}
    a = member(start, scratch, redis, "a", "-w", "1", "--recycle-rate", "off", env=env)
    b = member(start, scratch, redis, "b", "-w", "1", "--recycle-rate", "off")
    a.serve(1), b.serve(1)
    whole(b, 2)
    a.moult.client("recycle", "0")
    lease = wait_until(lambda: fleet_of(b).get("leases"), "it is replaced")[0]
    redis.forget()
    again = wait_until(lambda: fleet_of(b).get("leases"), "the lease is there again", 12)[0]
    assert again["fencing_token"] == lease["fencing_token"]
    b.moult.client("recycle", "0")
    b.wait_events("hold_started", reason="lease_held")
    assert not recycles(a, b)


def test_a_lease_that_was_lost_by_freezing_is_said_and_counted(start, scratch, store, free_port):
    redis = store()
    shared = ["-w", "1", "--recycle-rate", "off", "--lease-ttl", "1s"]
    port = free_port()
    a = member(start, scratch, redis, "a", *shared, "--admin", f"127.0.0.1:{port}", env={"STARTUP_SECONDS": "8"})
    b = member(start, scratch, redis, "b", *shared)
    a.serve(1), b.serve(1)
    whole(b, 2)
    a.moult.client("recycle", "0")
    wait_until(lambda: fleet_of(b).get("leases"), "it is replaced")
    os.kill(a.moult.pid, signal.SIGSTOP)
    try:
        wait_until(lambda: fleet_of(b).get("leases") == [], "the lease has ended")
    finally:
        os.kill(a.moult.pid, signal.SIGCONT)
    wait_until(lambda: "the fleet's lease was lost" in a.moult.log(), "it is said")
    wait_until(lambda: re.search(r"^moult_gate_leases_lost_total 1$", fetch(port, "/metrics").text, re.M),
               "it is counted")
    assert a.moult.status()["gate"]["leases_lost"] == 1


def test_instances_with_other_settings_are_named(start, scratch, store):
    redis = store()
    a = member(start, scratch, redis, "a", "-w", "1")
    a.serve(1)
    whole(a, 1)
    b = member(start, scratch, redis, "b", "-w", "1", "--recycle-burst", "5")
    b.serve(1)
    whole(b, 2)
    table = a.moult.client("fleet", "status").stdout
    assert re.search(r"a\.control +1 +1 +\S+ +awake +- +--recycle-burst 2 \(the fleet: 5\)", table), table
    assert "burst 5" in table


def test_the_password_is_shown_nowhere(start, scratch, store):
    secret = "sesame-7f3a"
    redis = store(password=secret)
    run = member(start, scratch, redis, "a", "-w", "1", env={"MOULT_FLEET_PASSWORD": secret})
    worker = run.serve(1)[0]
    whole(run, 1)
    seen = [run.moult.log(), json.dumps(run.moult.status()), json.dumps(fleet_of(run)),
            Path(f"/proc/{run.moult.pid}/cmdline").read_text(), Path(f"/proc/{worker}/environ").read_text(),
            run.moult.client("fleet", "status").stdout]
    assert run.events.all("worker_ready")
    assert not [text for text in seen + [str(run.events.all())] if secret in text]


def test_a_wrong_password_is_said_and_the_app_serves(start, scratch, store):
    redis = store(password="right")
    run = member(start, scratch, redis, "a", "-w", "1", env={"MOULT_FLEET_PASSWORD": "wrong-8b1"})
    run.serve(1)
    wait_until(lambda: "the fleet's store refuses" in run.moult.log(), "it is said")
    trouble = run.moult.status()["gate"]["trouble"]
    assert "password" in trouble and "wrong-8b1" not in run.moult.log() + trouble
    refused = run.moult.client("fleet", "status")
    assert refused.returncode != 0 and "password" in refused.stderr
    assert run.moult.fetch().status == 200


def test_a_user_who_may_not_is_named(start, scratch, store):
    redis = store()
    subprocess.run(["redis-cli", "-s", redis.path, "ACL", "SETUSER", "bob", "on", ">sesame", "~*", "+@all",
                    "-@scripting"], check=True, stdout=subprocess.DEVNULL)
    redis.url = f"redis+unix://bob@{redis.path}"
    run = member(start, scratch, redis, "a", "-w", "1", env={"MOULT_FLEET_PASSWORD": "sesame"})
    run.serve(1)
    wait_until(lambda: "the fleet's store refuses" in run.moult.log(), "it is said")
    refused = run.moult.client("fleet", "status")
    assert f"redis+unix://bob@{redis.path}: the store's ACL does not allow this user" in run.moult.log()
    assert "bob@" in refused.stderr


def test_without_a_fleet_its_status_is_this_instances(start, scratch):
    run = Run(start, scratch, "-w", "2", settings=EAGER)
    run.serve(2)
    assert fleet_of(run)["store"] == "local"
    assert [(each["wanted"], each["healthy"]) for each in fleet_of(run)["instances"]] == [(2, 2)]
