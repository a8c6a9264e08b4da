"""The position of a run in its recurring task, as its row keeps it: a list of values."""

from datetime import timedelta
from typing import Any

from postdate.domain import instants
from postdate.domain.recurs import Recurs

_SECOND = timedelta(seconds=1)
_RECURS_VALUES_MIN = 5


def recurs_values(recurs: Recurs) -> list[Any]:
    """Older code reads the first six values. The wall time is how far the clocks were ahead, in seconds."""
    ahead = None if recurs.wall is None else (recurs.wall - recurs.at.replace(tzinfo=None)) // _SECOND
    values = [
        recurs.definition,
        recurs.plan,
        instants.milliseconds(recurs.at),
        recurs.number,
        next(iter(recurs.before), None),
        recurs.passed_over,
        ahead,
        *recurs.before[1:],
    ]
    while len(values) > _RECURS_VALUES_MIN and values[-1] is None:
        values.pop()
    return values


def recurs_of(values: list[Any]) -> Recurs:
    """Rows of older code end after the fifth or the sixth value."""
    definition, plan, at, number, *links = values
    before, passed_over, ahead, *others = (*links, None, None, None)[: max(3, len(links))]
    planned = instants.from_milliseconds(at)
    return Recurs(
        definition=definition,
        plan=plan,
        at=planned,
        number=number,
        before=tuple(each for each in (before, *others) if each is not None),
        passed_over=passed_over,
        wall=None if ahead is None else planned.replace(tzinfo=None) + ahead * _SECOND,
    )
