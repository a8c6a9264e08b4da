"""A change is written if its task is still what it was decided from, and not otherwise."""

from dataclasses import replace
from datetime import timedelta

from postdate.domain.task import State
from postdate.domain.transitions import Failure, accept, fail
from postdate.stores.tasks import Tasks, Written
from tests.contract.examples import Examples, cancel, claim, reschedule, succeed

LONGER = timedelta(seconds=15)


def test_the_second_of_two_racing_claims_is_refused(tasks: Tasks, examples: Examples) -> None:
    task = examples.task()
    tasks.add([task])
    first, second = claim(task), claim(task, holder="worker-2")
    assert tasks.commit([first]) == [Written.DONE]
    assert tasks.commit([second]) == [Written.CONFLICT]
    assert tasks.get(task.id) == first.after


def test_of_a_cancel_and_a_claim_exactly_one_wins(tasks: Tasks, examples: Examples) -> None:
    task, other = examples.tasks(2)
    tasks.add([task, other])
    assert tasks.commit([cancel(task), claim(other)]) == [Written.DONE, Written.DONE]
    assert tasks.commit([claim(task), cancel(other)]) == [Written.CONFLICT, Written.CONFLICT]
    states = {id: task.state for id, task in tasks.get_many([task.id, other.id]).items()}
    assert states == {task.id: State.CANCELLED, other.id: State.RUNNING}


def test_a_change_of_a_task_that_is_not_stored_is_refused_and_stores_nothing(
    tasks: Tasks, examples: Examples
) -> None:
    task = examples.task()
    assert tasks.commit([claim(task)]) == [Written.CONFLICT]
    assert tasks.get(task.id) is None


def test_a_change_that_is_stored_already_counts_as_done(tasks: Tasks, examples: Examples) -> None:
    task = examples.task()
    tasks.add([task])
    for change in (claim, succeed):
        transition = change(task)
        assert tasks.commit([transition]) == [Written.DONE]
        assert tasks.commit([transition]) == [Written.DONE]
        task = transition.after
        assert tasks.get(task.id) == task


def test_a_claim_is_known_as_ones_own_even_when_its_lease_was_made_longer_since(
    tasks: Tasks, examples: Examples
) -> None:
    task = examples.task()
    tasks.add([task])
    mine = claim(task)
    tasks.commit([mine])
    assert tasks.extend([mine.after], examples.now + timedelta(minutes=5)) == [Written.DONE]
    assert tasks.commit([mine]) == [Written.DONE]


def test_two_tokens_of_one_task_in_one_batch_are_judged_each_for_itself(
    tasks: Tasks, examples: Examples
) -> None:
    """A worker whose lease ended may hold the task twice. AWS takes no two statements for one row in one request."""
    task, other = examples.tasks(2)
    tasks.add([task, other])
    late = claim(task)
    fast = claim(late.after, holder="worker-2")
    tasks.commit([late])
    tasks.commit([fast, claim(other)])
    until = examples.now + timedelta(minutes=5)
    running = [late.after, claim(other).after, fast.after]
    assert tasks.extend(running, until) == [Written.CONFLICT, Written.DONE, Written.DONE]
    outcomes = [succeed(each) for each in running]
    assert tasks.commit(outcomes) == [Written.CONFLICT, Written.DONE, Written.DONE]
    kept = tasks.get(task.id)
    assert kept is not None
    assert (kept.token, kept.state) == (fast.after.token, State.SUCCEEDED)


def test_a_change_that_was_stored_and_then_overtaken_is_refused(tasks: Tasks, examples: Examples) -> None:
    task = examples.task()
    tasks.add([task])
    moved = reschedule(task, task.due_at + timedelta(seconds=7))
    tasks.commit([moved])
    tasks.commit([cancel(moved.after)])
    assert tasks.commit([moved]) == [Written.CONFLICT]


def test_an_outcome_is_written_whatever_became_of_its_own_lease(tasks: Tasks, examples: Examples) -> None:
    task = examples.task()
    tasks.add([task])
    claimed = claim(task).after
    tasks.commit([claim(task)])
    assert tasks.extend([claimed], examples.now + timedelta(minutes=5)) == [Written.DONE]
    assert tasks.commit([succeed(claimed)]) == [Written.DONE]
    assert tasks.get(task.id) == succeed(claimed).after


def test_an_outcome_is_fenced_off_once_another_worker_has_the_task(tasks: Tasks, examples: Examples) -> None:
    task = examples.task()
    tasks.add([task])
    first = claim(task)
    tasks.commit([first])
    second = claim(first.after, holder="worker-2")
    assert tasks.commit([second]) == [Written.DONE]
    assert second.after.token == first.after.token + 1
    assert tasks.commit([succeed(first.after)]) == [Written.CONFLICT]
    assert tasks.get(task.id) == second.after


def test_a_claim_decided_from_a_lease_that_was_made_longer_since_is_refused(
    tasks: Tasks, examples: Examples
) -> None:
    task = examples.task()
    tasks.add([task])
    first = claim(task)
    tasks.commit([first])
    late = claim(first.after, holder="worker-2")
    assert tasks.extend([first.after], examples.now + timedelta(minutes=5)) == [Written.DONE]
    assert tasks.commit([late]) == [Written.CONFLICT]
    kept = tasks.get(task.id)
    assert kept is not None
    assert (kept.holder, kept.token) == ("worker-1", 1)
    assert tasks.commit([claim(kept, holder="worker-2")]) == [Written.DONE]


def test_a_burial_decided_from_a_lease_that_was_made_longer_since_is_refused(
    tasks: Tasks, examples: Examples
) -> None:
    task = examples.task()
    task = replace(task, retry=replace(task.retry, max_attempts=1))
    tasks.add([task])
    last = claim(task)
    tasks.commit([last])
    burial = claim(last.after, holder="worker-2")
    assert burial.after.state is State.DEAD
    assert tasks.extend([last.after], examples.now + timedelta(minutes=5)) == [Written.DONE]
    assert tasks.commit([burial]) == [Written.CONFLICT]
    assert tasks.commit([succeed(last.after)]) == [Written.DONE]


def test_a_lease_is_made_longer_only_for_the_claim_that_runs(tasks: Tasks, examples: Examples) -> None:
    task, until = examples.task(), examples.now + timedelta(minutes=3)
    assert tasks.extend([task], until) == [Written.CONFLICT]
    tasks.add([task])
    assert tasks.extend([task], until) == [Written.CONFLICT]
    first = claim(task).after
    tasks.commit([claim(task)])
    assert tasks.extend([first], until) == [Written.DONE]
    assert tasks.get(task.id) == replace(first, lease_until=until)
    second = claim(replace(first, lease_until=until), holder="worker-2").after
    tasks.commit([claim(replace(first, lease_until=until), holder="worker-2")])
    assert tasks.extend([first], until + LONGER) == [Written.CONFLICT]
    assert tasks.extend([second], until + LONGER) == [Written.DONE]
    dead = fail(second, now=until, failure=Failure(why="http 410", final=True), draw=0.0)
    tasks.commit([dead])
    assert tasks.extend([second], until + 2 * LONGER) == [Written.CONFLICT]
    assert tasks.get(task.id) == dead.after


def test_many_leases_are_made_longer_at_once_and_each_is_judged_alone(
    tasks: Tasks, examples: Examples
) -> None:
    stored = examples.tasks(30)
    tasks.add(stored)
    tasks.commit([claim(task) for task in stored])
    running = [claim(task).after for task in stored]
    tasks.commit([succeed(task) for task in running[::3]])
    until = examples.now + timedelta(minutes=5)
    assert tasks.extend(running, until) == [
        Written.CONFLICT if place % 3 == 0 else Written.DONE for place in range(30)
    ]
    kept = tasks.get_many(task.id for task in stored)
    assert [kept[task.id].lease_until for task in stored] == [
        None if place % 3 == 0 else until for place in range(30)
    ]
    assert tasks.extend([], until) == []


def test_sixty_changes_at_once_are_each_judged_alone_and_answered_in_order(
    tasks: Tasks, examples: Examples
) -> None:
    stored = examples.tasks(60)
    tasks.add(stored)
    cancelled = stored[1::3]
    tasks.commit([cancel(task) for task in cancelled])
    moved = stored[2::6]
    changes = [
        reschedule(task, task.due_at + timedelta(hours=9)) if task in moved else claim(task)
        for task in stored
    ]
    expected = [Written.CONFLICT if task in cancelled else Written.DONE for task in stored]
    assert tasks.commit(changes) == expected
    kept = tasks.get_many(task.id for task in stored)
    for task, change, written in zip(stored, changes, expected, strict=True):
        assert kept[task.id] == (change if written is Written.DONE else cancel(task)).after


def test_of_sixty_new_tasks_those_that_are_stored_already_are_named(tasks: Tasks, examples: Examples) -> None:
    stored = examples.tasks(60)
    assert tasks.add(stored[::4]) == [Written.DONE] * 15
    assert tasks.add(stored) == [
        Written.CONFLICT if place % 4 == 0 else Written.DONE for place in range(len(stored))
    ]
    assert tasks.get_many(task.id for task in stored) == {task.id: task for task in stored}
    assert tasks.commit([]) == []


def test_a_lease_that_the_receiver_has_is_not_the_workers_any_more(tasks: Tasks, examples: Examples) -> None:
    """A worker that did not hear of its own write would cut it short."""
    task = replace(examples.task(), timeout_seconds=300)
    tasks.add([task])
    claimed = claim(task)
    accepted = accept(claimed.after, now=examples.now)
    tasks.commit([claimed])
    assert tasks.commit([accepted]) == [Written.DONE]
    assert tasks.extend([claimed.after], examples.now + timedelta(seconds=40)) == [Written.CONFLICT]
    assert tasks.get(task.id) == accepted.after
    until = examples.now + timedelta(seconds=400)
    assert tasks.extend([accepted.after], until) == [Written.DONE]
