"""Alarms about the API: its availability, the time of its answers, and its keys."""

from collections.abc import Iterator
from typing import Final

from infra.environment import Environment
from infra.watch.alarm import API_ID, Alarm, Series, Severity
from infra.watch.burns import burns
from infra.watch.series import own
from postdate.runtime import metric

_UNAVAILABLE_BUDGET: Final = 0.0001


def request_alarms(environment: Environment) -> Iterator[Alarm]:
    yield from burns(
        "api_unavailable",
        "Share of requests that the gateway answered with 5xx.",
        series={
            "failed": Series(
                namespace="AWS/ApiGateway", name="5xx", statistic="Sum", dimensions=(("ApiId", API_ID),)
            ),
            "count": Series(
                namespace="AWS/ApiGateway",
                name="Count",
                statistic="SampleCount",
                dimensions=(("ApiId", API_ID),),
            ),
        },
        # With few requests a single failure would use up the budget.
        expression="IF(count >= 20, failed / count, 0)",
        budget=_UNAVAILABLE_BUDGET,
    )
    for name, timed, milliseconds in (
        ("register_slow", metric.REGISTER_TIME, 100),
        ("cancel_slow", metric.CANCEL_TIME, 100),
        ("status_slow", metric.STATUS_TIME, 50),
    ):
        yield Alarm(
            name=name,
            entry="requests_slow",
            meaning=f"One request of 20 takes more than {milliseconds} ms. {timed.meaning}",
            severity=Severity.TICKET,
            series={"time": own(environment, "api", timed, "p95")},
            threshold=milliseconds,
            datapoints=5,
            periods=5,
        )
    yield Alarm(
        name="keys_not_read",
        meaning="API keys could not be read: requests are answered with 503.",
        severity=Severity.PAGE,
        series={"unread": own(environment, "authorize", metric.KEYS_NOT_READ)},
        threshold=5,
        datapoints=3,
        periods=3,
    )
