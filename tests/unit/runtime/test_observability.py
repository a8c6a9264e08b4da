"""Lines of metrics: series for CloudWatch, and counts that stay in the logs."""

import json
from typing import Any

import pytest

from postdate.runtime import metric, observability
from postdate.runtime.metric import METRICS
from postdate.runtime.observability import emit, emit_of_tier, metrics


@pytest.fixture(autouse=True)
def _written(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("POWERTOOLS_METRICS_DISABLED", raising=False)
    metrics.clear_metrics()


def lines(capsys: pytest.CaptureFixture[str]) -> list[dict[str, Any]]:
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def series(line: dict[str, Any]) -> set[str]:
    (directive,) = line["_aws"]["CloudWatchMetrics"]
    return {each["Name"] for each in directive["Metrics"]}


def test_a_count_of_the_logs_is_a_field_of_the_line_and_no_series(capsys: pytest.CaptureFixture[str]) -> None:
    emit(metric.PACKETS, 2)
    emit(metric.CALLS_DROPPED, 2)
    emit(metric.CALLS_DROPPED)
    metrics.flush_metrics()
    (line,) = lines(capsys)
    assert series(line) == {"Packets"}
    assert line["CallsDropped"] == 3


def test_a_line_that_is_full_takes_its_counts_with_it(capsys: pytest.CaptureFixture[str]) -> None:
    """Powertools writes a line at its hundredth value, and would repeat the counts in the next one."""
    emit(metric.CALLS_DROPPED, 7)
    for _ in range(150):
        emit(metric.TASK_LATENESS, 1)
    emit(metric.CALLS_DEFERRED, 2)
    metrics.flush_metrics()
    told = lines(capsys)
    assert [len(line["TaskLateness"]) for line in told] == [100, 50]
    assert sum(line.get("CallsDropped", 0) for line in told) == 7
    assert sum(line.get("CallsDeferred", 0) for line in told) == 2


def test_a_noted_field_stays_in_each_line_of_a_request(capsys: pytest.CaptureFixture[str]) -> None:
    observability.note("request_id", "r-1")
    for _ in range(101):
        emit(metric.REQUESTS)
    metrics.flush_metrics()
    assert [line["request_id"] for line in lines(capsys)] == ["r-1", "r-1"]


def test_a_tier_has_a_line_with_its_dimension(capsys: pytest.CaptureFixture[str]) -> None:
    emit_of_tier("gold", {metric.TIER_ENDED: [3], metric.TIER_LATENESS: [1.5, 2]})
    (line,) = lines(capsys)
    (directive,) = line["_aws"]["CloudWatchMetrics"]
    assert sorted(directive["Dimensions"][0]) == ["service", "tier"]
    assert (line["tier"], line["TierTasksEnded"], line["TierTaskLateness"]) == ("gold", [3], [1.5, 2])


def test_a_tier_without_values_has_no_line(capsys: pytest.CaptureFixture[str]) -> None:
    emit_of_tier("gold", {metric.TIER_ENDED: []})
    assert lines(capsys) == []


def test_every_function_that_counts_in_its_logs_has_a_series_in_every_line() -> None:
    """Without a series Powertools writes no line, and the counts would be lost."""
    counting = {function for each in METRICS if each.in_logs for function in each.functions}
    always = {function for each in METRICS if each.zeros for function in each.functions}
    assert counting <= always


def test_a_metric_is_counted_in_one_place_only() -> None:
    assert not [each.name for each in METRICS if each.in_logs and (each.zeros or each.by_tier)]
    assert len({each.name for each in METRICS}) == len(METRICS)
