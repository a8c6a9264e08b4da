"""A schedule as plain values, for the rows that keep one."""

from typing import Any

from postdate.domain import instants
from postdate.domain.cron import Cron
from postdate.domain.schedule import Schedule


def values_of(schedule: Schedule) -> dict[str, Any]:
    """The values of a plan. Empty ones are left out."""
    start, end = schedule.start_at, schedule.end_at
    values = {
        "cron": schedule.cron.text,
        "timezone": schedule.cron.timezone,
        "start": None if start is None else instants.milliseconds(start),
        "end": None if end is None else instants.milliseconds(end),
        "max_runs": schedule.max_runs,
        "jitter": schedule.jitter_seconds or None,
    }
    return {name: value for name, value in values.items() if value is not None}


def schedule_of(values: dict[str, Any], definition_id: str) -> Schedule:
    start, end = values.get("start"), values.get("end")
    return Schedule(
        cron=Cron.parse(values["cron"], values["timezone"]),
        definition_id=definition_id,
        start_at=None if start is None else instants.from_milliseconds(start),
        end_at=None if end is None else instants.from_milliseconds(end),
        max_runs=values.get("max_runs"),
        jitter_seconds=values.get("jitter", 0),
    )
