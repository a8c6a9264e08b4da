"""A new time-zone database between two runs: each wall time still runs once, and none is left out."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from postdate.domain.catch_up import CatchUp
from postdate.domain.cron import Cron
from postdate.domain.definition import Definition, Overlap
from postdate.domain.line import Line
from postdate.domain.schedule import Schedule
from postdate.domain.task import State, Task
from tests.unit.domain.test_recurrence import RUNS, a_definition, follow
from tests.zones import zone

HOUR = timedelta(hours=1)
NIGHT = datetime(2026, 11, 19, 0, 30, tzinfo=UTC)
KEY = "Europe/Nowhere"


def test_a_zone_of_our_own_shows_what_it_was_told() -> None:
    made = zone(KEY, 2 * HOUR, (NIGHT, 3 * HOUR))
    shown = [(NIGHT + step).astimezone(made).strftime("%H:%M") for step in (-HOUR, timedelta(0))]
    assert shown == ["01:30", "03:30"]


def planned(cron: str, ahead: timedelta, **fields: object) -> Definition:
    """The definition as read by code whose database has the clocks of the zone that far ahead of UTC."""
    found = a_definition(overlap=Overlap.ALLOW, **fields)
    parsed = replace(Cron.parse(cron), zone=zone(KEY, ahead))
    return replace(found, schedule=Schedule(cron=parsed, definition_id=found.id))


def walls(*runs: Task) -> list[str]:
    return [f"{run.recurs.wall:%d %H:%M}" for run in runs]


@pytest.mark.parametrize("moved", [-HOUR, HOUR], ids=["later", "earlier"])
def test_a_daily_run_whose_clocks_move_runs_once_a_day(moved: timedelta) -> None:
    before, after = planned("30 2 * * *", 2 * HOUR), planned("30 2 * * *", 2 * HOUR + moved)
    run = RUNS.first(before, now=NIGHT - 2 * HOUR)
    assert (run.due_at, walls(run)) == (NIGHT, ["19 02:30"])
    (following,) = follow(run, after, now=run.due_at).rows
    assert walls(following) == ["20 02:30"]
    assert following.due_at == NIGHT + 24 * HOUR - moved
    assert following.recurs.number == 2


def test_no_wall_time_is_left_out_when_clocks_move_ahead() -> None:
    """Wall times that have passed by the new database are due at once; the policy decides whether they run or are
    reported."""
    before, after = planned("30 * * * *", 2 * HOUR), planned("30 * * * *", 3 * HOUR, catch_up=CatchUp.ALL)
    run = RUNS.first(before, now=NIGHT - HOUR)
    *behind, following = follow(run, after, now=run.due_at).rows
    assert walls(run, *behind, following) == ["19 02:30", "19 03:30", "19 04:30"]
    assert [row.due_at for row in (*behind, following)] == [NIGHT, NIGHT + HOUR]
    latest = follow(run, replace(after, catch_up=CatchUp.LATEST), now=run.due_at)
    assert latest.instead.after.state is State.MISSED
    assert walls(*latest.rows) == ["19 03:30", "19 04:30"]


def test_no_wall_time_runs_again_when_clocks_move_back() -> None:
    before, after = planned("30 * * * *", 2 * HOUR), planned("30 * * * *", HOUR)
    run = RUNS.first(before, now=NIGHT - HOUR)
    (following,) = follow(run, after, now=run.due_at).rows
    assert walls(run, following) == ["19 02:30", "19 03:30"]
    assert following.due_at == NIGHT + 2 * HOUR


def test_those_since_a_late_run_are_looked_for_by_their_wall_times() -> None:
    before, after = planned("30 2 * * *", 2 * HOUR), planned("30 2 * * *", HOUR)
    run = RUNS.first(before, now=NIGHT - 2 * HOUR)
    (following,) = follow(run, after, now=run.due_at).rows
    assert RUNS.since(run, after, Line(), now=NIGHT + 30 * HOUR).ids == (following.id,)


def test_a_run_stored_without_its_wall_time_goes_on_from_its_instant() -> None:
    definition = planned("30 2 * * *", 2 * HOUR)
    run = RUNS.first(definition, now=NIGHT - 2 * HOUR)
    older = replace(run, recurs=replace(run.recurs, wall=None))
    assert follow(older, definition, now=NIGHT).rows == follow(run, definition, now=NIGHT).rows
