"""Cases about CloudFormation and CloudWatch: a creation that fails, and an alarm that reaches its topic."""

import json
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any, Final

from smoke.bed import Bed, check, code_of

_EVERY_SECONDS: Final = 5
_NO_ROLE: Final = "arn:aws:iam::000000000000:role/none"


def rollback(bed: Bed) -> str:
    """A creation that fails removes a queue that `RetainExceptOnCreate` would keep later."""
    cloudformation, name = bed.client("cloudformation"), bed.environment.named(bed.name)
    template = {
        "Resources": {
            "Kept": {
                "Type": "AWS::SQS::Queue",
                "DeletionPolicy": "RetainExceptOnCreate",
                "Properties": {"QueueName": name},
            },
            "Fails": {
                "Type": "AWS::SQS::Queue",
                "DependsOn": "Kept",
                "Properties": {
                    "QueueName": f"{name}-fails",
                    "RedrivePolicy": {"deadLetterTargetArn": _NO_ROLE},
                },
            },
        }
    }
    cloudformation.create_stack(StackName=name, TemplateBody=json.dumps(template))
    bed.removals.callback(cloudformation.delete_stack, StackName=name)
    status = ""
    for _ in looks(bed):
        (described,) = cloudformation.describe_stacks(StackName=name)["Stacks"]
        status = described["StackStatus"]
        if not status.endswith("_IN_PROGRESS"):
            break
    check(status == "ROLLBACK_COMPLETE", f"the stack is {status}")
    code = code_of(lambda: bed.client("sqs").get_queue_url(QueueName=name))
    check(code.endswith("NonExistentQueue") or code == "QueueDoesNotExist", "the queue is still there")
    return "rolled back, and the queue is gone"


def alarm(bed: Bed) -> str:
    """An alarm that fires calls its topic."""
    cloudwatch, began = bed.client("cloudwatch"), datetime.now(UTC)
    name = _an_alarm(cloudwatch, bed.environment.named(""))
    cloudwatch.set_alarm_state(AlarmName=name, StateValue="ALARM", StateReason=f"{bed.name}: a test")
    bed.removals.callback(
        cloudwatch.set_alarm_state,
        AlarmName=name,
        StateValue="OK",
        StateReason=f"{bed.name}: the test is over",
    )
    for _ in looks(bed):
        items = cloudwatch.describe_alarm_history(AlarmName=name, HistoryItemType="Action", StartDate=began)[
            "AlarmHistoryItems"
        ]
        if told := next((each["HistorySummary"] for each in items), None):
            check(told.startswith("Successfully executed action"), told)
            return f"{name} called its topic"
    check(False, f"{name} executed no action within {bed.patience_seconds:g} s")
    return ""


def looks(bed: Bed) -> Iterator[None]:
    """Yields at once, and then every five seconds until the patience of the run is over."""
    ends_at = time.monotonic() + bed.patience_seconds
    yield
    while (left := ends_at - time.monotonic()) > 0:
        time.sleep(min(_EVERY_SECONDS, left))
        yield


def _an_alarm(cloudwatch: Any, prefix: str) -> str:
    pages = cloudwatch.get_paginator("describe_alarms").paginate(AlarmNamePrefix=prefix)
    names = [each["AlarmName"] for page in pages for each in page["MetricAlarms"] if each["AlarmActions"]]
    check(bool(names), f"no alarm of {prefix} has an action")
    return str(sorted(names)[0])
