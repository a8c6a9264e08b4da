from dataclasses import fields, replace
from datetime import timedelta
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postdate.domain import task_requests, transitions, verdicts
from postdate.domain.due import Due
from postdate.domain.errors import InvalidState
from postdate.domain.task import RECEIVER, Payload, State, Task
from postdate.domain.transitions import ALLOWED, HISTORY_LINES_MAX, Failure, Transition
from postdate.domain.verdicts import Dropped
from tests.unit.doubles import LEASE, MINUTE, SECOND, STEADY, a_task, in_state

NOW = a_task().due_at + MINUTE
REFUSED, DROPPED, NOTHING = "refused", "dropped", "nothing to do"
BROKEN = Failure(why="http 500")
GONE = Failure(why="http 410", final=True)


def claim(task, *, now=NOW, due=None):
    return verdicts.claim(
        task, due or Due.of(task), now=now, lease=LEASE, holder="worker-1", repeated=True, why="sweep"
    )


def postponed(verdict, **given):
    if not isinstance(verdict, Transition) or verdict.after.state is not State.RUNNING:
        return verdict
    usual = {"now": verdict.after.history[-1].at, "why": "not yet", "placed": False}
    usual["until"] = usual["now"] + SECOND
    return transitions.postpone(verdict, **(usual | given))


EVENTS = {
    "claim": claim,
    "succeed": lambda task, now=NOW: transitions.succeed(task, now=now, why="http 200"),
    "fail": lambda task, now=NOW: transitions.fail(task, now=now, failure=BROKEN, draw=0.5),
    "give up": lambda task, now=NOW: transitions.fail(task, now=now, failure=GONE, draw=0.5),
    "cancel": lambda task, now=NOW: task_requests.cancel(task, now=now),
    "edit": lambda task, now=NOW: task_requests.edit(
        task, now=now, due_at=now + MINUTE, why="changed run_at"
    ),
    "accept": lambda task, now=NOW: transitions.accept(task, now=now),
    "expire": lambda task, now=NOW: transitions.expire(task, now=now),
    "skip": lambda task, now=NOW: transitions.skip(task, now=now, why="paused"),
    "miss": lambda task, now=NOW: transitions.miss(task, now=now, why="too late"),
    "wait": lambda task, now=NOW: transitions.wait(task, now=now, until=now + SECOND, why="waits"),
    "postpone": lambda task, now=NOW: postponed(claim(task, now=now)),
    "release": lambda task, now=NOW: transitions.release(task, now=now, until=now + SECOND, why="ours"),
}

# The next state of a task for each event and state, or the answer instead. The claim is one that
# comes with the newest call, delivered before, when the task is due and nobody holds it.
NEVER = (REFUSED,) * 5
CELLS = {
    State.PENDING: (
        *(State.RUNNING, REFUSED, REFUSED, REFUSED, State.CANCELLED, State.PENDING),
        *(REFUSED, State.EXPIRED, State.SKIPPED, State.MISSED, State.PENDING, State.PENDING, REFUSED),
    ),
    State.RUNNING: (
        *(State.RUNNING, State.SUCCEEDED, State.RETRYING, State.DEAD, REFUSED, REFUSED),
        *(State.RUNNING, State.EXPIRED, REFUSED, REFUSED, REFUSED, State.RETRYING, State.RETRYING),
    ),
    State.RETRYING: (
        *(State.RUNNING, REFUSED, REFUSED, REFUSED, State.CANCELLED, REFUSED),
        *(REFUSED, State.EXPIRED, REFUSED, REFUSED, REFUSED, State.RETRYING, REFUSED),
    ),
    State.DEAD: (
        *(State.RUNNING, REFUSED, REFUSED, REFUSED, REFUSED, REFUSED),
        *(REFUSED, State.EXPIRED, REFUSED, REFUSED, REFUSED, State.RETRYING, REFUSED),
    ),
    State.SUCCEEDED: (DROPPED, REFUSED, REFUSED, REFUSED, REFUSED, REFUSED, *NEVER, DROPPED, REFUSED),
    State.CANCELLED: (DROPPED, REFUSED, REFUSED, REFUSED, NOTHING, REFUSED, *NEVER, DROPPED, REFUSED),
    State.EXPIRED: (DROPPED, REFUSED, REFUSED, REFUSED, REFUSED, REFUSED, *NEVER, DROPPED, REFUSED),
    State.SKIPPED: (DROPPED, REFUSED, REFUSED, REFUSED, REFUSED, REFUSED, *NEVER, DROPPED, REFUSED),
    State.MISSED: (DROPPED, REFUSED, REFUSED, REFUSED, REFUSED, REFUSED, *NEVER, DROPPED, REFUSED),
}
EVERY_CELL = [
    pytest.param(state, event, expected, id=f"{state}-{event}")
    for state, row in CELLS.items()
    for event, expected in zip(EVENTS, row, strict=True)
]


def test_the_cells_name_every_state():
    assert CELLS.keys() == set(State) == ALLOWED.keys()


@pytest.mark.parametrize(("state", "event", "expected"), EVERY_CELL)
def test_an_event_does_in_each_state_what_the_table_says(state, event, expected):
    before = in_state(state)
    if expected is REFUSED:
        with pytest.raises(InvalidState) as refused:
            EVENTS[event](before)
        assert refused.value.state == state
        return
    decided = EVENTS[event](before)
    match expected:
        case State():
            assert isinstance(decided, Transition)
            assert (decided.before, decided.after.state) == (before, expected)
            assert expected in ALLOWED[state]
        case "dropped":
            assert decided == Dropped(why=f"is {state}")
        case _:
            assert decided is None


def test_the_table_allows_no_more_than_the_events_do():
    reached = {state: {cell for cell in row if isinstance(cell, State)} for state, row in CELLS.items()}
    reached[State.RUNNING].add(State.RUNNING)
    assert {state: set(allowed) for state, allowed in ALLOWED.items()} == reached


def test_nothing_leaves_a_final_state_but_the_dead_by_a_redrive():
    assert not ALLOWED[State.SUCCEEDED]
    assert not any(ALLOWED[state] for state in (State.CANCELLED, State.EXPIRED, State.SKIPPED, State.MISSED))
    assert ALLOWED[State.DEAD] == {State.RUNNING, State.RETRYING, State.EXPIRED}
    with pytest.raises(InvalidState):
        EVENTS["fail"](in_state(State.DEAD))


DAY = 24 * 60 * MINUTE


def test_a_task_that_would_wait_beyond_sixty_days_expires_with_the_reason():
    task = in_state(State.PENDING)
    change = postponed(claim(task), until=task.ends_at, why="the circuit breaker of its destination is open")
    assert (change.after.state, change.points) == (State.EXPIRED, False)
    why = "the circuit breaker of its destination is open, and by then 60 days have passed since its instant"
    assert (change.after.history[-1].why, change.after.error) == (why, why)
    assert postponed(claim(task), until=task.ends_at - SECOND).after.state is State.PENDING


def test_a_task_that_would_wait_beyond_its_deadline_expires_with_the_reason():
    task = replace(in_state(State.PENDING), expires_at=NOW + MINUTE)
    after = postponed(claim(task), until=NOW + MINUTE, why="its key has a place then").after
    why = "its key has a place then, and by then its deadline has passed"
    assert (after.state, after.history[-1].why, after.error) == (State.EXPIRED, why, why)


def test_a_retry_beyond_sixty_days_is_none():
    task = replace(in_state(State.RUNNING), retry=replace(STEADY, initial_seconds=86_400, max_seconds=86_400))
    late = task.ends_at - DAY / 2
    after = transitions.fail(task, now=late, failure=BROKEN, draw=0).after
    why = "http 500, and by its retry 60 days have passed since its instant"
    assert (after.state, after.history[-1].why, after.error) == (State.EXPIRED, why, "http 500")


@given(st.lists(st.sampled_from(sorted(EVENTS)), max_size=40))
def test_each_change_is_a_version_with_a_line_and_only_claims_make_tokens(events):
    task, now = a_task(retry=STEADY), NOW
    lines = list(task.history)
    for event in events:
        now = max(now, task.due_at, task.lease_until or now) + SECOND
        try:
            decided = EVENTS[event](task, now=now)
        except InvalidState:
            continue
        if not isinstance(decided, Transition):
            continue
        after = decided.after
        assert after.state in ALLOWED[task.state]
        assert after.version == task.version + 1
        claimed = after.state is State.RUNNING and after.holder != RECEIVER
        assert after.token == task.token + claimed
        assert (after.lease_until is None) == (after.state is not State.RUNNING)
        assert after.attempts <= after.retry.max_attempts
        lines.append(after.history[-1])
        assert (lines[-1].version, lines[-1].at, lines[-1].to) == (after.version, now, after.state)
        task = after
    assert [line.version for line in lines] == list(range(1, task.version + 1))
    assert task.history == tuple(lines)
    assert all(later.to in ALLOWED[earlier.to] for earlier, later in pairwise(task.history))


def test_a_long_history_keeps_its_first_line_and_the_newest():
    task = a_task()
    for _ in range(HISTORY_LINES_MAX + 20):
        task = EVENTS["edit"](task).after
    versions = [line.version for line in task.history]
    assert len(versions) == HISTORY_LINES_MAX
    assert versions == [1, *range(task.version - HISTORY_LINES_MAX + 2, task.version + 1)]


def test_a_registered_task_is_its_first_version_and_says_so():
    task = a_task(now=NOW)
    assert (task.version, task.state, task.attempts, task.token) == (1, State.PENDING, 0, 0)
    assert task.planned_at == task.due_at
    assert task.created_at == task.moved_at == NOW
    assert [(line.version, line.to, line.why) for line in task.history] == [(1, State.PENDING, "registered")]


def test_cancelling_twice_is_no_error_and_makes_no_version():
    cancelled = task_requests.cancel(a_task(), now=NOW).after
    assert cancelled.finished_at == NOW
    assert task_requests.cancel(cancelled, now=NOW + MINUTE) is None


def test_a_new_instant_is_the_planned_one_and_notes_when_it_was_set():
    after = task_requests.edit(a_task(), now=NOW, due_at=NOW + MINUTE, why="changed run_at").after
    assert (after.planned_at, after.due_at, after.moved_at) == (NOW + MINUTE, NOW + MINUTE, NOW)


def test_an_edit_without_an_instant_moves_nothing():
    before = a_task()
    after = task_requests.edit(
        before, now=NOW, due_at=None, why="changed payload", payload=Payload(text="[1]")
    ).after
    changed = {
        field.name for field in fields(Task) if getattr(after, field.name) != getattr(before, field.name)
    }
    assert changed == {"payload", "version", "history"}


def test_only_a_change_of_minute_away_from_home_needs_a_pointer():
    before = a_task()
    edit = task_requests.edit
    minute_later = edit(before, now=NOW, due_at=before.due_at + MINUTE, why="later")
    assert minute_later.points
    assert not edit(before, now=NOW, due_at=before.due_at + 59 * SECOND, why="within").points
    assert not edit(before, now=NOW, due_at=before.due_at, why="the same").points
    back = edit(minute_later.after, now=NOW, due_at=before.due_at, why="back")
    assert not back.points
    unmoved = edit(minute_later.after, now=NOW, due_at=None, why="changed payload")
    assert not unmoved.points


@pytest.mark.parametrize(("seconds", "points"), [(10, False), (900, False), (900.001, True), (86_400, True)])
def test_only_a_retry_that_the_queue_cannot_hold_needs_a_pointer(seconds, points):
    policy = replace(STEADY, initial_seconds=seconds, max_seconds=86_400)
    change = EVENTS["fail"](in_state(State.RUNNING, a_task(retry=policy)))
    assert (change.after.due_at, change.points) == (NOW + timedelta(seconds=seconds), points)


def test_a_claim_under_which_nothing_was_sent_is_no_attempt_and_its_token_is_not_used_again():
    task = claim(a_task(retry=replace(STEADY, max_attempts=1))).after
    for _ in range(5):
        released = transitions.release(task, now=NOW, until=NOW + SECOND / 3, why="ours")
        waits = released.after
        assert (waits.state, waits.attempts, waits.token) == (State.RETRYING, 0, task.token)
        assert (waits.due_at, waits.moved_at) == (NOW + timedelta(milliseconds=334), NOW)
        assert (waits.history[-1].why, waits.history[-1].attempt, waits.error) == ("ours", 0, None)
        assert (released.postponed, released.points) == (True, False)
        task = claim(waits, now=NOW + SECOND).after
    assert (task.attempts, task.token) == (1, 6)


def test_a_claim_that_is_released_past_its_deadline_ends():
    task = claim(a_task(expires_at=NOW + SECOND)).after
    assert transitions.release(task, now=NOW, until=NOW + SECOND, why="ours").after.state is State.EXPIRED


def test_a_failed_attempt_tells_why_and_when_it_was_moved():
    after = EVENTS["fail"](in_state(State.RUNNING)).after
    assert (after.error, after.moved_at, after.due_at) == ("http 500", NOW, NOW + 10 * SECOND)
    assert after.finished_at is None
    assert after.planned_at == a_task().planned_at


def test_a_success_forgets_the_error_of_the_attempts_before():
    retried = claim(in_state(State.RETRYING)).after
    after = EVENTS["succeed"](retried).after
    assert (retried.error, after.error, after.finished_at) == ("http 500", None, NOW)


def test_a_failure_with_no_attempt_left_is_final():
    last = a_task(retry=STEADY, attempts=STEADY.max_attempts - 1)
    after = EVENTS["fail"](claim(last).after).after
    assert (after.state, after.error, after.finished_at) == (State.DEAD, "http 500", NOW)


def test_lateness_is_that_of_the_first_attempt_whatever_comes_after():
    task = a_task()
    assert task.lateness_ms is None
    first = claim(task, now=task.due_at + SECOND).after
    assert first.lateness_ms == 1000
    again = claim(EVENTS["fail"](first).after, now=NOW + MINUTE).after
    assert again.lateness_ms == 1000
    assert (first.is_claimed_first, again.is_claimed_first) == (True, False)


def test_lateness_is_that_of_the_first_attempt_after_more_versions_than_a_history_has_lines():
    task = a_task(retry=replace(STEADY, max_attempts=50))
    for _ in range(49):
        now = task.due_at + SECOND
        task = EVENTS["fail"](claim(task, now=now).after, now=now).after
    assert task.version > HISTORY_LINES_MAX == len(task.history)
    assert task.lateness_ms == 1000
    versions = [line.version for line in task.history]
    assert versions == [1, 2, *range(task.version - HISTORY_LINES_MAX + 3, task.version + 1)]
