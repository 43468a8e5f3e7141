"""What Prometheus reads of a real moult is well formed and well named; the alert rules and the dashboard ask for
nothing that it does not have."""
import json
import re
import subprocess
from typing import Dict, Iterator, List, Set

import pytest
import yaml
from prometheus_client.metrics_core import Metric
from prometheus_client.parser import text_string_to_metric_families

from harness import NEWEST_PYTHON, ROOT, fetch
from recycling import LIMIT, OVER_LIMIT, Run

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
    """Of a moult that has replaced a worker because of memory, as Prometheus' own client reads them."""
    run = Run(start, scratch, *LIMIT, "-w", "2", "--admin", f"127.0.0.1:{admin_port}")
    run.serve(2)
    run.grow(run.pid_of(0), OVER_LIMIT)
    run.recycled(1)
    run.serve(2)

    def read() -> List[Metric]:
        found = list(text_string_to_metric_families(fetch(admin_port, "/metrics").text))
        return found if any(family.name == "moult_recycled_worker_requests_p10" for family in found) else []
    return run.moult.wait_for(read, "the metrics tell of the recycle")


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
            assert set(sample.labels) <= {"how", "le", "outcome", "reason", "slot", "state", "urgency", "version",
                                          "why"}, sample
            assert all(re.fullmatch(r"[\w.+]+", value) for value in sample.labels.values()), sample


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


def test_the_check_finds_a_series_that_is_not_there(families):
    for expression in ("moult_gone == 1", 'sum(moult_workers{state="flying"}) > 0', 'moult_workers{colour="red"}'):
        with pytest.raises(AssertionError):
            assert_exist([expression], families)


def test_the_main_alert_is_how_long_workers_live_and_there_is_none_on_how_often_they_are_replaced():
    first, *others = rules()
    assert "moult_recycled_worker_requests_p10" in first["expr"] and first["labels"]["severity"] == "critical"
    for series in ("moult_recycles_ungated_total", "delta(moult_gate_tokens", "moult_log_lines_dropped_total",
                   "moult_events_dropped_total", "moult_worker_over_hard_limit_seconds_total"):
        assert any(series in rule["expr"] for rule in others), series
    assert not any("moult_recycles_total" in rule["expr"] for rule in rules())
    for rule in rules():
        assert rule["annotations"]["summary"] and rule["annotations"]["description"], rule["alert"]
