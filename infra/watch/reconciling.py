"""Alarms about the nightly reconciliation: what it found, and a night without it."""

from collections.abc import Iterator

from infra.environment import Environment
from infra.watch.alarm import Alarm, Missing, Severity
from infra.watch.series import DAY, HOUR, own
from postdate.runtime import metric


def reconciling_alarms(environment: Environment) -> Iterator[Alarm]:
    yield Alarm(
        name="reconciliation_differs",
        meaning="The nightly reconciliation found rows that contradict each other.",
        severity=Severity.PAGE,
        series={"differing": own(environment, "reconcile", metric.RECONCILIATIONS_DIFFER)},
        threshold=0,
        # There is one data point a night. What it found stays true until the next one.
        missing=Missing.IGNORE,
    )
    yield Alarm(
        name="reconciliation_missing",
        meaning="No reconciliation has come to its end for more than a day.",
        severity=Severity.TICKET,
        # Each night emits one value, 0 or 1: none is above 1, and missing values alone fire.
        series={"differing": own(environment, "reconcile", metric.RECONCILIATIONS_DIFFER, "Maximum")},
        threshold=1,
        # Two hours more than a day, because nights differ in length. CloudWatch looks back up to seven days if a period
        # has an hour or more, and up to one day with shorter ones (PutMetricAlarm, Period).
        period=HOUR,
        datapoints=26,
        periods=26,
        missing=Missing.BREACHING,
        # A new environment fires until its first night.
        pages_after=DAY,
    )
