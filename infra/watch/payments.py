"""Alarms about payments."""

from collections.abc import Iterator
from typing import Final

from infra.environment import Environment
from infra.watch.alarm import Alarm, Series, Severity
from infra.watch.burns import burns
from infra.watch.series import HOUR, MINUTE, own
from postdate.runtime import metric

# Below so many payments in a window one failure would be more than the share that the alarm allows.
_FEW: Final = {5 * MINUTE: 20, HOUR: 1000}
_LATE_BUDGET: Final = 0.001


def payment_alarms(environment: Environment) -> Iterator[Alarm]:
    ended = {
        "failed": own(environment, "settle", metric.PAYMENTS_FAILED),
        "settled": own(environment, "settle", metric.PAYMENTS_SETTLED),
    }
    for name, severity, percent, period, count in (
        ("payment_failures_over_1_percent", Severity.PAGE, 1.0, 5 * MINUTE, 3),
        ("payment_failures_over_0_1_percent", Severity.TICKET, 0.1, HOUR, 1),
    ):
        yield Alarm(
            name=name,
            meaning=f"More than {percent} % of the payments fail.",
            severity=severity,
            entry="payment_failures",
            series=ended,
            expression=f"IF(failed + settled >= {_FEW[period]}, 100 * failed / (failed + settled), 0)",
            threshold=percent,
            period=period,
            datapoints=count,
            periods=count,
        )
    for name, severity, milliseconds in (
        ("payment_p95_over_1s", Severity.PART, 1000),
        ("payment_p95_over_500ms", Severity.TICKET, 500),
    ):
        yield Alarm(
            name=name,
            meaning=f"One payment of 20 completes more than {milliseconds} ms after its instant.",
            severity=severity,
            entry="payments_slow",
            series={"lateness": own(environment, "settle", metric.PAYMENT_LATENESS, "p95")},
            threshold=milliseconds,
            datapoints=3,
            periods=3,
        )
    late = {"late": own(environment, "settle", metric.PAYMENTS_LATE), "settled": ended["settled"]}
    yield from burns(
        "payments_late",
        "Share of payments that completed more than 1 s late.",
        series=late,
        # With few payments a single late one would use up the budget.
        expression="IF(settled >= 20, late / settled, 0)",
        budget=_LATE_BUDGET,
    )
    yield Alarm(
        name="balance_inconsistency",
        meaning="An account or the journal contradicts a payment.",
        severity=Severity.PAGE,
        series={"disagreeing": own(environment, "settle", metric.BOOKS_DISAGREE)},
        threshold=0,
    )
    yield Alarm(
        name="audit_contradicts",
        entry="balance_inconsistency",
        meaning="An audit of a tenant's accounts, payments and journal found a contradiction.",
        severity=Severity.PAGE,
        series={"failed": own(environment, "api", metric.AUDITS_FAILED)},
        threshold=0,
    )
    yield Alarm(
        name="contention",
        meaning="Transactions on accounts conflict more than 1,000 times a minute.",
        severity=Severity.TICKET,
        series={
            "conflicts": Series(
                namespace="AWS/DynamoDB",
                name="TransactionConflict",
                statistic="Sum",
                dimensions=(("TableName", environment.table("accounts")),),
            )
        },
        threshold=1000,
        datapoints=5,
        periods=5,
    )
