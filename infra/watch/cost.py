"""Prices of everything that watches an environment, a month, beside traffic. Taken from the synthesised templates."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from infra.definitions import definition
from infra.environment import Environment
from postdate.runtime.metric import METRICS, TIERS

# Each account has these free of charge.
_FREE: Final = {"metrics": 10, "alarms": 10, "dashboards": 3, "state transitions": 4_000}
_DOLLARS: Final = {
    "metrics": 0.30,
    "alarms": 0.10,
    "composite alarms": 0.50,
    "dashboards": 3.00,
    "state transitions": 0.000025,
}
_GB: Final = 0.50
_GB_MONTH: Final = 0.03
# Assumed: the lines of one wake-up of the sweep, Lambda's own included.
_WAKE_UP_BYTES: Final = 1600
_SECONDS_A_MONTH: Final = 30 * 86_400
_DAYS_A_MONTH: Final = 30
_ITEMS_OF_A_MAP: Final = 4
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
        "state transitions": _transitions(templates["service"]),
    }
    return [*(_line(name, count) for name, count in counts.items()), _logs(environment, templates)]


def _transitions(service: Template) -> int:
    """Counts the states of the machines that a schedule starts each night, if each step is for one tenant and a few
    rows. Other machines run when a person asks for it."""
    names = [each["Name"].removesuffix("-nightly") for each in _of(service, "AWS::Scheduler::Schedule")]
    nightly = [
        text
        for each in _of(service, "AWS::StepFunctions::StateMachine")
        if each["StateMachineName"] in names
        and (text := json.loads(definition(each["StateMachineName"].rpartition("-")[2])))
    ]
    return _DAYS_A_MONTH * sum(_states(machine["States"]) for machine in nightly)


def _states(states: Mapping[str, Any]) -> int:
    """The states of a machine, those inside its Maps included: each of these once for each of four items."""
    inside = [each["ItemProcessor"]["States"] for each in states.values() if "ItemProcessor" in each]
    return len(states) + _ITEMS_OF_A_MAP * sum(map(_states, inside))


def _line(name: str, count: int) -> Line:
    free = _FREE.get(name, 0)
    return Line(name=name, count=count, free=free, dollars=_DOLLARS[name] * max(0, count - free))


def _of(template: Template, kind: str) -> Iterator[Template]:
    return (each["Properties"] for each in template["Resources"].values() if each["Type"] == kind)


def _measured(alarm: Template) -> int:
    """An alarm on math is paid for each of its metrics."""
    return sum("MetricStat" in each for each in alarm["Metrics"]) if "Metrics" in alarm else 1


def _logs(environment: Environment, templates: Mapping[str, Template]) -> Line:
    """The cost of logs. Without traffic only the sweep writes: a tick and a heartbeat in turn."""
    wake_ups = 2 * _SECONDS_A_MONTH / environment.settings.tick_seconds
    written = wake_ups * _WAKE_UP_BYTES / 1e9
    days = max(each["RetentionInDays"] for each in _of(templates["service"], "AWS::Logs::LogGroup"))
    stored = written * days / _DAYS_A_MONTH
    return Line(
        name="GB of logs", count=round(written, 2), free=0, dollars=written * _GB + stored * _GB_MONTH
    )
