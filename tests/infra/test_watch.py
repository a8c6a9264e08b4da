"""The alarms and dashboards that an environment gets, against the tables they are made from."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import pytest

from infra.environments import DEV, ENVIRONMENTS, PROD, STAGING, Environment
from infra.watch.alarm import Alarm, Severity
from infra.watch.table import alarms, composites
from postdate.runtime.metric import METRICS
from tests.infra.synthesis import Stacks

WATCHED: Final = (DEV, STAGING, PROD)
RUNBOOK: Final = Path("docs/runbook.md").read_text(encoding="utf-8")
# What AWS gives each account free of charge.
FREE: Final = {"metric": 10, "alarm": 10, "dashboard": 3}
PRICES: Final = {"metric": 0.30, "alarm": 0.10, "composite": 0.50, "dashboard": 3.00}
BUDGET: Final = 25.0
DAY: Final = 86_400


@pytest.fixture(params=WATCHED, ids=lambda environment: environment.name)
def watched(request: pytest.FixtureRequest, stacks_of: Callable[[str], Stacks]) -> Stacks:
    return stacks_of(request.param.name)


def of(stacks: Stacks, kind: str) -> dict[str, Any]:
    assert stacks.watch is not None
    return {
        resource["Properties"].get("AlarmName", name): resource["Properties"]
        for name, resource in stacks.watch["Resources"].items()
        if resource["Type"] == kind
    }


def test_the_local_stack_has_no_alarms(stacks_of: Callable[[str], Stacks]) -> None:
    assert stacks_of("local").watch is None


def test_each_alarm_of_the_table_is_made(watched: Stacks) -> None:
    environment = watched.environment
    assert of(watched, "AWS::CloudWatch::Alarm").keys() == {
        environment.named(each.name) for each in alarms(environment)
    }
    assert of(watched, "AWS::CloudWatch::CompositeAlarm").keys() == {
        environment.named(each.name) for each in composites(environment)
    }


def test_an_alarm_on_aws_is_what_its_row_says(watched: Stacks) -> None:
    made = of(watched, "AWS::CloudWatch::Alarm")
    for alarm in alarms(watched.environment):
        found = made[watched.environment.named(alarm.name)]
        assert found["Threshold"] == alarm.threshold
        assert found["ComparisonOperator"] == alarm.comparison.value
        assert found["TreatMissingData"] == alarm.missing.value
        assert found["EvaluationPeriods"] == alarm.periods
        assert found.get("DatapointsToAlarm", alarm.periods) == alarm.datapoints
        assert found["AlarmDescription"].endswith(f"docs/runbook.md#{alarm.runbook}")
        if alarm.expression:
            used = {each["Id"]: each for each in found["Metrics"]}
            (computed,) = [each for each in found["Metrics"] if "Expression" in each]
            assert computed["Expression"] == alarm.expression
            for name, series in alarm.series.items():
                stat = used[name]["MetricStat"]
                assert (stat["Metric"]["MetricName"], stat["Stat"], stat["Period"]) == (
                    series.name,
                    series.statistic,
                    alarm.period,
                )
        else:
            (series,) = alarm.series.values()
            assert (found["Namespace"], found["MetricName"], found["Period"]) == (
                series.namespace,
                series.name,
                alarm.period,
            )
            assert found.get("Statistic", found.get("ExtendedStatistic")) == series.statistic
            dimensions = {each["Name"]: each["Value"] for each in found.get("Dimensions", ())}
            assert dimensions == dict(series.dimensions)


def test_pages_and_tickets_go_to_topics_of_their_own_and_parts_to_none(watched: Stacks) -> None:
    topics = of(watched, "AWS::SNS::Topic")
    assert len(topics) == 2
    made = of(watched, "AWS::CloudWatch::Alarm") | of(watched, "AWS::CloudWatch::CompositeAlarm")
    for each in (*alarms(watched.environment), *composites(watched.environment)):
        actions = made[watched.environment.named(each.name)].get("AlarmActions", [])
        told = [topics[action["Ref"]]["TopicName"] for action in actions]
        expected = [] if each.severity is Severity.PART else [watched.environment.named(each.severity.value)]
        assert told == expected, each.name


@pytest.mark.parametrize("environment", WATCHED, ids=lambda environment: environment.name)
def test_a_part_is_used_by_a_composite_alarm(environment: Environment) -> None:
    used = {part for each in composites(environment) for part in each.parts}
    assert {each.name for each in alarms(environment) if each.severity is Severity.PART} <= used


@pytest.mark.parametrize("environment", WATCHED, ids=lambda environment: environment.name)
def test_an_alarm_keeps_the_limits_of_cloudwatch(environment: Environment) -> None:
    for alarm in alarms(environment):
        assert alarm.period in {10, 30} or alarm.period % 60 == 0
        assert alarm.period * alarm.periods <= (7 * DAY if alarm.period >= 3600 else DAY)
        assert 1 <= alarm.datapoints <= alarm.periods
        assert len(alarm.series) == 1 or alarm.expression


def test_every_alarm_has_an_entry_of_the_runbook_and_every_entry_an_alarm() -> None:
    entries = re.findall(r"^### (\w+)$", RUNBOOK, re.MULTILINE)
    assert len(entries) == len(set(entries))
    assert set(entries) == {each.runbook for each in (*alarms(PROD), *composites(PROD))}


def test_the_index_of_the_runbook_is_the_table_of_alarms() -> None:
    told = [
        f"| [{each.name}](#{each.runbook}) | {each.severity.value} | {each.meaning} |"
        for each in (*alarms(PROD), *composites(PROD))
        if each.severity is not Severity.PART
    ]
    assert re.findall(r"^\| \[\w+\]\(#\w+\).*$", RUNBOOK, re.MULTILINE) == told, "\n" + "\n".join(told)


def test_each_metric_has_a_reader(stacks_of: Callable[[str], Stacks]) -> None:
    watch = stacks_of("prod").watch
    shown = json.dumps(watch)
    for each in METRICS:
        assert f'"{each.name}"' in shown or f'\\"{each.name}\\"' in shown, f"nobody reads {each.name}"


def test_four_dashboards_show_the_thresholds_of_their_alarms(watched: Stacks) -> None:
    dashboards = of(watched, "AWS::CloudWatch::Dashboard")
    assert {each["DashboardName"] for each in dashboards.values()} == {
        watched.environment.named(name) for name in ("service", "payments", "tasks", "cost")
    }
    assert "payment_p95_over_500ms" in json.dumps(dashboards)


def monthly(environment: Environment) -> float:
    """Dollars a month. An alarm on math is paid for each of its metrics."""
    functions = {name for each in METRICS for name in each.functions}
    assert functions <= environment.functions.keys()
    rows = alarms(environment)
    counts = {
        "metric": sum(len(each.functions) for each in METRICS),
        "alarm": sum(len(each.series) for each in rows),
        "composite": len(composites(environment)),
        "dashboard": 4,
    }
    return sum(PRICES[name] * max(0, count - FREE.get(name, 0)) for name, count in counts.items())


def test_what_watches_prod_keeps_its_budget() -> None:
    assert monthly(PROD) <= BUDGET, f"{monthly(PROD):.2f} $"


def test_alarms_have_names_of_their_own() -> None:
    for environment in ENVIRONMENTS.values():
        names = [each.name for each in (*alarms(environment), *composites(environment))]
        assert len(names) == len(set(names))


def test_an_alarm_on_a_metric_that_its_function_does_not_emit_is_refused() -> None:
    from infra.watch import table
    from postdate.runtime import metric

    with pytest.raises(ValueError, match="does not emit"):
        table._own(PROD, "api", metric.PAYMENTS_SETTLED)


def test_each_alarm_says_how_long_it_takes() -> None:
    assert all(isinstance(each, Alarm) and each.fires_within <= 2 * DAY for each in alarms(PROD))
