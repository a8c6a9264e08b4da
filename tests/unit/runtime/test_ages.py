"""The ages of queues, read from the answers of CloudWatch."""

from typing import Any

import boto3
from botocore.stub import ANY, Stubber

from postdate.runtime.ages import oldest_seconds
from tests.unit.doubles import ManualClock

URLS = {"tasks": "https://sqs/1/postdate-prod-tasks", "slow": "https://sqs/1/postdate-prod-slow"}


def stubbed() -> tuple[Any, Stubber]:
    client = boto3.client(
        "cloudwatch", region_name="us-east-1", aws_access_key_id="a", aws_secret_access_key="b"
    )
    stub = Stubber(client)
    stub.activate()
    return client, stub


def test_the_newest_age_of_each_queue_is_told_and_an_empty_queue_has_none() -> None:
    client, stub = stubbed()
    results = [{"Id": "q1", "Values": []}, {"Id": "q0", "Values": [34.0, 600.0]}]
    asked: dict[str, Any] = {
        "MetricDataQueries": ANY,
        "StartTime": ANY,
        "EndTime": ANY,
        "ScanBy": "TimestampDescending",
    }
    stub.add_response("get_metric_data", {"MetricDataResults": results}, asked)
    given: list[Any] = []
    client.meta.events.register(
        "provide-client-params.*.GetMetricData", lambda params, **_: given.append(params)
    )
    assert oldest_seconds(lambda: client, URLS, ManualClock()) == {"tasks": 34}
    named = [each["MetricStat"]["Metric"]["Dimensions"][0]["Value"] for each in given[0]["MetricDataQueries"]]
    assert named == ["postdate-prod-tasks", "postdate-prod-slow"]


def test_without_an_answer_no_age_is_told() -> None:
    client, stub = stubbed()
    stub.add_client_error("get_metric_data", "Throttling", http_status_code=400)
    assert oldest_seconds(lambda: client, URLS, ManualClock()) == {}
