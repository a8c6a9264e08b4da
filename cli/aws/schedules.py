"""The schedules of an environment. A deployment leaves a schedule that a person disabled as it is: its template has not
changed."""

from collections.abc import Iterator
from typing import Any, Final

from botocore.exceptions import ClientError

from cli.failure import Failure
from infra.environment import Environment

# `tick` wakes the sweep each minute. The others start a state machine each night.
SCHEDULES: Final = ("tick", "archive-nightly", "reconcile-nightly")
# AWS replaces the whole schedule: a field that an update leaves out gets its default.
_FIELDS: Final = (
    *("Name", "GroupName", "Description", "ScheduleExpression", "ScheduleExpressionTimezone", "StartDate"),
    *("EndDate", "FlexibleTimeWindow", "Target", "KmsKeyArn", "ActionAfterCompletion"),
)


def enable(environment: Environment, client: Any) -> Iterator[str]:
    """Enables each schedule that is disabled, with all else as it is, and yields its name. Raises Failure for one that
    does not exist."""
    for each in SCHEDULES:
        name = environment.named(each)
        try:
            found = client.get_schedule(Name=name)
        except ClientError as error:
            if error.response["Error"]["Code"] != "ResourceNotFoundException":
                raise
            raise Failure(
                f"There is no schedule {name}: a person deleted it, and the stack has to be repaired."
            ) from error
        if found["State"] != "ENABLED":
            kept = {field: found[field] for field in _FIELDS if found.get(field) is not None}
            client.update_schedule(**kept, State="ENABLED")
            yield name
