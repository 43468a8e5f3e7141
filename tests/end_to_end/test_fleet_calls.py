"""Calls of which a fleet makes each at most once: two masters, one real Redis, and what dies in between."""
import random
import signal
import subprocess
from collections import Counter
from datetime import datetime, timezone
from typing import Dict, Set, Tuple

from calls import NEVER, Calls, due_of, entry
from harness import wait_until

ENTRIES = [entry(f"c{number}", scope="fleet", timeout=5) for number in range(10)]


def member(start, scratch, redis, name: str, entries=None, **more) -> Calls:
    return Calls(start, scratch, entries or ENTRIES, "--fleet", redis.url, "--fleet-name", "web", name=name, **more)


def claims(redis) -> Dict[str, str]:
    """What the store keeps of each claim: key -> its second word, "held" or the outcome."""
    def ask(*words: str):
        command = ["redis-cli", "-s", redis.path, *words]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout
    keys = sorted(ask("KEYS", "{moult:web}:1:call:*").split())
    values = ask("MGET", *keys).splitlines() if keys else []
    return {key: value.split()[1] for key, value in zip(keys, values)}


def made(*runs: Calls) -> Counter:
    """How often the app was asked, for each due time."""
    return Counter((call["headers"]["x-moult-schedule-name"], due_of(call)) for run in runs for call in run.seen())


def told(*runs: Calls, but: Set[str] = frozenset({"claimed_elsewhere"})) -> Counter:
    ended = [event for run in runs for event in run.ended()]
    return Counter((event["name"], event["due"]) for event in ended if event["outcome"] not in but)


def answered(*runs: Calls) -> Counter:
    return Counter((event["name"], event["due"]) for run in runs for event in run.ended(outcome="answered"))


def still_held(redis) -> Set[str]:
    return {key for key, word in claims(redis).items() if word == "held"}


def test_each_call_of_a_fleet_is_made_by_one_instance(start, scratch, store):
    redis = store()
    runs = [member(start, scratch, redis, name) for name in "ab"]
    for run in runs:
        run.moult.wait_serving(1)
    wait_until(lambda: len(answered(*runs)) >= 120, "120 calls are answered", 120)
    for run in runs:
        assert run.moult.stop() == 0
    assert set(made(*runs).values()) == {1} and set(answered(*runs).values()) == {1}
    assert made(*runs).keys() >= answered(*runs).keys()
    kept = claims(redis)
    assert len(kept) == len(told(*runs)), "each that was claimed is told of, by one"
    assert set(told(*runs).values()) == {1} and "held" not in kept.values()
    assert all(run.ended(outcome="claimed_elsewhere") for run in runs), "both have asked"


def test_what_a_killed_instance_had_claimed_is_told_as_lost_and_not_made(start, scratch, store, leaves):
    redis = store()
    good = member(start, scratch, redis, "good")
    good.moult.wait_serving(1)
    for _ in range(3):
        # It never serves: what it claims waits, and is between claim and delivery when it is killed.
        bad = member(start, scratch, redis, "bad", env={"STARTUP_SECONDS": "3600"})
        wait_until(lambda: sum(word == "held" for word in claims(redis).values()) >= 3, "it has claimed some")
        bad.moult.process.kill()
        bad.moult.process.wait()
    leaves.add("run/bad.control")
    good.wait_ended(3, outcome="lost")
    wait_until(lambda: len(good.ended(outcome="lost")) >= len(still_held(redis)), "all of them are told", 40)
    lost = {(event["name"], event["due"]) for event in good.ended(outcome="lost")}
    assert len(good.ended(outcome="lost")) == len(lost), "each once"
    assert all("bad.control" in event["holder"] for event in good.ended(outcome="lost"))
    assert not lost & made(good).keys(), "nobody makes it again"
    assert good.moult.stop() == 0
    assert set(made(good).values()) == {1}
    assert set(told(good).values()) == {1}
    assert len(claims(redis)) == len(told(good, bad)), "each claim is accounted for"


def due_of_key(key: str) -> Tuple[str, str]:
    _, name, microseconds = key.rsplit(":", 2)
    at = datetime.fromtimestamp(int(microseconds) // 1_000_000, timezone.utc)
    return name, at.strftime("%Y-%m-%dT%H:%M:%S.000Z")


def test_of_a_thousand_calls_each_is_accounted_for_while_instances_are_killed(start, scratch, store):
    redis = store()
    many = [entry(f"c{number}", scope="fleet", timeout=5) for number in range(40)]
    good, bad = member(start, scratch, redis, "good", many), member(start, scratch, redis, "bad", many)
    good.moult.wait_serving(1)
    kills, dice = 0, random.Random(7)
    while len(claims(redis)) < 1000:
        bad.moult.wait_serving(1)
        before = len(claims(redis))
        wait_until(lambda: len(claims(redis)) >= before + 20 + dice.randrange(60), "some calls are claimed")
        bad.moult.process.kill()
        bad.moult.process.wait()
        kills += 1
        bad = member(start, scratch, redis, "bad", many)
    bad.moult.wait_serving(1)
    assert good.moult.stop() == 0
    in_hand = still_held(redis)

    def over() -> bool:
        told_lost = {(event["name"], event["due"]) for run in (good, bad) for event in run.ended(outcome="lost")}
        return all(due_of_key(key) in told_lost for key in in_hand & still_held(redis))
    wait_until(over, "what was in hand has ended, or is told as lost")
    assert bad.moult.stop() == 0
    kept = {due_of_key(key): word for key, word in claims(redis).items()}
    lost = Counter((event["name"], event["due"]) for run in (good, bad) for event in run.ended(outcome="lost"))
    assert kills >= 3 and len(kept) >= 1000
    assert not [due for due, word in kept.items() if word == "held" and due not in lost], "neither ended nor lost"
    assert set(made(good, bad).values()) == {1}, "none was made twice"
    assert set(lost.values()) <= {1}, "none was told twice"
    assert not {due for due, word in kept.items() if word == "answered"} - made(good, bad).keys()


def test_without_the_store_no_call_of_the_fleet_is_made(start, scratch, store):
    redis = store()
    run = member(start, scratch, redis, "a", [entry("ours", scope="fleet", timeout=1), entry("own")])
    run.moult.wait_serving(1)
    run.wait_ended(1, "ours", outcome="answered")
    redis.signal(signal.SIGSTOP)
    try:
        run.wait_ended(1, "ours", outcome="store_unreachable", status=None)
        unclaimed = {(event["name"], event["due"]) for event in run.ended("ours", outcome="store_unreachable")}
        run.wait_ended(len(run.ended("own")) + 2, "own", outcome="answered")
    finally:
        redis.signal(signal.SIGCONT)
    so_far = len(run.ended("ours", outcome="answered"))
    run.wait_ended(so_far + 1, "ours", outcome="answered")
    assert not unclaimed & made(run).keys()
    run.moult.wait_log("could not be claimed within its timeout")


def test_a_run_by_hand_takes_no_claim(start, scratch, store):
    redis = store()
    run = member(start, scratch, redis, "a", [entry("ours", scope="fleet", **NEVER)])
    run.moult.wait_serving(1)
    assert run.moult.client("schedule", "run", "ours").returncode == 0
    assert run.wait_ended(1, "ours")[0]["by_hand"] and not claims(redis)
