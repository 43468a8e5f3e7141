"""Calls by the clock to an app that sleeps: they wake it, are answered, and let it sleep again."""
from collections import Counter

from calls import NEVER, Calls, due_of, entry
from harness import wait_until
from sleeping import idle, put_to_sleep, wait_asleep

RARELY = "8s"


def test_a_call_to_a_sleeping_app_has_the_status_of_its_handler(start, scratch):
    run = Calls(start, scratch, [entry("poll", "/status/418", every=RARELY)], "--idle", "1s")
    wait_asleep(run.moult)
    before = len(run.ended())
    woken = run.moult.wait_for(lambda: run.events.all("woke"), "it wakes")
    assert woken[0]["caller"] == "call"
    ended = run.wait_ended(before + 1, "poll", outcome="answered")[before]
    assert ended["status"] == 418
    assert ended["due"] in [due_of(call) for call in run.seen()], "X-Moult-Schedule-At is what was due"
    wait_asleep(run.moult)


def test_each_call_is_made_once_and_answered_however_often_it_sleeps(start, scratch):
    run = Calls(start, scratch, [entry("poll", every=RARELY)], "--idle", "1s", "--warmth", "spare")
    for _ in range(3):
        wait_asleep(run.moult)
        asleep_at = len(run.events.all("woke"))
        run.moult.wait_for(lambda: len(run.events.all("woke")) > asleep_at, "it wakes")
    wait_asleep(run.moult)
    assert {event["caller"] for event in run.events.all("woke")} == {"call"}
    dues = [event["due"] for event in run.ended("poll", outcome="answered")]
    assert len(dues) >= 3 and len(dues) == len(set(dues)) == len(run.ended()), "each once, and each answered"
    assert Counter(due_of(call) for call in run.seen()) == Counter(dues)


def test_a_call_by_hand_to_a_sleeping_app_says_how_it_went(start, scratch):
    run = Calls(start, scratch, [entry("good", "/status/200", **NEVER), entry("bad", "/status/500", **NEVER)])
    run.moult.wait_serving()
    for name, code, status in (("good", 0, 200), ("bad", 1, 500)):
        put_to_sleep(run.moult)
        assert run.moult.client("schedule", "run", name).returncode == code
        assert run.wait_ended(1, name)[0]["status"] == status
        assert idle(run.moult)["woken_by"] == "call"


def test_of_a_sleeping_fleet_one_instance_wakes_for_a_call(start, scratch, store):
    redis = store()
    runs = [Calls(start, scratch, [entry("ours", scope="fleet", every=RARELY)], "--fleet", redis.url, "--fleet-name",
                  "web", "--idle", "1s", name=name) for name in "ab"]
    for run in runs:
        run.moult.wait_serving(1)
    for run in runs:
        wait_asleep(run.moult)
    before = {run: len(run.seen()) for run in runs}

    def answered() -> int:
        return sum(len(run.ended("ours", outcome="answered")) for run in runs)
    since = answered()
    wait_until(lambda: answered() >= since + 2, "two calls are answered", 60)
    for run in runs:
        made = len(run.seen()) - before[run]
        assert len(run.events.all("woke")) == made, "woken by what it made itself, and by nothing else"
    every = Counter(due_of(call) for run in runs for call in run.seen())
    assert set(every.values()) == {1}
