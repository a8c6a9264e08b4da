"""Alarms about tables whose requests DynamoDB throttles, their indexes included."""

from collections.abc import Iterator
from typing import Final

from infra.environment import Environment
from infra.watch.alarm import Alarm, Series, Severity

# Tables that requests and workers write, and the indexes of these: a throttled index refuses writes of its table. The
# tables left out are read from a cache, or written by the sweep alone, whose failed passes have an alarm.
WATCHED: Final = {
    "items": ("by_tenant", "by_state", "by_listing"),
    "payments": ("by_tenant", "by_state", "by_listing", "by_payee"),
    "accounts": ("by_tenant",),
    "journal": ("by_payer", "by_payee"),
    "idempotency": (),
    "flow": ("by_attention",),
}


def throttle_alarms(environment: Environment) -> Iterator[Alarm]:
    for table, indexes in WATCHED.items():
        series = {
            "writes": _events(environment, table, "WriteThrottleEvents"),
            "reads": _events(environment, table, "ReadThrottleEvents"),
            **{index: _events(environment, table, "WriteThrottleEvents", index) for index in indexes},
        }
        yield Alarm(
            name=f"throttled_{table}",
            entry="throttled",
            meaning=f"DynamoDB throttles requests to the table {table} or one of its indexes.",
            severity=Severity.TICKET,
            series=series,
            # DynamoDB counts events, and no zeros.
            expression=" + ".join(f"FILL({name}, 0)" for name in series),
            threshold=0,
            datapoints=3,
            periods=5,
        )


def _events(environment: Environment, table: str, name: str, index: str | None = None) -> Series:
    of_table = ("TableName", environment.table(table))
    return Series(
        namespace="AWS/DynamoDB",
        name=name,
        statistic="Sum",
        dimensions=(of_table,) if index is None else (("GlobalSecondaryIndexName", index), of_table),
    )
