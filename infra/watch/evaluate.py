"""CloudWatch's rules of evaluation, as AWS documents them: M of N, the four treatments of missing data,
composite alarms.

No emulator evaluates dimensions, math, M of N or composite alarms, so this module is what the alarms are tested with.
"""

import ast
from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import Final

from infra.watch.alarm import Alarm, Comparison, Composite, Missing
from infra.watch.expressions import computed
from infra.watch.samples import Samples

# CloudWatch looks at more periods than an alarm has, in case some have no data. AWS publishes two more for three.
_FURTHER: Final = 2
_MINUTE: Final = 60


class State(StrEnum):
    OK = "OK"
    ALARM = "ALARM"
    INSUFFICIENT_DATA = "INSUFFICIENT_DATA"


def points(alarm: Alarm, samples: Samples, *, until: float) -> list[bool | None]:
    """The last periods before the last full minute, oldest first: True is beyond the threshold, None has no data.
    Periods slide from minute to minute, however long they are."""
    found: list[bool | None] = []
    end = until // _MINUTE * _MINUTE
    for back in range(alarm.periods + _FURTHER, 0, -1):
        start = end - back * alarm.period
        values = {
            name: samples.value(series, start=start, end=start + alarm.period)
            for name, series in alarm.series.items()
        }
        value = computed(alarm.expression or next(iter(values)), values, start=start)
        found.append(None if value is None else _breaches(alarm, value))
    return found


def _breaches(alarm: Alarm, value: float) -> bool:
    return value > alarm.threshold if alarm.comparison is Comparison.ABOVE else value < alarm.threshold


def state_after(
    found: list[bool | None], *, datapoints: int, periods: int, missing: Missing, before: State
) -> State:
    """The state that these periods give an alarm.

    With enough data the latest `periods` values decide, and the treatment of missing data does not matter. With less,
    each value counts and what is missing is filled in. A value beyond the threshold that is at least `datapoints`
    periods old, with nothing but missing data after it, fires the alarm even if missing data counts as missing.
    """
    real = [point for point in found if point is not None][-periods:]
    beyond = sum(real)
    if len(real) == periods:
        return State.ALARM if beyond >= datapoints else State.OK
    lacking = periods - len(real)
    match missing:
        case Missing.BREACHING:
            return State.ALARM if beyond + lacking >= datapoints else State.OK
        case Missing.NOT_BREACHING:
            return State.ALARM if beyond >= datapoints else State.OK
    if not real:
        return State.INSUFFICIENT_DATA if missing is Missing.MISSING else before
    if beyond >= datapoints:
        return State.ALARM
    if beyond < len(real):
        return State.OK
    age = len(found) - found.index(True)
    return State.ALARM if missing is Missing.MISSING and age >= datapoints else before


def evaluated(alarm: Alarm, samples: Samples, *, until: float, before: State = State.OK) -> State:
    return state_after(
        points(alarm, samples, until=until),
        datapoints=alarm.datapoints,
        periods=alarm.periods,
        missing=alarm.missing,
        before=before,
    )


def combined(composite: Composite, states: Mapping[str, State]) -> State:
    """A part without sufficient data counts as not in alarm."""
    rule = composite.rule.replace("AND", "and").replace("OR", "or").replace("NOT", "not")
    holds = _holds(ast.parse(rule, mode="eval").body, states)
    return State.ALARM if holds else State.OK


def _holds(node: ast.expr, states: Mapping[str, State]) -> bool:
    match node:
        case ast.Name(id=name):
            return states[name] is State.ALARM
        case ast.UnaryOp(op=ast.Not(), operand=part):
            return not _holds(part, states)
        case ast.BoolOp(op=op, values=parts):
            each = [_holds(part, states) for part in parts]
            return all(each) if isinstance(op, ast.And) else any(each)
    raise ValueError(f"the rule uses what the evaluator does not know: {ast.unparse(node)}")


def judged(alarms: Iterable[Alarm], *, seconds: int) -> tuple[Alarm, ...]:
    """The alarms that so many seconds of samples say something about. One that fires over missing data and looks back
    further would always fire."""
    return tuple(
        each
        for each in alarms
        if each.missing is not Missing.BREACHING or each.period * each.periods <= seconds
    )


class Watch:
    """All alarms of an environment over samples that grow: states go on from minute to minute."""

    def __init__(self, alarms: Iterable[Alarm], composites: Iterable[Composite]) -> None:
        self._alarms = tuple(alarms)
        self._composites = tuple(composites)
        names = [each.name for each in self._alarms] + [each.name for each in self._composites]
        self.states = dict.fromkeys(names, State.INSUFFICIENT_DATA)
        self.fired: dict[str, float] = {}

    def look(self, samples: Samples, *, at: float) -> None:
        """Evaluates every alarm, and then those made of them, in the order of the table."""
        for alarm in self._alarms:
            self._keep(alarm.name, evaluated(alarm, samples, until=at, before=self.states[alarm.name]), at)
        for composite in self._composites:
            self._keep(composite.name, combined(composite, self.states), at)

    def _keep(self, name: str, state: State, at: float) -> None:
        if state is State.ALARM and self.states[name] is not State.ALARM:
            self.fired.setdefault(name, at)
        self.states[name] = state
