from dataclasses import replace

import pytest

from postdate.domain import task_requests, transitions, verdicts
from postdate.domain.due import Due
from postdate.domain.task import State
from postdate.domain.transitions import Failure, Transition
from postdate.domain.verdicts import Buried, Deferred, Dropped
from tests.unit.doubles import LEASE, MINUTE, SECOND, STEADY, a_task, claimed, in_state

MILLISECOND = SECOND / 1000
TASK = a_task()
MOVED = task_requests.edit(TASK, now=TASK.due_at - MINUTE, due_at=TASK.due_at + MINUTE, why="later").after


def claim(task, *, due=None, now=None, repeated=False, letter=False):
    return verdicts.claim(
        task,
        due or Due.of(task),
        now=now or task.due_at,
        lease=LEASE,
        holder="worker-1",
        repeated=repeated,
        letter=letter,
        why="sweep",
    )


def test_a_claim_numbers_the_attempt_and_names_holder_and_lease():
    after = claim(TASK, now=TASK.due_at + SECOND).after
    assert (after.attempts, after.token, after.holder) == (1, 1, "worker-1")
    assert after.history[-1].at == TASK.due_at + SECOND
    assert after.lease_until == TASK.due_at + SECOND + LEASE
    assert (after.history[-1].why, after.history[-1].attempt) == ("sweep", 1)


def test_nothing_begins_a_millisecond_early():
    assert claim(TASK, now=TASK.due_at - MILLISECOND) == Deferred(why="not due yet")
    assert isinstance(claim(TASK, now=TASK.due_at), Transition)


def test_a_changed_task_that_was_not_moved_is_still_claimed_by_the_call_sent_before():
    changed = task_requests.edit(TASK, now=TASK.created_at, due_at=None, why="changed name", name="n").after
    assert isinstance(claim(changed, due=Due.of(TASK)), Transition)


@pytest.mark.parametrize("now", [TASK.due_at, MOVED.due_at, MOVED.due_at + MINUTE])
def test_the_call_for_an_instant_the_task_was_moved_from_is_dropped(now):
    assert claim(MOVED, due=Due.of(TASK), now=now) == Dropped(why="moved")


def test_a_repeated_call_for_a_moved_task_is_sent_again_for_its_new_instant():
    verdict = claim(MOVED, due=Due.of(TASK), now=TASK.due_at, repeated=True)
    assert verdict == Deferred(why="moved, and its own call may be lost")


def test_a_repeated_call_is_not_sent_on_for_an_instant_that_a_sweep_will_see():
    later = task_requests.edit(TASK, now=TASK.created_at, due_at=TASK.due_at + 16 * MINUTE, why="later").after
    call = Due.of(TASK)
    soon = later.due_at - 15 * MINUTE
    assert claim(later, due=call, now=soon - MILLISECOND, repeated=True) == Dropped(why="moved")
    assert isinstance(claim(later, due=call, now=soon, repeated=True), Deferred)


def test_a_call_that_comes_more_than_fifteen_minutes_early_is_left_to_a_sweep():
    early = TASK.due_at - 15 * MINUTE
    assert isinstance(claim(TASK, now=early), Deferred)
    assert claim(TASK, now=early - MILLISECOND) == Dropped(why="a later sweep has it")


def test_a_repeated_first_call_of_a_retried_task_is_sent_again_for_the_retry():
    retrying = in_state(State.RETRYING)
    assert claim(retrying, due=Due.of(TASK), repeated=True) == Deferred(
        why="moved, and its own call may be lost"
    )
    assert claim(retrying, due=Due.of(TASK)) == Dropped(why="moved")


@pytest.mark.parametrize("repeated", [False, True])
def test_a_live_lease_keeps_everybody_else_away(repeated):
    running = claimed(TASK)
    verdict = claim(running, now=running.lease_until - MILLISECOND, repeated=repeated)
    assert verdict == Deferred(why="another worker has it", not_before=running.lease_until)


def test_when_the_lease_is_over_the_next_attempt_has_a_newer_token():
    running = claimed(TASK)
    change = claim(running, now=running.lease_until, repeated=True)
    after = change.after
    assert (after.attempts, after.token, after.holder) == (2, 2, "worker-1")
    assert (after.history[-1].why, change.over_lease) == ("its worker died", True)


def test_a_worker_that_died_with_the_last_attempt_leaves_a_dead_task():
    running = replace(claimed(TASK), attempts=STEADY.max_attempts)
    change = claim(running, now=running.lease_until, repeated=True)
    after, why = change.after, "its worker died, and no attempt is left"
    assert (after.state, after.token, after.finished_at) == (State.DEAD, running.token, running.lease_until)
    assert (after.history[-1].why, after.error, change.over_lease) == (why, why, True)


def test_a_lease_that_is_over_by_this_clock_alone_is_waited_for_once_more_in_the_queue():
    running = replace(claimed(TASK), attempts=STEADY.max_attempts)
    now = running.lease_until + MINUTE
    verdict = claim(running, now=now)
    assert verdict == Deferred(why="its lease may be over, by this clock alone", not_before=now + LEASE)


def test_a_dead_task_is_brought_back_by_the_letter_of_that_very_death():
    dead = replace(in_state(State.DEAD), attempts=STEADY.max_attempts, token=7)
    after = claim(dead).after
    assert (after.state, after.attempts, after.token, after.finished_at) == (State.RUNNING, 1, 8, None)
    assert after.history[-1].why == "redriven"


@pytest.mark.parametrize("off", [-2, -1, 1])
def test_no_other_call_brings_a_dead_task_back(off):
    dead = in_state(State.DEAD)
    due = replace(Due.of(dead), version=dead.version + off)
    assert claim(dead, due=due) == Dropped(why="is DEAD")


def test_the_letter_of_an_earlier_death_does_not_bring_back_a_later_one():
    dead = in_state(State.DEAD)
    letter = Due.of(dead)
    redriven = claim(dead).after
    again = transitions.fail(
        redriven, now=redriven.history[-1].at, failure=Failure(why="gone", final=True), draw=0
    )
    assert claim(again.after, due=letter) == Dropped(why="is DEAD")


def test_a_letter_redriven_once_more_has_the_call_of_its_task_sent_again():
    """The task was brought back before, waits for its next attempt, and its own call may be lost."""
    dead = in_state(State.DEAD)
    redriven = claim(dead).after
    waiting = transitions.fail(
        redriven, now=redriven.history[-1].at, failure=Failure(why="busy"), draw=0
    ).after
    letter = claim(waiting, due=Due.of(dead), now=waiting.moved_at, letter=True)
    assert letter == Deferred(why="moved, and its own call may be lost")
    assert claim(waiting, due=Due.of(dead), now=waiting.moved_at) == Dropped(why="moved")


def test_a_letter_takes_a_task_from_no_worker_before_it_has_waited_in_the_queue():
    running = claimed(TASK)
    verdict = claim(running, now=running.lease_until, letter=True)
    assert verdict == Deferred(
        why="its lease may be over, by this clock alone", not_before=running.lease_until + LEASE
    )


def test_a_dead_task_that_is_brought_back_is_audited_from_then_on():
    dead, now = in_state(State.DEAD), TASK.due_at + 600 * MINUTE
    assert claim(dead, now=now).audited_from == now
    assert claim(TASK).audited_from is None


def test_no_attempt_of_a_dead_task_begins_after_its_deadline():
    dead = replace(in_state(State.DEAD), expires_at=TASK.due_at + MINUTE)
    assert claim(dead, now=dead.expires_at - MILLISECOND).after.state is State.RUNNING
    after = claim(dead, now=dead.expires_at).after
    assert (after.state, after.attempts, after.token) == (State.EXPIRED, dead.attempts, dead.token)
    assert (after.finished_at, after.history[-1].why) == (dead.expires_at, "its deadline has passed")


@pytest.mark.parametrize("state", [State.PENDING, State.RETRYING, State.RUNNING, State.DEAD])
def test_no_attempt_begins_sixty_days_after_the_instant(state):
    """The rows that an attempt needs, such as its payload's, are kept no longer."""
    task = in_state(state)
    last = task.planned_at + 60 * 24 * 60 * MINUTE
    assert claim(task, now=last - MILLISECOND, repeated=True).after.state is State.RUNNING
    change = claim(task, now=last, repeated=True)
    assert (change.after.state, change.after.token) == (State.EXPIRED, task.token)
    why = "60 days have passed since its instant"
    assert (change.after.history[-1].why, change.after.error) == (why, why)
    assert change.over_lease == (state is State.RUNNING)


def test_sixty_days_count_from_its_writing_if_that_was_later():
    """A run that is backfilled was planned long ago."""
    task = replace(TASK, created_at=TASK.planned_at + 90 * 24 * 60 * MINUTE)
    assert claim(task, now=task.created_at).after.state is State.RUNNING
    assert task.ends_at == task.created_at + 60 * 24 * 60 * MINUTE


def test_a_deadline_that_comes_first_counts():
    assert replace(TASK, expires_at=TASK.due_at + MINUTE).ends_at == TASK.due_at + MINUTE
    late = replace(TASK, expires_at=TASK.due_at + 99 * 24 * 60 * MINUTE)
    assert late.ends_at == TASK.ends_at < late.expires_at


def test_no_letter_but_that_of_its_death_ends_a_dead_task_after_its_deadline():
    dead = replace(in_state(State.DEAD), expires_at=TASK.due_at)
    stale = replace(Due.of(dead), version=dead.version - 1)
    assert claim(dead, due=stale, now=TASK.due_at) == Dropped(why="is DEAD")


def test_a_repeated_call_of_a_dead_task_has_its_letter_sent_again():
    dead = in_state(State.DEAD)
    assert claim(dead, due=Due.of(TASK), repeated=True) == Buried()
    assert isinstance(claim(dead, repeated=True), Transition)


@pytest.mark.parametrize("state", [State.SUCCEEDED, State.CANCELLED])
@pytest.mark.parametrize("repeated", [False, True])
def test_an_ended_task_drops_every_call(state, repeated):
    assert claim(in_state(state), due=Due.of(TASK), repeated=repeated) == Dropped(why=f"is {state}")
    assert claim(in_state(state), repeated=repeated) == Dropped(why=f"is {state}")
