"""The alarms that fire, from what CloudWatch answers and from what a local stack has logged."""

import json
from datetime import UTC, datetime, timedelta
from typing import Any, Final

import pytest

from cli.alarms import firing_locally, firing_on_aws
from cli.commands.alarms import show
from infra.environments import LOCAL, PROD

NOW: Final = datetime(2026, 11, 19, 12, 0, 30, tzinfo=UTC)


class Pages:
    """A client's paginators, over one page an operation."""

    def __init__(self, **pages: dict[str, Any]) -> None:
        self.pages = pages
        self.asked: dict[str, Any] = {}
        self.exceptions = type("Exceptions", (), {"ResourceNotFoundException": KeyError})

    def get_paginator(self, operation: str) -> "Pages":
        self.operation = operation
        return self

    def paginate(self, **asked: Any) -> list[dict[str, Any]]:
        self.asked = asked
        name = asked.get("logGroupName", self.operation)
        return [self.pages[name]]

    def get_queue_url(self, *, QueueName: str) -> dict[str, str]:  # noqa: N803 (as boto3 names it)
        return {"QueueUrl": QueueName}

    def get_queue_attributes(self, *, QueueUrl: str, AttributeNames: list[str]) -> dict[str, Any]:  # noqa: N803
        assert AttributeNames == ["ApproximateNumberOfMessages"]
        return {
            "Attributes": {"ApproximateNumberOfMessages": "1" if QueueUrl.endswith("-tasks-dlq") else "0"}
        }


class Throttles:
    """CloudWatch, with a throttled write of one table in each of five minutes."""

    def __init__(self, table: str = "") -> None:
        self._table = table

    def get_metric_statistics(self, **asked: Any) -> dict[str, Any]:
        (dimension,) = asked["Dimensions"]
        throttled = dimension["Value"] == self._table
        instants = [NOW - timedelta(minutes=minute) for minute in range(5)]
        return {"Datapoints": [{"Timestamp": at, "Sum": 3.0} for at in instants if throttled]}


def found(name: str) -> dict[str, Any]:
    return {"AlarmName": name, "StateUpdatedTimestamp": NOW}


def test_alarms_on_aws_are_told_pages_first_and_parts_not_at_all() -> None:
    page = {
        "MetricAlarms": [
            found("postdate-prod-tasks_die".replace("_", "-")),
            found(PROD.named("sweep_behind")),
        ],
        "CompositeAlarms": [found(PROD.named("timer_down"))],
    }
    cloudwatch = Pages(describe_alarms=page)
    firing = firing_on_aws(PROD, lambda service: {"cloudwatch": cloudwatch}[service])
    assert [(each["alarm"], each["severity"]) for each in firing] == [
        ("timer_down", "page"),
        ("tasks_die", "ticket"),
    ]
    assert firing[0]["since"] == NOW.isoformat()
    assert cloudwatch.asked["StateValue"] == "ALARM"
    assert cloudwatch.asked["AlarmNamePrefix"] == "postdate-prod-"


def line(function: str, at: datetime, **values: float) -> dict[str, str]:
    told = {
        "_aws": {
            "Timestamp": at.timestamp() * 1000,
            "CloudWatchMetrics": [
                {
                    "Namespace": "Postdate",
                    "Dimensions": [["service"]],
                    "Metrics": [{"Name": name, "Unit": "Count"} for name in values],
                }
            ],
        },
        "service": LOCAL.named(function),
        **{name: [value] for name, value in values.items()},
    }
    return {"message": json.dumps(told)}


def groups(**events: list[dict[str, str]]) -> Pages:
    return Pages(
        **{f"/aws/lambda/{LOCAL.named(name)}": {"events": events.get(name, [])} for name in LOCAL.functions}
    )


def swept(minutes: int) -> list[dict[str, str]]:
    return [
        line("sweep", NOW - timedelta(minutes=back), WakeUps=1, Ticks=1, SweepBehindMinutes=1)
        for back in range(minutes)
    ]


@pytest.mark.parametrize(("disagreeing", "pages"), [(0, []), (1, ["balance_inconsistency"])])
def test_the_local_stack_is_evaluated_from_its_logs_and_queues(disagreeing: int, pages: list[str]) -> None:
    logs = groups(sweep=swept(20), settle=[line("settle", NOW, BooksDisagree=disagreeing)])
    firing = firing_locally(LOCAL, {"logs": logs, "sqs": Pages(), "cloudwatch": Throttles()}.__getitem__, NOW)
    assert [each["alarm"] for each in firing] == [*pages, "dead_letters_tasks"]


def test_a_sweep_that_stopped_fires_on_the_local_stack() -> None:
    logs = groups(sweep=swept(20)[8:])
    firing = firing_locally(LOCAL, {"logs": logs, "sqs": Pages(), "cloudwatch": Throttles()}.__getitem__, NOW)
    assert {"timer_down", "tick_missing"} <= {each["alarm"] for each in firing}


def test_lines_that_are_no_metrics_are_passed_over() -> None:
    logs = groups(sweep=[{"message": "START RequestId"}, {"message": '{"level": "INFO"}'}, *swept(20)])
    firing = firing_locally(LOCAL, {"logs": logs, "sqs": Pages(), "cloudwatch": Throttles()}.__getitem__, NOW)
    assert [each["alarm"] for each in firing] == ["dead_letters_tasks"]


def test_each_alarm_is_shown_with_its_entry_of_the_runbook() -> None:
    row = {
        "alarm": "overdue",
        "severity": "ticket",
        "since": "now",
        "meaning": "Late.",
        "runbook": "docs/runbook.md#overdue",
    }
    assert show({"firing": [row]}).splitlines() == [
        "ticket  overdue since now",
        "        Late.",
        "        docs/runbook.md#overdue",
    ]
    assert show({"firing": []}) == "No alarm fires."


@pytest.mark.parametrize("table", [LOCAL.table("items"), ""])
def test_throttled_writes_fire_the_alarm_of_their_table(table: str) -> None:
    asked = {"logs": groups(sweep=swept(20)), "sqs": Pages(), "cloudwatch": Throttles(table)}
    firing = {each["alarm"] for each in firing_locally(LOCAL, asked.__getitem__, NOW)}
    assert ("throttled_items" in firing) is bool(table)
    assert "throttled_payments" not in firing
