"""The alarm: workers that go because of memory live for too few requests."""
import json

from recycling import Run
from test_recycling_metrics import Metrics, admin_port  # noqa: F401

ALARM = ["--alarm-window", "10", "--alarm-requests-p10", "5"]  # clears at 6
SMALL = ["--memory-limit", "70MB", "--limit-jitter", "0%", "--limit-spread", "1MB", "--min-runway", "10MB",
         "--hard-limit", "500MB"]


def live(run: Run, requests: int) -> None:
    """A worker serves that many requests, and with the last one it leaks itself to death."""
    run.serve()
    before = len(run.events.all("worker_recycled"))
    for _ in range(requests - 1):
        run.moult.fetch()
    run.moult.fetch("/leak?mb=70")
    run.recycled(before + 1)


def test_ten_short_lives_fire_the_alarm_once_and_ten_long_ones_clear_it(start, scratch, admin_port):  # noqa: F811
    told = scratch / "told"
    run = Run(start, scratch, *SMALL, *ALARM, "--admin", f"127.0.0.1:{admin_port}",
              "--on-alarm", f'echo "$MOULT_EVENT" >> {told}')

    def hook_was_told() -> list:
        return [json.loads(line)["event"] for line in told.read_text().splitlines()] if told.exists() else []

    def shown() -> tuple:
        return run.moult.status()["lifetimes"]["alarm"], Metrics(admin_port).values["moult_lifetime_alarm"]
    for _ in range(9):
        live(run, 2)
    assert not run.events.all("alarm_firing") and shown() == (False, 0), "nine are too few to tell"
    live(run, 2)
    firing = run.wait_events("alarm_firing")[0]
    assert firing["samples"] == 10
    assert 1 <= firing["requests_p10"] <= firing["requests_p50"] <= 2, "the last one may be in flight at RETIRE"
    assert 0 < firing["lifetime_p10_seconds"] < 60
    run.moult.wait_for(lambda: shown() == (True, 1), "status and metrics have it")
    run.moult.wait_log("workers live too short")
    run.moult.wait_for(lambda: hook_was_told() == ["alarm_firing"], "--on-alarm has run")
    for _ in range(10):
        assert not run.events.all("alarm_cleared")
        live(run, 7)
    cleared = run.wait_events("alarm_cleared")[0]
    assert cleared["samples"] == 10 and cleared["requests_p10"] >= 6
    run.moult.wait_for(lambda: shown() == (False, 0), "status and metrics have it")
    assert run.moult.status()["lifetimes"]["samples"] == 10
    run.moult.wait_for(lambda: hook_was_told() == ["alarm_firing", "alarm_cleared"], "--on-alarm has run again")
    assert len(run.events.all("alarm_firing")) == len(run.events.all("alarm_cleared")) == 1


def test_recycles_for_max_requests_and_by_an_operator_say_nothing_of_lifetimes(start, scratch):
    run = Run(start, scratch, "--max-requests", "1", *ALARM)
    for count in range(1, 13):
        run.serve()
        if count % 2:
            run.moult.fetch()
        else:
            run.moult.client("recycle", "0")
        run.recycled(count)
    assert {line["reason"] for line in run.recycled(12)} == {"max_requests", "operator"}
    assert run.moult.status()["lifetimes"] == {"samples": 0, "p10": None, "p50": None, "alarm": False}
    assert not run.events.all("alarm_firing")
