"""The alarms that fire, read from the answers of CloudWatch."""

from datetime import UTC, datetime, timedelta
from typing import Any

import boto3
from botocore.stub import Stubber

from infra.environments import PROD
from infra.watch.alarm import RUNBOOK, described
from infra.watch.table import alarms
from postdate.runtime.alarms import firing

SINCE = datetime(2026, 11, 19, 3, 0, tzinfo=UTC)
PREFIX = PROD.named("")
ASKED = {
    "AlarmNamePrefix": PREFIX,
    "AlarmTypes": ["MetricAlarm", "CompositeAlarm"],
    "StateValue": "ALARM",
    "MaxRecords": 100,
}


def an_alarm(name: str, topic: str | None, *, minutes: int = 0) -> dict[str, Any]:
    (row,) = [each for each in alarms(PROD) if each.name == name]
    return {
        "AlarmName": PROD.named(name),
        "AlarmDescription": described(row),
        "AlarmActions": [] if topic is None else [f"arn:aws:sns:us-east-1:000000000000:{PROD.named(topic)}"],
        "StateUpdatedTimestamp": SINCE + timedelta(minutes=minutes),
        "StateValue": "ALARM",
    }


def stubbed(*answers: dict[str, Any]) -> Any:
    client = boto3.client(
        "cloudwatch", region_name="us-east-1", aws_access_key_id="a", aws_secret_access_key="b"
    )
    stub, asked = Stubber(client), dict(ASKED)
    for answer in answers:
        stub.add_response("describe_alarms", answer, dict(asked))
        asked["NextToken"] = answer.get("NextToken")
    stub.activate()
    return client


def test_pages_come_first_and_parts_are_left_out() -> None:
    client = stubbed(
        {
            "MetricAlarms": [an_alarm("overdue", "ticket"), an_alarm("wake_ups_missing", None)],
            "CompositeAlarms": [],
            "NextToken": "more",
        },
        {"MetricAlarms": [an_alarm("backlog", "page", minutes=5)], "CompositeAlarms": []},
    )
    first, second = firing(lambda: client, PREFIX) or ()
    assert (first.name, first.severity, first.since) == ("backlog", "page", SINCE + timedelta(minutes=5))
    assert (second.name, second.severity, second.runbook) == ("overdue", "ticket", f"{RUNBOOK}#overdue")
    assert second.meaning == next(each.meaning for each in alarms(PROD) if each.name == "overdue")


def test_each_alarm_is_told_under_the_name_of_its_row() -> None:
    for row in alarms(PROD):
        client = stubbed({"MetricAlarms": [an_alarm(row.name, "page")], "CompositeAlarms": []})
        (told,) = firing(lambda client=client: client, PREFIX) or ()
        assert (told.name, told.meaning) == (row.name, row.meaning)


def test_alarms_are_not_known_while_cloudwatch_does_not_answer() -> None:
    client = boto3.client(
        "cloudwatch", region_name="us-east-1", aws_access_key_id="a", aws_secret_access_key="b"
    )
    with Stubber(client) as stub:
        stub.add_client_error("describe_alarms", "Throttling")
        assert firing(lambda: client, PREFIX) is None
