"""Alarms that say nothing while a deployment restarts functions."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from botocore.exceptions import BotoCoreError, ClientError

from cli.aws.account import Account
from cli.progress import say
from infra.environment import Environment

# A rule ends by itself: a deployment that dies leaves no alarm silent for longer.
_LASTS: Final = timedelta(minutes=30)
_ALARMS_MAX: Final = 100
# No deployment is the reason for these.
TOLD: Final = (
    "balance_inconsistency",
    "audit_contradicts",
    "reconciliation_differs",
    "dead_letters_payments",
)


@contextmanager
def muted(account: Account, environment: Environment) -> Iterator[None]:
    """Mutes the environment's alarms but those about money. Alarms go on to be evaluated: one that still fires when
    the rule is gone is told then. A deployment goes on where rules are not allowed."""
    cloudwatch = account.client("cloudwatch")
    rules: list[str] = []
    try:
        names = _alarms(cloudwatch, environment)
        for start in range(0, len(names), _ALARMS_MAX):
            rule = environment.named(f"deployment-{start // _ALARMS_MAX + 1}")
            _mute(cloudwatch, rule, names[start : start + _ALARMS_MAX])
            rules.append(rule)
    except (BotoCoreError, ClientError) as error:
        say(f"Alarms are not muted: {error}")
    try:
        yield
    finally:
        _end(cloudwatch, rules)


def _alarms(cloudwatch: Any, environment: Environment) -> list[str]:
    pages = cloudwatch.get_paginator("describe_alarms").paginate(
        AlarmNamePrefix=environment.named(""), AlarmTypes=["MetricAlarm", "CompositeAlarm"]
    )
    told = {environment.named(name) for name in TOLD}
    return sorted(
        alarm["AlarmName"]
        for page in pages
        for alarm in (*page["MetricAlarms"], *page["CompositeAlarms"])
        if alarm["AlarmName"] not in told
    )


def _mute(cloudwatch: Any, rule: str, names: Sequence[str]) -> None:
    """The minute that runs has begun, so the rule begins with it."""
    now = datetime.now(UTC)
    cloudwatch.put_alarm_mute_rule(
        Name=rule,
        Description="Made by make deploy, which also removes it.",
        Rule={
            "Schedule": {
                "Expression": f"at({now:%Y-%m-%dT%H:%M})",
                "Duration": f"PT{_LASTS // timedelta(minutes=1)}M",
                "Timezone": "UTC",
            }
        },
        MuteTargets={"AlarmNames": list(names)},
        ExpireDate=now + 2 * _LASTS,
    )


def _end(cloudwatch: Any, rules: Sequence[str]) -> None:
    for rule in rules:
        try:
            cloudwatch.delete_alarm_mute_rule(AlarmMuteRuleName=rule)
        except (BotoCoreError, ClientError) as error:
            say(f"The alarms of {rule} stay muted for up to 30 minutes: {error}")
