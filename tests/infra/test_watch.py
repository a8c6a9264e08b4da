"""The alarms and dashboards that an environment gets, against the tables they are made from."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import pytest

from infra.environment import Environment
from infra.environments import DEV, ENVIRONMENTS, PROD, STAGING
from infra.watch.alarm import Alarm, Severity
from infra.watch.cost import bill
from infra.watch.machines import WATCHED as WATCHED_MACHINES
from infra.watch.queries import QUERIES
from infra.watch.table import alarms, composites
from infra.watch.throttles import WATCHED as WATCHED_TABLES
from postdate.runtime.metric import METRICS
from tests.infra.synthesis import Stacks, Template

WATCHED: Final = (DEV, STAGING, PROD)
RUNBOOK: Final = Path("docs/runbook.md").read_text(encoding="utf-8")
# Dollars a month, beside traffic.
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
        read = f"sum({each.name})" if each.in_logs else f'\\"{each.name}\\"'
        assert read in shown or f'"{each.name}"' in shown, f"nobody reads {each.name}"


def test_four_dashboards_show_the_thresholds_of_their_alarms(watched: Stacks) -> None:
    dashboards = of(watched, "AWS::CloudWatch::Dashboard")
    assert {each["DashboardName"] for each in dashboards.values()} == {
        watched.environment.named(name) for name in ("service", "payments", "tasks", "cost")
    }
    assert "payment_p95_over_500ms" in json.dumps(dashboards)


def test_what_watches_prod_keeps_its_budget(stacks_of: Callable[[str], Stacks]) -> None:
    prod = stacks_of("prod")
    assert prod.watch is not None
    lines = bill(PROD, {"watch": prod.watch, "service": prod.service})
    assert [line.name for line in lines] == [
        "metrics",
        "alarms",
        "composite alarms",
        "dashboards",
        "state transitions",
        "GB of logs",
    ]
    assert all(line.count for line in lines)
    assert sum(line.dollars for line in lines) <= BUDGET, lines


def test_an_alarm_more_costs_what_each_of_its_metrics_costs(stacks_of: Callable[[str], Stacks]) -> None:
    prod = stacks_of("prod")
    assert prod.watch is not None

    def dollars(watch: Template) -> float:
        return sum(line.dollars for line in bill(PROD, {"watch": watch, "service": prod.service}))

    alarm = next(
        each
        for each in prod.watch["Resources"].values()
        if each["Type"] == "AWS::CloudWatch::Alarm" and len(each["Properties"].get("Metrics", ())) == 3
    )
    more = prod.watch | {"Resources": prod.watch["Resources"] | {"another": alarm}}
    assert dollars(more) - dollars(prod.watch) == pytest.approx(0.20)


def test_alarms_have_names_of_their_own() -> None:
    for environment in ENVIRONMENTS.values():
        names = [each.name for each in (*alarms(environment), *composites(environment))]
        assert len(names) == len(set(names))


def test_an_alarm_on_a_metric_that_its_function_does_not_emit_is_refused() -> None:
    from infra.watch.series import own
    from postdate.runtime import metric

    with pytest.raises(ValueError, match="does not emit"):
        own(PROD, "api", metric.PAYMENTS_SETTLED)


def test_each_alarm_says_how_long_it_takes() -> None:
    assert all(isinstance(each, Alarm) and each.fires_within <= 2 * DAY for each in alarms(PROD))


def test_a_watched_machine_is_one_of_the_stacks(watched: Stacks) -> None:
    """A machine has no alarm under a name that it does not have."""
    assert watched.watch is not None
    name = watched.environment.named("executions-failed")
    stats = [
        each["MetricStat"]
        for each in of(watched, "AWS::CloudWatch::Alarm")[name]["Metrics"]
        if "MetricStat" in each
    ]
    arns = [watched.text(each["Metric"]["Dimensions"][0]["Value"]) for each in stats]
    made = {
        resource["Properties"]["StateMachineName"]
        for template in (watched.service, watched.watch)
        for resource in template["Resources"].values()
        if resource["Type"] == "AWS::StepFunctions::StateMachine"
    }
    assert arns == [
        f"arn:<AWS::Partition>:states:<AWS::Region>:<AWS::AccountId>:stateMachine:{watched.environment.named(each)}"
        for each in WATCHED_MACHINES
    ]
    assert {arn.rpartition(":")[2] for arn in arns} <= made


def test_a_throttled_index_of_a_watched_table_has_its_series(stacks_of: Callable[[str], Stacks]) -> None:
    """A table or an index that is added later is missing here until its alarm has it."""
    tables = stacks_of("prod").properties("AWS::DynamoDB::Table")
    found = {
        name.removeprefix("table:"): tuple(
            index["IndexName"] for index in properties.get("GlobalSecondaryIndexes", ())
        )
        for name, properties in tables.items()
    }
    assert {name: found.get(name) for name in WATCHED_TABLES} == WATCHED_TABLES


def test_the_saved_queries_read_the_logs_of_their_functions(watched: Stacks) -> None:
    made = of(watched, "AWS::Logs::QueryDefinition")
    assert {each["Name"]: each["QueryString"] for each in made.values()} == {
        f"postdate/{watched.environment.name}/{query.name}": query.text for query in QUERIES
    }
    assert log_groups(watched) >= {name for each in made.values() for name in each["LogGroupNames"]}


def log_groups(stacks: Stacks) -> set[str]:
    return {each["LogGroupName"] for each in stacks.properties("AWS::Logs::LogGroup").values()}


@pytest.mark.parametrize("environment", [STAGING, PROD], ids=lambda environment: environment.name)
def test_logs_are_kept_for_thirty_days_or_longer(environment: Environment) -> None:
    assert environment.log_retention_days >= 30
