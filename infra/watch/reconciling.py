"""Alarms about the nightly reconciliation. One that is given up has failed so often that `errors_reconcile` fires."""

from collections.abc import Iterator

from infra.environment import Environment
from infra.watch.alarm import Alarm, Missing, Severity
from infra.watch.series import own
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
