"""Widgets of dashboards: graphs of metrics with the thresholds of their alarms, and queries of logs.

Counts that stay in the logs are shown by queries of Logs Insights, which are paid for each look: $0.005 a GB.
"""

from collections.abc import Callable, Iterable
from typing import Final

from aws_cdk import aws_cloudwatch

from infra.environment import Environment
from infra.watch.alarm import Series
from infra.watch.table import alarms
from postdate.runtime.metric import TIERS, Metric

MakeMetric = Callable[..., aws_cloudwatch.Metric]
_WIDTH: Final = 12
_PERIOD: Final = 60


class Widgets:
    """Makes the widgets of a dashboard. `make` makes the metric of a series."""

    def __init__(self, environment: Environment, make: MakeMetric) -> None:
        self._environment = environment
        self._make = make
        self._alarms = alarms(environment)

    def own(
        self, title: str, function: str, *emitted: Metric, statistics: Iterable[str] = ("Sum",)
    ) -> aws_cloudwatch.GraphWidget:
        """Metrics that the function emits."""
        of_function = (("service", self._environment.named(function)),)
        return self.graph(
            title,
            *(
                Series(namespace="Postdate", name=each.name, statistic=statistic, dimensions=of_function)
                for each in emitted
                for statistic in statistics
            ),
        )

    def by_tier(
        self, title: str, function: str, emitted: Metric, *statistics: str
    ) -> aws_cloudwatch.GraphWidget:
        """A metric that the function emits for each tier."""
        service = ("service", self._environment.named(function))
        return self.graph(
            title,
            *(
                Series(
                    namespace="Postdate",
                    name=emitted.name,
                    statistic=statistic,
                    dimensions=(("tier", tier), service),
                )
                for tier in TIERS
                for statistic in statistics
            ),
        )

    def logged(self, title: str, function: str, *counts: Metric) -> aws_cloudwatch.LogQueryWidget:
        """Counts that stay in the logs. Raises ValueError for a count that the function does not log."""
        if not all(each.in_logs and function in each.functions for each in counts):
            raise ValueError(f"{function} does not log all of {', '.join(each.name for each in counts)}")
        sums = ", ".join(f"sum({each.name}) as {each.name.rpartition('_')[2]}" for each in counts)
        return aws_cloudwatch.LogQueryWidget(
            title=title,
            width=_WIDTH,
            view=aws_cloudwatch.LogQueryVisualizationType.LINE,
            log_group_names=[f"/aws/lambda/{self._environment.named(function)}"],
            query_lines=[f"stats {sums} by bin(1m)"],
        )

    def graph(self, title: str, *shown: Series) -> aws_cloudwatch.GraphWidget:
        """The series, with the thresholds of the alarms that look at one of them alone."""
        return aws_cloudwatch.GraphWidget(
            title=title,
            width=_WIDTH,
            left=[
                self._make(series, period=_PERIOD).with_(
                    label=f"{_place(series)} {series.name} {series.statistic}"
                )
                for series in shown
            ],
            left_annotations=[
                aws_cloudwatch.HorizontalAnnotation(value=alarm.threshold, label=alarm.name)
                for alarm in self._alarms
                if not alarm.expression and next(iter(alarm.series.values())) in shown and alarm.threshold
            ],
        )


def _place(series: Series) -> str:
    return " ".join(value.removeprefix("postdate-") for _, value in series.dimensions)
