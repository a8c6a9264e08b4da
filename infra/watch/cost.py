"""Prices of everything that watches an environment, a month, beside traffic. Taken from the synthesised templates."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from infra.environments import Environment
from postdate.runtime.metric import METRICS, TIERS

# Each account has these free of charge.
_FREE: Final = {"metrics": 10, "alarms": 10, "dashboards": 3}
_DOLLARS: Final = {"metrics": 0.30, "alarms": 0.10, "composite alarms": 0.50, "dashboards": 3.00}
_GB: Final = 0.50
_GB_MONTH: Final = 0.03
# Assumed: the lines of one wake-up of the sweep, Lambda's own included.
_WAKE_UP_BYTES: Final = 1600
_SECONDS_A_MONTH: Final = 30 * 86_400
_DAYS_A_MONTH: Final = 30
Template = Mapping[str, Any]


@dataclass(frozen=True, kw_only=True, slots=True)
class Line:
    """One line of the bill. `free` of the `count` cost nothing, in an account that uses them nowhere else."""

    name: str
    count: float
    free: int
    dollars: float


def bill(environment: Environment, templates: Mapping[str, Template]) -> list[Line]:
    """`templates` are those of the environment's stacks, by the last part of their names."""
    watch = templates["watch"]
    counts = {
        "metrics": sum(
            len(each.functions) * (len(TIERS) if each.by_tier else 1)
            for each in METRICS
            if not each.in_logs and environment.functions.keys() >= set(each.functions)
        ),
        "alarms": sum(map(_measured, _of(watch, "AWS::CloudWatch::Alarm"))),
        "composite alarms": len(list(_of(watch, "AWS::CloudWatch::CompositeAlarm"))),
        "dashboards": len(list(_of(watch, "AWS::CloudWatch::Dashboard"))),
    }
    return [*(_line(name, count) for name, count in counts.items()), _logs(environment, templates)]


def _line(name: str, count: int) -> Line:
    free = _FREE.get(name, 0)
    return Line(name=name, count=count, free=free, dollars=_DOLLARS[name] * max(0, count - free))


def _of(template: Template, kind: str) -> Iterator[Template]:
    return (each["Properties"] for each in template["Resources"].values() if each["Type"] == kind)


def _measured(alarm: Template) -> int:
    """An alarm on math is paid for each of its metrics."""
    return sum("MetricStat" in each for each in alarm["Metrics"]) if "Metrics" in alarm else 1


def _logs(environment: Environment, templates: Mapping[str, Template]) -> Line:
    """Without traffic only the sweep writes: a tick and a heartbeat in turn."""
    wake_ups = 2 * _SECONDS_A_MONTH / environment.settings.tick_seconds
    written = wake_ups * _WAKE_UP_BYTES / 1e9
    days = max(each["RetentionInDays"] for each in _of(templates["service"], "AWS::Logs::LogGroup"))
    stored = written * days / _DAYS_A_MONTH
    return Line(
        name="GB of logs", count=round(written, 2), free=0, dollars=written * _GB + stored * _GB_MONTH
    )
