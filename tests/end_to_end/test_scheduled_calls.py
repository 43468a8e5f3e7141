"""Calls that moult makes to its own app by the clock: when, how often, with what, and what is said of failed ones."""
import json
import os
import re
import signal
import subprocess
import sys
from datetime import datetime, timedelta

import pytest

from calls import MARK, NEVER, Calls, due_of, entry
from harness import BINARY, fetch, start_request, wait_until
from launch_kinds import ASGI_KINDS, WSGI_KINDS, Kind

ASGI = [pytest.param(kind, id=kind.name) for kind in ASGI_KINDS]
WSGI = [pytest.param(kind, id=kind.name) for kind in WSGI_KINDS]


def moment(text: str) -> datetime:
    return datetime.fromisoformat(text.replace("Z", "+00:00"))


def test_a_call_is_made_when_it_is_due_with_its_name_and_its_time(start, scratch):
    run = Calls(start, scratch, [entry("poll", "/jobs/poll?deep=1", method="PUT", every="2s")])
    run.moult.wait_serving(1)
    ended = run.wait_ended(2, "poll")[:2]
    seen = run.seen()[:2]
    for event, call in zip(ended, seen):
        due = moment(due_of(call))
        assert call["method"] == "PUT" and (call["path"], call["query"]) == ("/jobs/poll", "deep=1")
        assert call["headers"] == {"x-moult-schedule-name": "poll", "x-moult-schedule-at": event["due"]}
        assert call["mark"] == {"name": "poll", "at": event["due"]}
        assert due.timestamp() % 2 == 0 and 0 <= call["time"] - due.timestamp() < 20
        assert (event["outcome"], event["status"], event["by_hand"]) == ("answered", 200, False)
        assert 0 < event["duration_seconds"] < 20
    assert "content-type" not in seen[0]["all"] and "expect" not in seen[0]["all"]
    shown = run.schedule()["poll"]
    assert shown["last_status"] == 200 and shown["when"] == "every 2s" and shown["timeout_seconds"] == 60
    assert moment(shown["next_at"]) > moment(ended[0]["due"])


@pytest.mark.parametrize("kind", ASGI + WSGI)
def test_every_kind_of_worker_takes_calls_and_shows_no_forged_header(start, scratch, kind: Kind):
    kind.skip_unless_installed()
    run = Calls(start, scratch, [entry(path="/a", **NEVER)], *kind.flags, app=kind.app)
    run.moult.wait_serving(1)
    forged = {"X-Moult-Schedule-Name": "poll", "x-moult-schedule-at": "2026-01-01T00:00:00.000Z", "X-MOULT-Else": "1",
              "Y-Else": "2"}
    public = run.moult.fetch("/b", headers=forged).json()
    assert public == {"headers": {}, "mark": None}
    assert run.moult.client("schedule", "run", "poll").returncode == 0
    call = run.seen()[0]
    assert call["mark"] == {"name": "poll", "at": due_of(call)} and call["method"] == "POST"
    run.wait_ended(1, "poll", outcome="answered", status=200, due=due_of(call))
    assert len(run.seen()) == 1, "the visitor is no call"


def test_a_native_app_takes_calls(start, scratch):
    library = os.path.join(os.path.dirname(os.path.dirname(BINARY)), "examples/native/libnative-example.so")
    run = Calls(start, scratch, [entry("pid", "/pid", method="GET", **NEVER), entry("bad", "/fail", **NEVER)], "--app",
                f"native:{library}", app="")
    run.moult.wait_serving(1)
    assert run.moult.client("schedule", "run", "pid").returncode == 0
    assert run.moult.client("schedule", "run", "bad").returncode == 1
    assert [event["status"] for event in run.wait_ended(2)] == [200, 500]


def test_a_call_is_in_flight_and_no_visit(start, scratch):
    run = Calls(start, scratch, [entry(path="/slow", **NEVER)], env={"SLOW": "1"})
    run.moult.wait_serving(1)
    assert run.moult.fetch().status == 200
    by_hand = subprocess.Popen([BINARY, "schedule", "--control", run.moult.control, "run", "poll"],
                               env=run.moult.environment, stdout=subprocess.DEVNULL)
    run.moult.wait_for(lambda: run.moult.workers()[0]["in_flight"] == 1, "the call is in flight")
    assert run.schedule()["poll"]["state"] == "running"
    assert by_hand.wait() == 0
    worker = run.moult.workers()[0]
    assert (worker["in_flight"], worker["requests"]) == (0, 1), "the call is none of its requests"


def test_a_slow_call_overlaps_no_other_and_what_it_missed_is_made_up_for_once(start, scratch):
    run = Calls(start, scratch, [entry(path="/slow")], "-w", "2", env={"SLOW": "2.5"})
    run.wait_ended(3, outcome="answered")
    begins, ends = run.seen(), run.seen("ends")
    for before, after in zip(ends, begins[1:]):
        assert after["time"] >= before["time"] and due_of(after) > due_of(before)
    dues = [moment(due_of(call)) for call in begins]
    assert dues[1] - dues[0] == timedelta(seconds=1), "the first that was missed"
    assert dues[2] - dues[1] >= timedelta(seconds=2), "and once for all of them"


def test_calls_go_on_through_a_reload_and_recycles(start, scratch):
    run = Calls(start, scratch, [entry(f"c{number}", "/slow") for number in range(4)], "-w", "2", "--cooldown", "0",
                "--recycle-rate", "off", "--min-headroom", "off", env={"SLOW": "0.2"})
    run.moult.wait_serving(2)
    before = set(run.moult.worker_pids())
    run.wait_ended(4)
    assert run.moult.client("reload", "--wait").returncode == 0
    assert run.moult.client("recycle").returncode == 0
    run.moult.wait_for(lambda: len(run.events.all("worker_recycled")) == 2, "both were recycled")
    run.wait_ended(len(run.ended()) + 8)
    assert not before & set(run.moult.worker_pids())
    assert {event["outcome"] for event in run.ended()} == {"answered"}
    for number in range(4):
        made = [due_of(call) for call in run.seen() if call["headers"]["x-moult-schedule-name"] == f"c{number}"]
        assert len(made) == len(set(made)), "none twice"


def test_a_call_whose_worker_is_killed_is_told_as_cut_off_and_not_made_again(start, scratch):
    run = Calls(start, scratch, [entry(path="/slow", **NEVER)], "-w", "2", env={"SLOW": "60"})
    run.moult.wait_serving(2)
    by_hand = subprocess.Popen([BINARY, "schedule", "--control", run.moult.control, "run", "poll"],
                               env=run.moult.environment, stdout=subprocess.PIPE, text=True)
    call = run.moult.wait_for(run.seen, "the call is in hand")[0]
    os.kill(call["pid"], signal.SIGKILL)
    assert "cut off before it was answered" in by_hand.communicate()[0] and by_hand.returncode == 1
    assert [(event["outcome"], event["status"]) for event in run.wait_ended(1)] == [("cut_off", None)]
    run.moult.wait_serving(2)
    assert len(run.seen()) == len(run.ended()) == 1
    assert run.schedule()["poll"]["last_status"] is None
    run.moult.wait_log("was sent, and cut off before it was answered")


def test_a_call_that_is_not_answered_in_time_is_given_up(start, scratch):
    run = Calls(start, scratch, [entry(path="/slow", timeout=1, **NEVER)], env={"SLOW": "10"})
    run.moult.wait_serving(1)
    assert run.moult.client("schedule", "run", "poll").returncode == 1
    event = run.wait_ended(1)[0]
    assert (event["outcome"], event["status"]) == ("timed_out", None) and 1 <= event["duration_seconds"] < 20


def test_a_call_waits_for_a_worker_within_its_timeout(start, scratch):
    run = Calls(start, scratch, [entry("patient", every="1s", timeout=50), entry("hasty", every="1s", timeout=1)],
                env={"STARTUP_SECONDS": "4"})
    run.wait_ended(1, "hasty", outcome="not_served", status=None)
    first = run.wait_ended(1, "patient")[0]
    assert first["outcome"] == "answered" and first["duration_seconds"] > 1
    not_served = {event["due"] for event in run.ended("hasty", outcome="not_served")}
    made = {due_of(call) for call in run.seen() if call["headers"]["x-moult-schedule-name"] == "hasty"}
    assert not not_served & made, "what was not served has not run"


def test_a_stop_waits_for_a_call_and_begins_none(start, scratch):
    run = Calls(start, scratch, [entry(path="/slow", **NEVER), entry("often")], env={"SLOW": "2"})
    run.moult.wait_serving(1)
    by_hand = subprocess.Popen([BINARY, "schedule", "--control", run.moult.control, "run", "poll"],
                               env=run.moult.environment, stdout=subprocess.PIPE, text=True)
    run.moult.wait_for(lambda: [call for call in run.seen() if call["path"] == "/slow"], "the call is in hand")
    assert run.moult.stop() == 0
    by_hand.communicate()
    assert [event["outcome"] for event in run.ended("poll")] == ["answered"]
    stopped = run.events.all("master_stopped")[0]["at"]
    assert not [event for event in run.ended("often") if event["outcome"] == "answered" and event["due"] > stopped]


# --- by hand ----------------------------------------------------------------------------------------------------------

def test_a_run_by_hand_waits_and_says_how_it_went(start, scratch):
    run = Calls(start, scratch, [entry("good", "/a", **NEVER), entry("bad", "/status/503", **NEVER)])
    run.moult.wait_serving(1)
    good, bad = (run.moult.client("schedule", "run", name) for name in ("good", "bad"))
    assert re.fullmatch(r"good: answered 200 after \S+s\n", good.stdout) and good.returncode == 0
    assert re.fullmatch(r"bad: answered 503 after \S+s\n", bad.stdout) and bad.returncode == 1
    told = json.loads(run.moult.client("schedule", "run", "good", "--json").stdout)
    assert (told["outcome"], told["status"]) == ("answered", 200)
    assert [event["by_hand"] for event in run.wait_ended(3)] == [True] * 3
    run.moult.wait_log("'bad' (due ")
    unknown = run.moult.client("schedule", "run", "goood")
    assert unknown.returncode == 1 and "no scheduled call is named 'goood'" in unknown.stderr
    for wrong in (["schedule"], ["schedule", "run"], ["schedule", "show"], ["schedule", "run", "a", "b"]):
        assert run.moult.client(*wrong).returncode == 2


def test_a_call_that_is_in_hand_is_not_made_beside_itself(start, scratch):
    run = Calls(start, scratch, [entry(path="/slow", **NEVER)], env={"SLOW": "3"})
    run.moult.wait_serving(1)
    first = subprocess.Popen([BINARY, "schedule", "--control", run.moult.control, "run", "poll"],
                             env=run.moult.environment, stdout=subprocess.DEVNULL)
    run.moult.wait_for(run.seen, "the call is in hand")
    second = run.moult.client("schedule", "run", "poll")
    assert second.returncode == 1 and "is being called already" in second.stderr
    late = run.moult.client("schedule", "run", "poll", "--timeout", "1s")
    assert late.returncode == 1
    assert first.wait() == 0 and len(run.seen()) == 1


def test_the_schedule_is_listed(start, scratch, free_port):
    port = free_port()
    run = Calls(start, scratch, [entry("often"), entry("nightly", "/n", cron="30 3 * * *",
                                                       **{"time-zone": "Europe/Berlin"})],
                "--admin", f"127.0.0.1:{port}")
    run.moult.wait_serving(1)
    run.wait_ended(1, "often")
    listed = run.moult.client("schedule", "ls").stdout.splitlines()
    assert listed[0].split()[:3] == ["NAME", "NEXT", "LAST"]
    assert re.match(r"often +20\S+Z +200 +every 1s? ", listed[1]), listed
    assert re.match(r"nightly +20\S+:30:00.000Z +- +cron 30 3 \* \* \* Europe/Berlin", listed[2]), listed
    document = json.loads(run.moult.client("schedule", "ls", "--json").stdout)
    assert [each["name"] for each in document] == ["often", "nightly"]
    assert document[1]["scope"] == "instance" and document[1]["last_status"] is None

    def counted():
        text = fetch(port, "/metrics").text
        return re.search(r'moult_scheduled_calls_total\{outcome="answered"\} [1-9]', text) and \
            'moult_scheduled_call_last_duration_seconds{name="often"}' in text
    wait_until(counted, "the calls are counted")
    assert "the scheduled call 'often' was answered 200" in run.moult.client("events").stdout


def test_where_nothing_is_scheduled_that_is_said(start):
    moult = start("hello:app")
    moult.wait_serving(1)
    assert "nothing is scheduled" in moult.client("schedule", "ls").stdout
    assert moult.client("schedule", "ls", "--json").stdout.strip() == "[]"
    assert "schedule" not in moult.status()


# --- what is refused --------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("schedule, flags, said", [
    ([entry(every="0s")], ["called:app"], "schedule: 'poll': every: "),
    ([entry(path="jobs")], ["called:app"], "schedule: 'poll': path: 'jobs' does not begin with /"),
    ([entry()], ["--", sys.executable, "-V"], "schedule: a command cannot be called"),
    ([entry(scope="fleet")], ["called:app"], "schedule: 'poll': scope: fleet needs the store"),
    ({"name": "poll"}, ["called:app"], "schedule: must be an array of objects"),
], ids=["period", "path", "command", "fleet", "no array"])
def test_a_bad_schedule_is_refused_with_one_sentence(start, scratch, schedule, flags, said):
    config = scratch / "bad.json"
    config.write_text(json.dumps({"schedule": schedule}))
    moult = start("-c", str(config), *flags)
    assert moult.wait_exit() == 2
    assert said in moult.log() and str(config) in moult.log() and len(moult.log().splitlines()) == 1


def test_visitors_are_served_while_calls_are_made(start, scratch):
    run = Calls(start, scratch, [entry(path="/slow")], env={"SLOW": "1"})
    run.moult.wait_serving(1)
    visitor = start_request(run.moult.address, "/slow")
    run.wait_ended(2, outcome="answered")
    assert visitor.getresponse().status == 200
    assert MARK  # the key that the app looks for
