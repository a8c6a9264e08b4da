"""Runs that wait for the run before them: the first of them asks, the others rest, and not without a bound."""

from dataclasses import replace
from datetime import datetime

import pytest

from postdate.domain import transitions
from postdate.domain.catch_up import CatchUp
from postdate.domain.definition import Definition, Overlap
from postdate.domain.following import QUEUE_MAX, QUEUE_POLL, QUEUE_POLL_SLOW
from postdate.domain.line import Line
from postdate.domain.task import State, Task
from postdate.domain.verdicts import Deferred
from tests.unit.domain.test_recurrence import RUNS, a_definition, first, follow, running
from tests.unit.doubles import MINUTE, SECOND


@pytest.fixture
def definition() -> Definition:
    return a_definition("* * * * *", overlap=Overlap.QUEUE)


def queue(definition: Definition, waiting: int) -> tuple[list[Task], Task]:
    """A run that goes on and on, those that wait for it as they are after they have asked once, and the run to come."""
    busy = running(run := first(definition), now=run.due_at)
    (run,) = follow(run, definition, now=run.due_at).rows
    rows = [busy]
    for _ in range(waiting):
        followed = follow(run, definition, *rows, now=run.due_at)
        rows.append(asked(followed.instead.after, definition, rows))
        (run,) = followed.rows
    return rows, run


def asked(run: Task, definition: Definition, rows: list[Task], *, now: datetime | None = None) -> Task:
    """After it has asked once more."""
    instead = follow(run, definition, *rows, now=now or run.due_at).instead
    return run if isinstance(instead, Deferred) else instead.after


def over(run: Task) -> Task:
    return transitions.succeed(run, now=run.lease_until, why="http 200").after


def test_a_run_waits_for_the_one_before_and_writes_the_next_once(definition: Definition) -> None:
    run = first(definition)
    (second,) = follow(run, definition, now=run.due_at).rows
    busy = running(run, now=run.due_at)
    followed = follow(second, definition, busy, now=second.due_at)
    waiting = followed.instead.after
    assert (waiting.state, waiting.due_at, waiting.planned_at) == (
        State.PENDING,
        second.due_at + QUEUE_POLL,
        second.planned_at,
    )
    assert len(followed.rows) == 1
    again = follow(waiting, definition, busy, now=waiting.due_at)
    assert (again.rows, again.instead.not_before) == ((), waiting.due_at + QUEUE_POLL)
    assert follow(waiting, definition, over(busy), now=waiting.due_at).instead is None


def test_the_first_of_a_queue_asks_without_a_write_and_tells_its_row_now_and_then(
    definition: Definition,
) -> None:
    rows, _ = queue(definition, 1)
    busy, head = rows
    writes, now = 0, head.due_at
    for _ in range(12 * 60):
        instead = follow(head, definition, busy, now=now).instead
        if isinstance(instead, Deferred):
            assert instead.not_before == now + QUEUE_POLL
        else:
            head, writes = instead.after, writes + 1
        now += QUEUE_POLL
        assert head.due_at > now - QUEUE_POLL_SLOW - 2 * QUEUE_POLL
    assert writes == 11


def test_those_behind_the_first_rest(definition: Definition) -> None:
    rows, _ = queue(definition, 3)
    _, head, second, third = rows
    assert head.due_at == head.moved_at + QUEUE_POLL
    assert [run.due_at - run.moved_at for run in (second, third)] == [QUEUE_POLL_SLOW] * 2
    for run in (second, third):
        assert asked(run, definition, rows).due_at == run.due_at + QUEUE_POLL_SLOW


def test_a_run_behind_one_that_waits_for_its_flow_control_asks_by_its_message(definition: Definition) -> None:
    """The run before it looks for a place again and again, and would otherwise wake it by a write each time."""
    rows, _ = queue(definition, 2)
    busy, head, second = rows
    now = second.due_at
    postponed = replace(head, due_at=now + SECOND, moved_at=now)
    asks = follow(second, definition, over(busy), postponed, now=now).instead
    assert asks.not_before == now + QUEUE_POLL
    for each in (now + SECOND, now + MINUTE):
        begins = follow(postponed, definition, over(busy), since=[second], now=each)
        assert (begins.instead, begins.wakes) == (None, None)


def test_a_run_that_leaves_the_queue_wakes_the_next(definition: Definition) -> None:
    rows, _ = queue(definition, 3)
    busy, head, second, third = rows
    now = third.moved_at + SECOND
    line = Line()
    assert RUNS.since(head, definition, line, now=now).ids[:2] == (second.id, third.id)
    begins = follow(head, definition, over(busy), since=[second, third], now=now)
    assert (begins.instead, begins.rows) == (None, ())
    woken = begins.wakes.after
    assert (woken.id, woken.due_at) == (second.id, now + QUEUE_POLL)
    begun = running(head, now=now)
    asks = follow(woken, definition, begun, now=woken.due_at).instead
    assert asks.not_before == woken.due_at + QUEUE_POLL
    assert follow(head, definition, over(busy), since=[woken, third], now=now).wakes is None


def test_a_run_beyond_the_bound_is_skipped_and_those_that_wait_stay(definition: Definition) -> None:
    rows, run = queue(definition, QUEUE_MAX)
    followed = follow(run, definition, *rows, now=run.due_at)
    skipped = followed.instead.after
    assert (skipped.state, skipped.history[-1].why) == (State.SKIPPED, "10 runs before it wait already")
    (following,) = followed.rows
    assert (following.recurs.before, following.recurs.passed_over) == ((rows[-1].id,), run.id)
    assert following.recurs.number == run.recurs.number
    assert (
        follow(following, definition, *rows, skipped, now=following.due_at).instead.after.state
        is State.SKIPPED
    )
    begun = [over(rows[0]), running(rows[1], now=run.due_at), *rows[2:]]
    freed = follow(following, definition, *begun, skipped, now=following.due_at).instead.after
    assert (freed.state, freed.recurs.before) == (State.PENDING, (rows[-1].id,))


def test_any_number_of_caught_up_runs_waits() -> None:
    definition = a_definition("* * * * *", overlap=Overlap.QUEUE, catch_up=CatchUp.ALL)
    run = first(definition)
    now = run.due_at + 30 * MINUTE
    *behind, _ = follow(run, definition, now=now).rows
    assert len(behind) == 30
    known = [running(run, now=now)]
    for row in behind:
        waits = follow(row, definition, *known, now=now).instead.after
        assert waits.state is State.PENDING
        known.append(waits)


def test_a_run_whose_predecessor_ended_without_beginning_waits_for_the_one_before_that(
    definition: Definition,
) -> None:
    rows, _ = queue(definition, 2)
    busy, head, second = rows
    expired = transitions.expire(head, now=second.due_at).after
    waits = follow(second, definition, busy, expired, now=second.due_at).instead.after
    assert (waits.recurs.before, waits.due_at) == ((busy.id,), second.due_at + QUEUE_POLL)
    assert follow(second, definition, over(busy), expired, now=second.due_at).instead is None


def test_a_run_past_its_deadline_does_not_wait_for_the_one_before_it() -> None:
    template = replace(a_definition().template, expires_after=8 * SECOND)
    definition = replace(a_definition(overlap=Overlap.QUEUE), template=template)
    run = first(definition)
    (second,) = follow(run, definition, now=run.due_at).rows
    busy = running(run, now=run.due_at)
    waiting = follow(second, definition, busy, now=second.due_at).instead.after
    assert waiting.state is State.PENDING
    again = follow(waiting, definition, busy, now=waiting.due_at).instead
    assert again.not_before == second.due_at + 8 * SECOND
    late = follow(waiting, definition, busy, now=again.not_before).instead.after
    assert late.state is State.EXPIRED
