from dataclasses import replace
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postdate.domain import instants
from postdate.domain.sweeping import Horizon, Stage, Sweep, SweepProgress, is_settled, sweeps_due, wants_call
from postdate.domain.task import State
from tests.unit.doubles import MINUTE, PLAN, SECOND, START, unique

HORIZON = Horizon(lead=120 * SECOND, margin=60 * SECOND)
MINUTE_NOW = instants.minute_of(START)
MILLISECOND = SECOND / 1000
SLOT = PLAN.slot(START, unique(1))
OPENED_AT = START - 2 * MINUTE
FINAL = [State.SUCCEEDED, State.DEAD, State.CANCELLED]


def due(minutes, progress=(), groups=1, now=START):
    done = {(each.minute, each.group): each for each in progress}
    return sweeps_due(minutes, dict.fromkeys(minutes, groups), done, horizon=HORIZON, now=now)


def done(minute, stage, group=0):
    return SweepProgress(minute=minute, group=group, stage=stage, opened_at=OPENED_AT)


def wants(stage, *, due_at=START, moved_at=OPENED_AT, state=State.PENDING, lease_until=None, now=START):
    return wants_call(
        stage,
        SLOT,
        due_at=due_at,
        moved_at=moved_at,
        phase=state and state.phase,
        lease_until=lease_until,
        unseen_from=OPENED_AT - HORIZON.margin,
        now=now,
    )


@pytest.mark.parametrize(
    ("stage", "first"),
    [
        (Stage.OPEN, START - 120 * SECOND),
        (Stage.CLOSE, START + 2 * MINUTE),
        (Stage.AUDIT, START + 61 * MINUTE),
    ],
)
def test_a_minute_is_opened_two_minutes_ahead_closed_a_minute_after_its_end_and_audited_an_hour_later(
    stage, first
):
    assert HORIZON.due(stage, MINUTE_NOW, first)
    assert not HORIZON.due(stage, MINUTE_NOW, first - MILLISECOND)


@given(st.integers(-600_000, 600_000).map(lambda count: START + count * MILLISECOND))
def test_the_last_minute_of_a_tick_is_the_last_that_is_due_for_opening(now):
    last = HORIZON.last_minute(now)
    assert HORIZON.due(Stage.OPEN, last, now)
    assert not HORIZON.due(Stage.OPEN, last + 1, now)


def test_a_writer_into_a_minute_that_may_be_open_within_the_margin_sends_the_call_itself():
    late = START + timedelta(seconds=59, milliseconds=999)
    for due_at in (START, late):
        assert HORIZON.reaches(due_at, START - 180 * SECOND + MILLISECOND)
        assert not HORIZON.reaches(due_at, START - 180 * SECOND)
    assert HORIZON.reaches(START, START + timedelta(days=1))


@given(st.integers(-600_000, 600_000).map(lambda count: START + count * MILLISECOND))
def test_no_minute_is_opened_before_its_writers_send_calls_themselves(now):
    if HORIZON.due(Stage.OPEN, MINUTE_NOW, now):
        assert HORIZON.reaches(START, now - HORIZON.margin + MILLISECOND)


def test_the_passes_of_a_minute_come_one_after_the_other():
    long_ago = MINUTE_NOW - 120
    assert due([long_ago]) == [Sweep(minute=long_ago, group=0, stage=Stage.OPEN)]
    assert due([long_ago], [done(long_ago, Stage.OPEN)])[0].stage is Stage.CLOSE
    assert due([long_ago], [done(long_ago, Stage.CLOSE)])[0].stage is Stage.AUDIT
    assert due([long_ago], [done(long_ago, Stage.AUDIT)]) == []


def test_a_pass_is_not_due_before_its_time_whatever_was_done():
    assert due([MINUTE_NOW + 3]) == []
    assert due([MINUTE_NOW], [done(MINUTE_NOW, Stage.OPEN)]) == []
    assert due([MINUTE_NOW - 30], [done(MINUTE_NOW - 30, Stage.CLOSE)]) == []


def test_an_audit_that_found_something_still_under_way_is_repeated_ten_minutes_later():
    long_ago = MINUTE_NOW - 120
    looked = replace(done(long_ago, Stage.CLOSE), looked_at=START - 10 * MINUTE)
    assert due([long_ago], [looked], now=START - MILLISECOND) == []
    assert due([long_ago], [looked]) == [Sweep(minute=long_ago, group=0, stage=Stage.AUDIT)]


@pytest.mark.parametrize("state", FINAL)
def test_an_ended_item_is_settled_for_the_audit(state):
    assert is_settled(START, START, state.phase, START)


@pytest.mark.parametrize("state", [State.PENDING, State.RETRYING])
def test_a_waiting_item_is_settled_only_if_the_audit_of_another_minute_will_see_it(state):
    """An item that the queue can delay until its instant has no pointer in the minute in which it is due."""
    assert not is_settled(START - MINUTE, START - MINUTE, state.phase, START)
    assert not is_settled(START + 15 * MINUTE, START, state.phase, START)
    assert is_settled(START + 15 * MINUTE + MILLISECOND, START, state.phase, START)


def test_an_item_put_off_by_a_worker_whose_clock_is_ahead_is_not_settled():
    """By its clock the queue can hold it, so it has no pointer."""
    ahead = START + 30 * MINUTE
    assert not is_settled(ahead + 15 * MINUTE, ahead, State.RETRYING.phase, START)
    assert is_settled(ahead + 15 * MINUTE + MILLISECOND, ahead, State.RETRYING.phase, START)


def test_a_running_item_is_not_settled_for_the_audit():
    assert not is_settled(START - MINUTE, START, State.RUNNING.phase, START)


def test_each_group_of_a_minute_has_passes_of_its_own():
    found = due([MINUTE_NOW], [done(MINUTE_NOW, Stage.OPEN, group=1)], groups=3)
    assert [sweep.group for sweep in found] == [0, 2]


def test_minutes_that_are_due_soon_are_opened_before_missed_passes_are_made():
    missed, closing = MINUTE_NOW - 50, MINUTE_NOW - 5
    minutes = range(missed, MINUTE_NOW + 3)
    progress = [done(minute, Stage.CLOSE) for minute in range(missed + 1, MINUTE_NOW - 1)]
    progress[closing - missed - 1] = done(closing, Stage.OPEN)
    assert [(sweep.minute - MINUTE_NOW, sweep.stage) for sweep in due(minutes, progress)] == [
        (-1, Stage.OPEN),
        (0, Stage.OPEN),
        (1, Stage.OPEN),
        (2, Stage.OPEN),
        (-50, Stage.OPEN),
        (-5, Stage.CLOSE),
    ]


@pytest.mark.parametrize("state", [State.PENDING, State.RETRYING, None])
def test_the_open_pass_takes_all_that_waits_in_its_slot_and_what_pointers_name(state):
    assert wants(Stage.OPEN, state=state)
    assert wants(Stage.OPEN, state=state, moved_at=OPENED_AT - timedelta(days=30))


@pytest.mark.parametrize("stage", [Stage.OPEN, Stage.CLOSE])
@pytest.mark.parametrize("state", [State.RUNNING, *FINAL])
def test_neither_opening_nor_closing_calls_what_has_started(stage, state):
    assert not wants(stage, state=state)


@pytest.mark.parametrize("stage", [Stage.OPEN, Stage.CLOSE])
@pytest.mark.parametrize("state", [State.PENDING, None])
def test_neither_opening_nor_closing_calls_what_was_moved_to_another_minute(stage, state):
    assert not wants(stage, state=state, due_at=START + MINUTE)
    assert not wants(stage, state=state, due_at=START - MILLISECOND)


@pytest.mark.parametrize("state", [State.PENDING, State.RETRYING, None])
def test_the_closing_pass_takes_only_what_was_written_after_the_open_pass_began_less_the_margin(state):
    assert wants(Stage.CLOSE, state=state, moved_at=OPENED_AT - HORIZON.margin)
    assert not wants(Stage.CLOSE, state=state, moved_at=OPENED_AT - HORIZON.margin - MILLISECOND)


AUDITED_AT = START + 61 * MINUTE


@pytest.mark.parametrize("state", [State.PENDING, State.RETRYING, State.RUNNING, None])
def test_the_audit_takes_what_is_overdue_and_in_nobodys_hands(state):
    assert wants(Stage.AUDIT, state=state, now=AUDITED_AT)
    over = AUDITED_AT - 10 * MINUTE
    assert wants(Stage.AUDIT, state=state, lease_until=over, now=AUDITED_AT)
    assert not wants(Stage.AUDIT, state=state, lease_until=over + MILLISECOND, now=AUDITED_AT)


@pytest.mark.parametrize("state", FINAL)
def test_the_audit_leaves_alone_what_is_over(state):
    assert not wants(Stage.AUDIT, state=state, now=AUDITED_AT)


def test_the_audit_asks_how_a_task_fares_wherever_it_was_moved_to():
    overdue = AUDITED_AT - 10 * MINUTE
    assert wants(Stage.AUDIT, due_at=overdue, now=AUDITED_AT)
    assert not wants(Stage.AUDIT, due_at=overdue + MILLISECOND, now=AUDITED_AT)
