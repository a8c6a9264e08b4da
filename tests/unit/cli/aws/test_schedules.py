"""Schedules that a person disabled are enabled again, and nothing else of them changes."""

from datetime import UTC, datetime
from typing import Any, Final

import botocore.session
import pytest
from botocore.exceptions import ClientError

from cli.aws.schedules import _FIELDS, SCHEDULES, enable
from cli.failure import Failure
from infra.environments import PROD

MODEL: Final = botocore.session.get_session().get_service_model("scheduler")
# What AWS answers beside the fields of an update.
OF_AWS: Final = {"Arn", "CreationDate", "LastModificationDate"}


def schedule(name: str, state: str = "ENABLED") -> dict[str, Any]:
    return {
        "Arn": f"arn:aws:scheduler:eu-central-1:123456789012:schedule/default/{name}",
        "CreationDate": datetime(2026, 11, 1, tzinfo=UTC),
        "LastModificationDate": datetime(2026, 11, 18, tzinfo=UTC),
        "Name": name,
        "GroupName": "default",
        "ScheduleExpression": "rate(1 minutes)",
        "ScheduleExpressionTimezone": "Etc/UTC",
        "FlexibleTimeWindow": {"Mode": "OFF"},
        "Target": {"Arn": "arn:aws:sqs:::ticks", "RoleArn": "role", "Input": '{"kind":"tick"}'},
        "State": state,
    }


class Scheduler:
    def __init__(self, **states: str) -> None:
        self.kept = {
            PROD.named(name): schedule(PROD.named(name), states.get(name.partition("-")[0], "ENABLED"))
            for name in SCHEDULES
        }
        self.updated: list[str] = []

    def get_schedule(self, *, Name: str) -> dict[str, Any]:  # noqa: N803 - boto3's names
        if Name not in self.kept:
            raise ClientError({"Error": {"Code": "ResourceNotFoundException"}}, "GetSchedule")
        return {**self.kept[Name], "ResponseMetadata": {}}

    def update_schedule(self, **given: Any) -> None:
        self.updated.append(given["Name"])
        self.kept[given["Name"]] = {name: self.kept[given["Name"]][name] for name in OF_AWS} | given


def test_schedules_that_are_disabled_are_enabled_and_no_others() -> None:
    scheduler = Scheduler(tick="DISABLED", reconcile="DISABLED")
    enabled = list(enable(PROD, scheduler))
    assert enabled == scheduler.updated == ["postdate-prod-tick", "postdate-prod-reconcile-nightly"]
    assert scheduler.kept == Scheduler().kept
    assert list(enable(PROD, scheduler)) == []


def test_a_schedule_that_is_gone_is_named() -> None:
    scheduler = Scheduler()
    del scheduler.kept["postdate-prod-tick"]
    with pytest.raises(Failure, match="no schedule postdate-prod-tick"):
        list(enable(PROD, scheduler))


def test_an_update_leaves_no_field_out() -> None:
    """AWS gives a field that is left out its default."""
    given = set(MODEL.operation_model("UpdateSchedule").input_shape.members) - {"State", "ClientToken"}
    assert given == set(_FIELDS)
    assert set(MODEL.operation_model("GetSchedule").output_shape.members) == given | OF_AWS | {"State"}
