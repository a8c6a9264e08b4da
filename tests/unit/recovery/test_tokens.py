"""Items in restored slots get tokens above those that receivers may have seen since."""

from dataclasses import replace
from datetime import timedelta
from threading import Barrier

import pytest

from postdate.domain import task_requests
from postdate.domain.errors import Conflict, Unavailable
from postdate.domain.slots import item_id
from postdate.domain.task import KIND, State
from postdate.domain.task_requests import TOKENS_AHEAD
from postdate.domain.transitions import Transition
from postdate.recovery.tokens import Tokens
from tests.unit.doubles import MINUTE, START, ManualClock, ScriptedTasks, a_task, claimed, in_state, unique

SINCE = START - timedelta(hours=1)


@pytest.fixture
def tasks() -> ScriptedTasks:
    return ScriptedTasks()


def tokens(tasks, **more):
    return Tokens(timetable=tasks, tasks=tasks, clock=ManualClock(), since=SINCE, **more)


@pytest.mark.parametrize("state", State)
def test_every_task_that_has_not_ended_is_fenced_anew_and_stays_what_it_is(tasks, state):
    task = in_state(state)
    tasks.add([task])
    ends = state not in (State.PENDING, State.RUNNING, State.RETRYING)
    assert tokens(tasks).raise_in([task.home]) == (0 if ends else 1)
    found = tasks.get(task.id)
    assert found.token == task.token + (0 if ends else TOKENS_AHEAD)
    same = {"version": found.version, "token": found.token, "history": found.history}
    assert replace(task, **same) == found


def test_one_that_is_only_called_from_a_slot_is_found_as_well(tasks):
    task = a_task()
    moved = task_requests.edit(task, now=START, due_at=START + 90 * MINUTE, why="later")
    tasks.add([task])
    tasks.commit([moved])
    slots = [replace(task.home, minute=task.home.minute + 90, shard=shard) for shard in range(4)]
    assert tokens(tasks).raise_in(slots) == 1
    assert tasks.get(task.id).token == TOKENS_AHEAD


def test_it_is_raised_once_for_one_restore_and_again_for_the_next(tasks):
    task = a_task()
    tasks.add([task])
    for since, raised in ((SINCE, 1), (SINCE, 0), (SINCE + MINUTE, 1)):
        again = Tokens(timetable=tasks, tasks=tasks, clock=ManualClock(), since=since)
        assert again.raise_in([task.home]) == raised


def test_the_next_claim_is_above_every_token_that_was_given_before(tasks):
    task, seen = a_task(), 0
    tasks.add([task])
    for number in range(3):
        seen = claimed(replace(task, token=number)).token
    tokens(tasks).raise_in([task.home])
    assert claimed(tasks.get(task.id)).token > seen


def test_a_dry_run_counts_and_changes_nothing(tasks):
    task = a_task()
    tasks.add([task])
    assert tokens(tasks, dry=True).raise_in([task.home]) == 1
    assert tasks.get(task.id) == task


def test_tasks_that_cannot_be_written_or_change_meanwhile_stop_the_recovery(tasks):
    task = a_task()
    tasks.add([task])
    tasks.unavailable[task.id] = 1
    with pytest.raises(Unavailable):
        tokens(tasks).raise_in([task.home])
    cancelled = task_requests.cancel(task, now=START)
    assert isinstance(cancelled, Transition)
    tasks.before["commit"].append(lambda: tasks.commit([cancelled]))
    with pytest.raises(Conflict):
        tokens(tasks).raise_in([task.home])


def test_the_tasks_of_a_slot_are_written_side_by_side(tasks):
    """A slot of the promised peak has thousands of tasks, and a step has a minute."""
    slot = a_task().home
    stored = [replace(a_task(), id=item_id(KIND, slot, unique(number))) for number in range(60)]
    tasks.add(stored)
    both, write = Barrier(2, timeout=5), tasks.commit

    def together(changes):
        if len(changes) == 25:
            both.wait()
        return write(changes)

    tasks.commit = together
    assert tokens(tasks).raise_in([slot]) == 60
    assert {tasks.get(each.id).token for each in stored} == {TOKENS_AHEAD}
