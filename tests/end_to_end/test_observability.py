"""What Prometheus reads of a real moult is well formed and well named; the alert rules and the dashboard ask for
nothing that it does not have."""
import json
import re
import subprocess
from typing import Dict, Iterator, List, Optional, Set

import pytest
import yaml
from prometheus_client import CollectorRegistry
from prometheus_client.metrics_core import Metric
from prometheus_client.openmetrics import exposition, parser
from prometheus_client.parser import text_string_to_metric_families

from calls import entry
from harness import NEWEST_PYTHON, ROOT, fetch
from recycling import LIMIT, OVER_LIMIT, Run
from sleeping import put_to_sleep

OBSERVABILITY = ROOT / "tools/observability"
OF_PROMETHEUS = {"instance", "job"}  # labels that the scrape adds
# Asks a real PromQL parser, which lives where tools/setup put it, for the selectors of each expression.
SELECTORS = """
import json, sys
import promql_parser

def selectors(node):
    if isinstance(node, promql_parser.VectorSelector):
        matchers = [(m.name, str(m.op), m.value) for m in node.matchers.matchers]
        yield node.name, matchers
        return
    for part in ("expr", "lhs", "rhs", "vector_selector", "param"):
        below = getattr(node, part, None)
        if below is not None:
            yield from selectors(below)
    for argument in getattr(node, "args", None) or []:
        yield from selectors(argument)

print(json.dumps([list(selectors(promql_parser.parse(text))) for text in json.load(sys.stdin)]))
"""


@pytest.fixture
def admin_port(free_port) -> int:
    return free_port()


@pytest.fixture
def families(start, scratch, admin_port) -> List[Metric]:
    """Of a moult with everything on that has replaced a worker because of memory, has called by its schedule, has slept
    and was woken; as Prometheus' own client reads them."""
    config = scratch / "schedule.json"
    config.write_text(json.dumps({"schedule": [entry("poll"), entry("nightly", cron="30 3 * * *")]}))
    run = Run(start, scratch, *LIMIT, "-w", "2", "--spares", "1", "--idle", "1h", "-c", str(config), "--linger-timeout",
              "20s", "--admin", f"127.0.0.1:{admin_port}")
    run.moult.wait_for(lambda: len(run.moult.workers()) == 2 and run.moult.workers("spare"), "two serve, one waits")
    run.grow(run.pid_of(0), OVER_LIMIT)
    run.recycled(1)
    run.moult.wait_for(lambda: len(run.moult.workers()) == 2, "two serve again")
    put_to_sleep(run.moult)
    assert run.moult.fetch().status == 200
    run.wait_events("scheduled_call", outcome="answered")

    def read() -> Optional[List[Metric]]:
        found = list(text_string_to_metric_families(fetch(admin_port, "/metrics").text))
        series = series_of(found)
        slots = series.get("moult_worker_limit_bytes", {}).get("slot", set())
        told = {"moult_recycled_worker_requests_p10", "moult_scheduled_call_last_duration_seconds"} <= set(series)
        return found if told and slots == {"0", "1"} else None
    return run.moult.wait_for(read, "the metrics tell of all that")


class Read:
    """A collector of what was read already."""

    def __init__(self, families: List[Metric]) -> None:
        self.families = families

    def collect(self) -> List[Metric]:
        return self.families


def series_of(families: List[Metric]) -> Dict[str, Dict[str, Set[str]]]:
    """Each series' name, its labels, and their values."""
    found: Dict[str, Dict[str, Set[str]]] = {}
    for family in families:
        for sample in family.samples:
            labels = found.setdefault(sample.name, {})
            for label, value in sample.labels.items():
                labels.setdefault(label, set()).add(value)
    return found


def test_names_and_types_are_as_prometheus_wants_them(families):
    names = [family.name for family in families]
    assert len(names) == len(set(names)), "a family is there twice, or a counter and a gauge share a name"
    for family in families:
        assert re.fullmatch(r"moult_[a-z][a-z0-9_]*", family.name), family.name
        assert family.type in ("counter", "gauge", "histogram"), family
        assert family.documentation.endswith("."), family.name
        assert not re.search(r"_(ms|mb|kb|milliseconds|megabytes|minutes|hours|percent)(_|$)", family.name), family.name
        for sample in family.samples:
            if family.type == "counter":
                assert sample.name == family.name + "_total" and sample.value >= 0, sample
            if family.type == "gauge":
                assert not re.search(r"_(total|count|sum|bucket|info)$", sample.name) or sample.name == "moult_info"
            assert set(sample.labels) <= {"how", "le", "name", "outcome", "reason", "slot", "state", "urgency",
                                          "version", "why"}, sample
            assert all(re.fullmatch(r"[\w.+]+", value) for value in sample.labels.values()), sample


def test_they_pass_the_strict_reader_that_prometheus_client_has(families):
    """Its OpenMetrics reader refuses what its reader of the old format lets pass: a counter that is not called one,
    samples of one family that do not stand together, the same labels twice, buckets that fall or have no end."""
    registry = CollectorRegistry()
    registry.register(Read(families))
    read = list(parser.text_string_to_metric_families(exposition.generate_latest(registry).decode()))
    assert [family.name for family in read] == [family.name for family in families]
    samples = sum(len(family.samples) for family in families)
    assert sum(len(family.samples) for family in read) == samples > 100


def test_each_thing_that_an_operator_asks_for_has_its_series(families):
    """Issue 7, Build 1, word by word."""
    series = series_of(families)
    for asked, name in (
            ("workers by state", "moult_workers"), ("boots", "moult_worker_boots_total"),
            ("failed boots", "moult_boot_failures_total"), ("exits by cause", "moult_worker_exits_total"),
            ("recycles by reason and urgency", "moult_recycles_total"), ("holds by reason", "moult_holds_total"),
            ("RSS per slot", "moult_worker_rss_bytes"), ("limit", "moult_worker_limit_bytes"),
            ("hard limit", "moult_worker_hard_limit_bytes"), ("baseline", "moult_worker_boot_rss_bytes"),
            ("seconds over the hard limit", "moult_worker_over_hard_limit_seconds_total"),
            ("requests per worker", "moult_recycled_worker_requests_bucket"),
            ("its p10", "moult_recycled_worker_requests_p10"), ("its alarm", "moult_lifetime_alarm"),
            ("pressure events", "moult_memory_shortages_total"), ("futile ones", "moult_pressure_futile_total"),
            ("headroom", "moult_headroom_bytes"), ("grants", "moult_gate_grants_total"),
            ("refusals", "moult_gate_refusals_total"), ("ungated", "moult_recycles_ungated_total"),
            ("latency", "moult_gate_answer_seconds_bucket"), ("tokens", "moult_gate_tokens"),
            ("wanted", "moult_workers_wanted"), ("parked", "moult_connections_parked_total"),
            ("hand-overs", "moult_connections_handed_over_total"), ("lingers by outcome", "moult_lingers_total"),
            ("fail-closed", "moult_lingers_fail_closed"), ("idle state", "moult_idle_state"),
            ("awake seconds", "moult_awake_seconds_total"), ("wake latency", "moult_wake_seconds_bucket"),
            ("calls", "moult_scheduled_calls_total"), ("dropped log lines", "moult_log_lines_dropped_total")):
        assert name in series, asked
    assert {"booting", "serving", "spare", "retiring"} <= series["moult_workers"]["state"]
    assert series["moult_idle_state"]["state"] == {"active", "stopping", "asleep", "waking"}
    assert series["moult_wakes_total"]["outcome"] == {"awake", "failed"}
    assert series["moult_scheduled_calls_total"]["outcome"] == {
        "answered", "timed_out", "cut_off", "not_served", "claimed_elsewhere", "store_unreachable", "lost", "stopped"}
    values = {sample.name + "".join(sample.labels.values()): sample.value
              for family in families for sample in family.samples}
    for happened in ("moult_sleeps_totalasleep", "moult_wakes_totalawake", "moult_wake_seconds_count",
                     "moult_scheduled_calls_totalanswered", "moult_recycles_totallimitroutine"):
        assert values[happened] >= 1, happened
    assert sum(value for name, value in values.items() if name.startswith("moult_idle_state")) == 1


def test_what_can_be_counted_is_there_before_it_has_happened(families):
    series = series_of(families)
    assert series["moult_worker_exits_total"]["how"] == {"exit", "signal", "stopped", "killed"}
    assert {"no_tokens", "cooldown", "store_unreachable"} <= series["moult_holds_total"]["reason"]
    assert series["moult_lingers_total"]["outcome"] == {"delivered", "reset", "aborted", "fail_closed", "unwatched"}
    assert {"limit", "hard_limit", "pressure", "operator"} <= series["moult_recycles_total"]["reason"]
    assert series["moult_recycles_total"]["urgency"] == {"routine", "hard_limit", "pressure"}
    for name in ("moult_recycles_ungated_total", "moult_pressure_futile_total", "moult_memory_shortages_total",
                 "moult_gate_grants_total", "moult_worker_over_hard_limit_seconds_total",
                 "moult_worker_oom_kills_total", "moult_log_lines_dropped_total", "moult_events_dropped_total"):
        assert name in series


def test_what_can_have_many_values_is_no_label(families):
    """One pair of a reason and an urgency for each cause; slots are bounded by -w; buckets are few."""
    for name, labels in series_of(families).items():
        values = 1
        for each in labels.values():
            values *= len(each)
        assert values <= 24, (name, labels)
    recycles = [family for family in families if family.name == "moult_recycles"][0].samples
    assert len(recycles) == 6


def rules() -> List[dict]:
    groups = yaml.safe_load((OBSERVABILITY / "alerts.yml").read_text())["groups"]
    return [rule for group in groups for rule in group["rules"]]


def panels() -> List[dict]:
    return json.loads((OBSERVABILITY / "dashboard.json").read_text())["panels"]


def selectors(expressions: List[str]) -> Iterator[tuple]:
    asked = subprocess.run([NEWEST_PYTHON, "-c", SELECTORS], input=json.dumps(expressions), text=True,
                           capture_output=True)
    assert asked.returncode == 0, asked.stderr
    for expression, found in zip(expressions, json.loads(asked.stdout)):
        assert found, f"no series in {expression}"
        for name, matchers in found:
            yield expression, name, matchers


def assert_exist(expressions: List[str], families: List[Metric]) -> None:
    series = series_of(families)
    for expression, name, matchers in selectors(expressions):
        assert name in series, f"{expression}: moult has no {name}"
        for label, operator, wanted in matchers:
            if label in OF_PROMETHEUS:
                continue
            assert label in series[name], f"{expression}: {name} has no label {label}"
            for value in wanted.split("|"):
                assert value in series[name][label], f"{expression}: {name} has no {label}={value}"


def test_each_alert_rule_asks_for_series_that_exist(families):
    assert_exist([rule["expr"] for rule in rules()], families)


def test_each_panel_asks_for_series_that_exist(families):
    assert_exist([target["expr"] for panel in panels() for target in panel["targets"]], families)


def test_no_two_panels_cover_each_other():
    covered: Set[tuple] = set()
    for panel in panels():
        at = panel["gridPos"]
        cells = {(x, y) for x in range(at["x"], at["x"] + at["w"]) for y in range(at["y"], at["y"] + at["h"])}
        assert not cells & covered and max(x for x, _ in cells) < 24, panel["title"]
        covered |= cells
    assert len({panel["id"] for panel in panels()}) == len(panels())


def test_the_check_finds_a_series_that_is_not_there(families):
    for expression in ("moult_gone == 1", 'sum(moult_workers{state="flying"}) > 0', 'moult_workers{colour="red"}'):
        with pytest.raises(AssertionError):
            assert_exist([expression], families)


def test_the_main_alert_is_how_long_workers_live_and_there_is_none_on_how_often_they_are_replaced():
    first, *others = rules()
    assert "moult_recycled_worker_requests_p10" in first["expr"] and first["labels"]["severity"] == "critical"
    for series in ("moult_recycles_ungated_total", "delta(moult_gate_tokens", "moult_log_lines_dropped_total",
                   "moult_events_dropped_total", "moult_worker_over_hard_limit_seconds_total",
                   'moult_wakes_total{outcome="failed"}', "moult_lingers_fail_closed", "moult_awake_seconds_total",
                   'moult_scheduled_calls_total{outcome="lost"}', "moult_scheduled_call_errors_total",
                   "moult_scheduled_call_last_delay_seconds"):
        assert any(series in rule["expr"] for rule in others), series
    assert not any("moult_recycles_total" in rule["expr"] for rule in rules())
    for rule in rules():
        assert rule["annotations"]["summary"] and rule["annotations"]["description"], rule["alert"]
