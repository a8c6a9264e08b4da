"""Calls that begin an attempt, and their instants: never early, each at its own instant, a task at most once."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postdate.domain import task_requests
from postdate.domain.due import Due, Via
from postdate.domain.task import State
from postdate.stores.tasks import Written
from postdate.targets.base import Delivered
from tests.unit.doubles import (
    LEASE,
    MINUTE,
    SECOND,
    START,
    a_task,
    claimed,
    in_state,
    message,
)
from tests.unit.run_tasks.conftest import Running

MILLISECOND = SECOND / 1000


def started(running):
    return {delivery.task_id: at for at, delivery in running.target.started}


@given(st.lists(st.integers(-1_000, 3_000), min_size=1, max_size=30))
def test_each_item_of_a_batch_begins_at_its_own_instant_and_none_early(offsets):
    running = Running()
    tasks = [a_task(number, due_at=START + offset * MILLISECOND) for number, offset in enumerate(offsets)]
    running.stores(*tasks)
    tally = running.run(*(message(task, number=number) for number, task in enumerate(tasks)))
    assert started(running) == {task.id: max(task.due_at, START) for task in tasks}
    assert tally.succeeded == len(tasks)
    assert sorted(tally.lateness_ms) == sorted(max(0, -offset) for offset in offsets)


def test_a_tenant_with_many_calls_for_an_instant_keeps_nobody_else_waiting(running):
    many = [a_task(number) for number in range(1, 101)]
    few = [a_task(number, tenant="quiet") for number in range(201, 204)]
    running.stores(*many, *few)
    packets = [message(*many[first : first + 25], number=first) for first in range(0, 100, 25)]
    running.run(*packets, message(*few, number=999, tenant="quiet"))
    begun = [delivery.task_id for _, delivery in running.target.started]
    assert max(begun.index(task.id) for task in few) < 2 * len(few)
    assert len(begun) == 103


def test_a_call_further_away_than_the_wait_is_sent_again_and_delays_no_other(running):
    near, far = a_task(1, due_at=START + 3 * SECOND), a_task(2, due_at=START + 3 * SECOND + MILLISECOND)
    running.stores(near, far)
    tally = running.run(message(near, far))
    assert started(running) == {near.id: near.due_at}
    assert (tally.succeeded, tally.deferred, tally.failed_messages) == (1, 1, set())
    ((packet, _),) = running.queue.sent
    assert (packet.via, packet.dues, packet.not_before) == (Via.SWEEP, (Due.of(far),), None)
    assert packet.seen
    assert running.stored(far) == far


def test_a_call_that_was_deferred_is_run_when_it_arrives(running):
    far = a_task(due_at=START + 30 * SECOND)
    running.stores(far)
    running.run(message(far))
    running.run(running.arrival())
    assert started(running) == {far.id: far.due_at}


def test_calls_of_one_second_that_were_deferred_arrive_before_the_first_of_them(running):
    tasks = [a_task(number, due_at=START + 30 * SECOND + 300 * number * MILLISECOND) for number in (1, 2, 3)]
    running.stores(*tasks)
    running.run(message(*tasks))
    running.run(running.arrival())
    assert started(running) == {task.id: task.due_at for task in tasks}


def test_a_call_deferred_to_the_end_of_a_lease_makes_no_other_call_late(running):
    """Both travel on for the same second, one not before its end, the other to be there before its start."""
    held = claimed(a_task(1, due_at=START - 28 * SECOND + 500 * MILLISECOND))
    other = a_task(2, due_at=START + 12 * SECOND + 100 * MILLISECOND)
    assert held.lease_until == START + 12 * SECOND + 500 * MILLISECOND
    running.stores(held, other)
    running.run(message(held, other))
    arrivals = {due.id: START + delay for packet, delay in running.queue.sent for due in packet.dues}
    assert arrivals[other.id] <= other.due_at
    assert arrivals[held.id] >= held.lease_until


def test_a_call_for_a_task_that_is_running_comes_back_when_its_lease_is_over(running):
    held = claimed(a_task())
    running.stores(held)
    tally = running.run(message(a_task()))
    assert (started(running), tally.deferred) == ({}, 1)
    running.run(running.arrival())
    assert started(running) == {held.id: held.lease_until}


def test_two_messages_of_one_task_in_a_batch_run_it_once(running):
    task = a_task()
    running.stores(task)
    tally = running.run(message(task, number=1), message(task, number=2))
    assert len(running.target.started) == 1
    assert (tally.claimed, tally.succeeded, tally.failed_messages) == (1, 1, set())


def test_a_message_that_names_a_task_twice_runs_it_once(running):
    task = a_task()
    running.stores(task)
    tally = running.run(message(task, task))
    assert len(running.target.started) == 1
    assert tally.succeeded == 1


def test_two_messages_of_one_retried_task_run_the_attempt_once(running):
    task = replace(in_state(State.RETRYING), due_at=START)
    running.stores(task)
    running.run(message(task, number=1, via=Via.RETRY), message(task, number=2, via=Via.CLOSING))
    assert [delivery.attempt for _, delivery in running.target.started] == [2]


def test_a_duplicate_of_a_task_that_is_still_running_here_waits_for_its_lease(running):
    task, other = a_task(1), a_task(2)
    running.stores(task, other)
    held = []
    running.target.script[task.id].append(lambda *delivery: held.append(delivery))

    def both_end(delivery, report):
        for each, tell in [*held, (delivery, report)]:
            tell(each, Delivered())

    running.target.script[other.id].append(both_end)
    tally = running.run(message(task, number=1), message(task, number=2), message(other, number=3))
    assert [delivery.task_id for _, delivery in running.target.started] == [task.id, other.id]
    assert (tally.succeeded, tally.deferred) == (2, 1)
    assert [packet.not_before for packet in running.queue.packets] == [START + LEASE]


@pytest.mark.parametrize("state", [State.SUCCEEDED, State.CANCELLED, State.DEAD])
def test_a_call_for_a_task_that_is_over_is_dropped(running, state):
    over = in_state(state)
    running.stores(over)
    tally = running.run(message(a_task()))
    assert (tally.dropped, started(running), running.stored(over)) == (1, {}, over)
    assert running.queue.sent == running.dead_letters.sent == []


@pytest.mark.parametrize("unavailable", [0, 20])
def test_the_author_of_a_redrive_signs_the_change_that_follows(running, unavailable):
    """A call that is deferred, because the claim cannot be written, keeps its author."""
    dead = in_state(State.DEAD)
    running.stores(dead)
    running.tasks.unavailable[dead.id] = unavailable
    running.clock.move(MINUTE)
    running.run(message(dead, via=Via.DEAD, by="operation:op_1"))
    while sent := running.queue.take():
        ((packet, delay),) = sent
        running.clock.move(delay)
        running.run(message(*packet.dues, via=packet.via, seen=packet.seen, by=packet.by))
    lines = running.stored(dead).history[len(dead.history) :]
    assert [(line.to, line.by) for line in lines] == [
        (State.RUNNING, "operation:op_1"),
        (State.SUCCEEDED, ""),
    ]


def test_a_call_for_a_task_that_cannot_be_read_keeps_its_message_and_no_other(running):
    """A task outlives its calls: what is not found is there, and not understood by this code."""
    known = a_task(2)
    running.stores(known)
    tally = running.run(message(a_task(1), number=1), message(known, number=2))
    assert (tally.failed_messages, tally.succeeded) == ({"message-1"}, 1)


def test_a_call_more_than_fifteen_minutes_early_is_left_to_the_sweep(running):
    later = a_task(due_at=START + 16 * MINUTE)
    running.stores(later)
    tally = running.run(message(later))
    assert (tally.dropped, running.queue.sent, started(running)) == (1, [], {})


def test_a_task_cancelled_while_its_call_waits_for_the_instant_is_not_run(running):
    task = a_task(due_at=START + 2 * SECOND)
    running.stores(task)
    running.tasks.before["commit"].append(lambda: commit(running, task_requests.cancel(task, now=START)))
    tally = running.run(message(task))
    assert (started(running), tally.dropped, tally.failed_messages) == ({}, 1, set())


def test_a_task_moved_while_its_call_waits_for_the_instant_is_left_to_its_new_call(running):
    task = a_task(due_at=START + 2 * SECOND)
    running.stores(task)
    later = task_requests.edit(task, now=START, due_at=START + MINUTE, why="changed run_at")
    running.tasks.before["commit"].append(lambda: commit(running, later))
    tally = running.run(message(task))
    assert (started(running), tally.dropped) == ({}, 1)
    assert running.stored(task) == later.after


def test_a_payload_changed_while_its_call_waits_for_the_instant_is_what_is_delivered(running):
    task = a_task(due_at=START + 2 * SECOND)
    running.stores(task)
    payload = replace(task.payload, text='"new"')
    change = task_requests.edit(task, now=START, due_at=None, why="changed payload", payload=payload)
    running.tasks.before["commit"].append(lambda: commit(running, change))
    running.run(message(task))
    assert [delivery.payload for _, delivery in running.target.started] == [b'"new"']


def commit(running, change):
    assert running.tasks.commit([change]) == [Written.DONE]


def test_a_repeated_call_for_a_moved_task_goes_on_to_its_new_instant(running):
    task = a_task()
    running.stores(task)
    later = task_requests.edit(task, now=START - MINUTE, due_at=START + 30 * SECOND, why="changed run_at")
    commit(running, later)
    running.run(message(task, receives=2))
    assert running.sent == [(Via.SWEEP, Due.of(later.after), 29 * SECOND)]


def test_messages_stay_hidden_a_little_longer_than_the_lease(running):
    running.run(message(number=1), message(number=2))
    assert running.extended == [(["message-1", "message-2"], LEASE + 3 * SECOND)]
