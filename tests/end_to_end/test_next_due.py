"""An app with a schedule of its own says when it is next due, and is awake by then."""
import time

import pytest

from events import Events
from harness import DEBIAN_PYTHON, NEWEST_PYTHON
from launch_kinds import Kind
from sleeping import IDLE, wait_asleep, wait_served

KINDS = [Kind("debian-uvicorn", DEBIAN_PYTHON, [], "due:app", "uvicorn"),
         Kind("newest-uvicorn", NEWEST_PYTHON, [], "due:app", "uvicorn"),
         Kind("gthread", DEBIAN_PYTHON, ["-k", "gthread"], "due:wsgi", "gunicorn"),
         Kind("sync", DEBIAN_PYTHON, ["-k", "sync"], "due:wsgi", "gunicorn")]


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_the_app_is_woken_by_its_own_due_time_and_sleeps_until_then(start, scratch, kind):
    kind.skip_unless_installed()
    events = Events(scratch / "moult.jsonl")
    moult = start(*IDLE, *events.flags, *kind.flags, kind.app)
    wait_served(moult)
    due = float(moult.fetch("/in?15").text)
    wait_asleep(moult)
    slept_by = time.time()
    woke = moult.wait_for(lambda: [event for event in events.all("woke") if event["caller"] == "app_due"], "it woke")
    moult.wait_for(lambda: len(events.all("worker_ready")) >= 2, "a worker serves")
    if slept_by < due - 10:  # else the machine was too busy to sleep in time
        assert time.time() < due + 1
    assert len(woke) == 1
    wait_asleep(moult)


def test_due_times_do_not_keep_it_awake(start, scratch):
    events = Events(scratch / "moult.jsonl")
    moult = start(*IDLE, *events.flags, "due:app")
    wait_served(moult)
    moult.fetch("/in?3600")
    wait_asleep(moult)
    assert not [event for event in events.all("woke") if event["caller"] == "app_due"]


def test_milliseconds_are_refused_with_one_line(start):
    moult = start(*IDLE, "-w", "2", "due:app")
    wait_served(moult)
    moult.fetch("/in?1800000000000")
    wait_asleep(moult)
    moult.wait_log("is more than ten years from now: it is unix time in seconds. It wakes nobody")
    assert moult.log().count("NEXT_DUE=") == 1
