"""The metrics, the events and an onlooker who knows only /proc count the same."""
import os
import re
import signal
from collections import Counter
from typing import Dict

import pytest

from harness import fetch, holds_for, wait_until
from recycling import LIMIT, OVER_HARD_LIMIT, OVER_LIMIT, Onlooker, Run


@pytest.fixture
def admin_port(free_port) -> int:
    return free_port()


class Metrics:
    """One look: {'moult_recycles_total{reason="limit"}': 2.0, ...}"""

    def __init__(self, port: int) -> None:
        self.values: Dict[str, float] = {}
        for line in fetch(port, "/metrics").text.splitlines():
            if line and not line.startswith("#"):
                name, value = line.rsplit(" ", 1)
                assert name not in self.values, f"{name} is there twice"
                self.values[name] = float(value)

    def by_label(self, name: str, label: str) -> Dict[str, int]:
        """The counters of that name that are not zero, by one of their labels."""
        pattern = re.compile(re.escape(name) + r"{(?:.*,)?" + label + r'="([^"]*)"(?:,.*)?}')
        found: Counter = Counter()
        for each, value in self.values.items():
            match = pattern.fullmatch(each)
            if match and value:
                found[match.group(1)] += int(value)
        return dict(found)

    def counted(self) -> dict:
        return {"boots": int(self.values["moult_worker_boots_total"]),
                "boot failures": int(self.values["moult_boot_failures_total"]),
                "exits": self.by_label("moult_worker_exits_total", "how"),
                "recycles": self.by_label("moult_recycles_total", "reason"),
                "urgencies": self.by_label("moult_recycles_total", "urgency"),
                "ungated": int(self.values["moult_recycles_ungated_total"]),
                "holds": self.by_label("moult_holds_total", "reason"),
                "requests": self.values["moult_recycled_worker_requests_sum"],
                "recycled workers": int(self.values["moult_recycled_worker_requests_count"])}


def how(exited: dict) -> str:
    if exited["state"] in ("retiring", "terminating"):
        return "stopped"
    if exited["state"] in ("aborting", "killed"):
        return "killed"
    return "signal" if exited["signal"] else "exit"


def counted(run: Run) -> dict:
    """The same by the event file."""
    recycled = run.events.all("worker_recycled")
    return {"boots": len(run.events.all("worker_ready")),
            "boot failures": len(run.events.all("boot_failed")),
            "exits": dict(Counter(how(event) for event in run.events.all("worker_exited"))),
            "recycles": dict(Counter(event["reason"] for event in recycled)),
            "urgencies": dict(Counter(event["urgency"] for event in recycled)),
            "ungated": len(run.events.all("gate_ungated")),
            "holds": dict(Counter(event["reason"] for event in run.events.all("hold_started"))),
            "requests": sum(event["requests"] for event in recycled),
            "recycled workers": len(recycled)}


def assert_agreed(run: Run, port: int) -> dict:
    """Both are written a moment after it happened; then they are equal, and what they are."""
    try:
        wait_until(lambda: Metrics(port).counted() == counted(run), "the metrics and the events count the same", 10)
    except AssertionError as failure:
        raise AssertionError(f"{failure}\nmetrics: {Metrics(port).counted()}\nevents:  {counted(run)}") from None
    return counted(run)


def nobody_is_due(run: Run) -> bool:
    workers = run.moult.status()["workers"]
    return len(workers) == 3 and all(w["state"] == "serving" and w["requests"] < 20 for w in workers)


def test_metrics_events_and_an_onlooker_agree_on_every_count(start, scratch, admin_port):
    run = Run(start, scratch, *LIMIT, "-w", "3", "--max-requests", "20", "--admin", f"127.0.0.1:{admin_port}")
    onlooker = Onlooker(run.moult.pid)
    onlooker.wait_seen(run.serve(3))
    fork_server = run.moult.status()["fork_server_pid"]
    os.kill(run.pid_of(0), signal.SIGKILL)
    run.wait_events("worker_ready", 4)
    run.grow(run.pid_of(1), OVER_LIMIT)
    run.wait_events("worker_recycled", reason="limit")
    run.moult.client("recycle", "2")
    run.wait_events("worker_recycled", reason="operator")

    def one_is_replaced() -> bool:  # each answer brings somebody nearer to its end
        onlooker.wait_seen([event["pid"] for event in run.events.all("worker_ready")])
        return run.moult.answers() is not None and len(run.events.all("worker_recycled")) > 2
    run.moult.wait_for(one_is_replaced, "one served its requests")
    run.moult.wait_for(lambda: nobody_is_due(run), "all that served their 20 requests are replaced")
    run.moult.client("scale", "2")
    workers = run.serve(2)
    run.moult.wait_for(lambda: len(run.events.all("worker_ready")) - len(run.events.all("worker_exited")) == 2,
                       "it is told who has gone")
    said = assert_agreed(run, admin_port)
    onlooker.end()
    assert set(onlooker.came) == {event["pid"] for event in run.events.all("worker_ready")} | {fork_server}
    assert len(onlooker.came) - 1 == said["boots"]
    assert len(onlooker.gone) == sum(said["exits"].values())
    assert sorted(onlooker.here) == sorted([*workers, fork_server])
    assert said["exits"]["signal"] == 1 and said["exits"]["stopped"] == said["boots"] - 3
    assert said["recycles"]["limit"] == said["recycles"]["operator"] == 1 and said["recycles"]["max_requests"] >= 1
    assert said["holds"]["second_reading"] == 1
    values = Metrics(admin_port).values
    assert values['moult_workers{state="serving"}'] == values["moult_workers_wanted"] == 2


def test_the_histogram_of_requests_has_what_the_event_lines_say(start, scratch, admin_port):
    run = Run(start, scratch, "--admin", f"127.0.0.1:{admin_port}")
    for requests in (0, 10, 11, 55):
        run.serve()
        for _ in range(requests):
            run.moult.fetch()
        recycled = len(run.events.all("worker_recycled"))
        run.moult.client("recycle", "0")
        run.recycled(recycled + 1)
    assert [line["requests"] for line in run.recycled(4)] == [0, 10, 11, 55]
    assert assert_agreed(run, admin_port)["requests"] == 76
    values = Metrics(admin_port).values
    buckets = {limit: values[f'moult_recycled_worker_requests_bucket{{le="{limit}"}}'] for limit in (10, 50, 100)}
    assert buckets == {10: 2, 50: 3, 100: 4}
    assert values['moult_recycled_worker_requests_bucket{le="+Inf"}'] == 4


def test_failed_boots_holds_and_ungated_recycles_are_counted_too(start, scratch, admin_port):
    run = Run(start, scratch, *LIMIT, "-w", "2", "--recycle-rate", "1/h", "--recycle-burst", "1", "--boot-attempts",
              "50", "--admin", f"127.0.0.1:{admin_port}")
    onlooker = Onlooker(run.moult.pid)
    onlooker.wait_seen(run.serve(2))
    for count in (1, 2, 3):
        run.grow(run.pid_of(0), OVER_HARD_LIMIT)
        run.recycled(count)
        onlooker.wait_seen(run.serve(2))
    run.fail_file.touch()
    os.kill(run.pid_of(1), signal.SIGKILL)
    run.wait_events("boot_failed", 2)
    run.fail_file.unlink()
    run.serve(2)
    run.moult.client("recycle", "0")  # the bucket is empty: it waits
    run.wait_events("hold_started", reason="no_tokens")
    said = assert_agreed(run, admin_port)
    onlooker.end()
    assert said["ungated"] == 1 and said["boot failures"] >= 2 and said["holds"]["no_tokens"] >= 1
    assert sum(said["urgencies"].values()) == 3
    seen = Metrics(admin_port)
    assert seen.values["moult_gate_grants_total"] == 2 and seen.values["moult_gate_tokens"] < 0
    refusals = seen.by_label("moult_gate_refusals_total", "reason")  # with the one that went ahead in spite of it
    assert seen.values["moult_gate_answer_seconds_count"] == 2 + sum(refusals.values())
    short_lived = {event["pid"] for event in run.events.all("boot_failed")}  # it may not have looked meanwhile
    assert len(short_lived.union(onlooker.came)) - 1 == said["boots"] + said["boot failures"]


def test_a_boot_that_nobody_wants_any_more_is_not_the_end_of_a_worker_that_was_ready(start, scratch, admin_port):
    run = Run(start, scratch, "--admin", f"127.0.0.1:{admin_port}", env={"STARTUP_SECONDS": "2"})
    run.serve()
    run.moult.client("scale", "2")
    run.moult.wait_for(lambda: run.moult.workers("booting"), "the second boots")
    run.moult.client("scale", "1")
    run.serve()
    said = assert_agreed(run, admin_port)
    assert (said["boots"], said["boot failures"], said["exits"]) == (1, 0, {})


def test_each_slot_has_its_baseline_and_its_limits_beside_what_it_weighs(start, scratch, admin_port):
    run = Run(start, scratch, *LIMIT, "-w", "2", "--admin", f"127.0.0.1:{admin_port}")
    run.serve(2)
    workers = {str(worker["slot"]): worker for worker in run.moult.workers()}
    for what in ("boot_rss_bytes", "limit_bytes", "hard_limit_bytes"):
        expected = {slot: worker[what] for slot, worker in workers.items()}
        wait_until(lambda: Metrics(admin_port).by_label(f"moult_worker_{what}", "slot") == expected, what, 10)


def test_seconds_over_the_hard_limit_rise_while_somebody_is_over_it_and_stay_when_he_is_gone(start, scratch,
                                                                                              admin_port):
    run = Run(start, scratch, *LIMIT, "-w", "2", "--cooldown", "12s", "--urgent-cooldown", "12s", "--admin",
              f"127.0.0.1:{admin_port}")
    run.serve(2)

    def over() -> float:
        return Metrics(admin_port).values["moult_worker_over_hard_limit_seconds_total"]
    assert over() == 0
    run.grow(run.pid_of(0), OVER_HARD_LIMIT)
    run.recycled(1)
    run.serve(2)
    before = over()
    run.grow(run.pid_of(1), OVER_HARD_LIMIT)
    run.wait_events("hold_started", reason="cooldown")
    wait_until(lambda: over() > before + 1, "it rises while one waits", 10)
    told = sum(line["over_hard_seconds"] for line in run.recycled(2))
    run.wait_events("worker_exited", 2)
    wait_until(lambda: over() >= told > 1, "all of it is counted", 10)
    stays = over()
    holds_for(lambda: over() == stays, 1.5, "nobody is over it any more")


def test_memory_that_is_short_is_counted_and_so_are_events_that_find_no_room(start, scratch, admin_port):
    moult = start("--min-headroom", "99%", "--events", "/dev/full", "--admin", f"127.0.0.1:{admin_port}", "hello:app")
    moult.wait_serving(1)
    wait_until(lambda: Metrics(admin_port).values["moult_memory_shortages_total"] == 1, "memory is short", 10)
    wait_until(lambda: Metrics(admin_port).values["moult_events_dropped_total"] >= 2, "two events are lost", 10)
    wait_until(lambda: Metrics(admin_port).values["moult_events_dropped_total"] == moult.status()["events_dropped"],
               "the status has the same", 10)
    values = Metrics(admin_port).values
    assert values["moult_log_lines_dropped_total"] == 0
    assert values["moult_min_headroom_bytes"] > values["moult_headroom_bytes"]


def test_what_a_slot_weighs_is_what_proc_says(start, scratch, admin_port):
    run = Run(start, scratch, "-w", "2", "--admin", f"127.0.0.1:{admin_port}")
    run.serve(2)
    run.grow(run.pid_of(1), 50)

    def weights() -> Dict[str, int]:
        return Metrics(admin_port).by_label("moult_worker_rss_bytes", "slot")
    wait_until(lambda: weights().get("1", 0) > 50e6, "its new weight is shown", 10)
    assert set(weights()) == {"0", "1"} and weights()["0"] < 50e6
