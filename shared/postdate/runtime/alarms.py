"""Alarms of the environment that fire, as CloudWatch tells them."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

from botocore.exceptions import BotoCoreError, ClientError

from postdate.domain.errors import Unavailable
from postdate.runtime.observability import logger

if TYPE_CHECKING:
    from botocore.client import BaseClient

_PAGE: Final = 100
_PAGES_MAX: Final = 10
_RUNBOOK: Final = " Runbook: "
_SEVERITIES: Final = ("page", "ticket")


@dataclass(frozen=True, kw_only=True, slots=True)
class Firing:
    """An alarm that fires."""

    # The name, without that of the environment.
    name: str
    # `page` or `ticket`.
    severity: str
    # The instant at which it began to fire.
    since: datetime
    # The meaning, from the description of the alarm.
    meaning: str
    # The place of its entry in the runbook; from the same description.
    runbook: str


def firing(client: Callable[[], "BaseClient"], prefix: str) -> list[Firing] | None:
    """Pages first. None if CloudWatch does not answer: an overview without alarms is better than none. Alarms that tell
    nobody are parts of others, and are left out."""
    try:
        found = list(_alarms(client(), prefix))
    except (BotoCoreError, ClientError, Unavailable):
        logger.exception("the alarms are not known now", extra={"action": "alarms_not_read"})
        return None
    told = [each for alarm in found if (each := _firing(alarm, prefix)) is not None]
    return sorted(told, key=lambda each: (_SEVERITIES.index(each.severity), each.since, each.name))


def _alarms(client: Any, prefix: str) -> Iterator[Mapping[str, Any]]:
    asked: dict[str, Any] = {
        "AlarmNamePrefix": prefix,
        "AlarmTypes": ["MetricAlarm", "CompositeAlarm"],
        "StateValue": "ALARM",
        "MaxRecords": _PAGE,
    }
    for _ in range(_PAGES_MAX):
        answer = client.describe_alarms(**asked)
        yield from (*answer["MetricAlarms"], *answer["CompositeAlarms"])
        if "NextToken" not in answer:
            return
        asked["NextToken"] = answer["NextToken"]


def _firing(alarm: Mapping[str, Any], prefix: str) -> Firing | None:
    """Reads an alarm of CloudWatch; None for an alarm that tells no topic. A topic is named after its severity."""
    topics = {arn.rpartition("-")[2] for arn in alarm.get("AlarmActions", ())}
    severity = next((each for each in _SEVERITIES if each in topics), None)
    if severity is None:
        return None
    meaning, _, runbook = alarm.get("AlarmDescription", "").rpartition(_RUNBOOK)
    return Firing(
        name=alarm["AlarmName"].removeprefix(prefix).replace("-", "_"),
        severity=severity,
        since=alarm["StateUpdatedTimestamp"].astimezone(UTC),
        meaning=meaning,
        runbook=runbook,
    )
