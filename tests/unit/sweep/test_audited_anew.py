"""Items that become callable again when the audits of their minutes are over: a later audit looks after them."""

from dataclasses import replace

import pytest

from postdate.domain import instants, transitions, verdicts
from postdate.domain.due import Due, Via
from postdate.domain.sweeping import Stage
from postdate.domain.switch import turned
from postdate.domain.task import State
from postdate.domain.transitions import Transition
from postdate.stores.tasks import Written
from tests.unit.doubles import LEASE, MINUTE, PLAN, SECOND, START, a_payment, in_state
from tests.unit.run_tasks.plans import a_definition, run_at_start

HOUR = 60 * MINUTE


def dead_and_audited(sweeping):
    """A dead task, hours after its minute: that minute's audit has ended."""
    dead = in_state(State.DEAD)
    sweeping.stores(dead)
    sweeping.ticks(until=START + 2 * HOUR, every=5 * MINUTE)
    assert sweeping.passes.stages(dead.home.minute) == [Stage.AUDIT, Stage.AUDIT]
    assert sweeping.queue.take() == []
    return dead


def redriven(sweeping, dead):
    verdict = verdicts.claim(
        dead,
        Due.of(dead),
        now=sweeping.clock.now(),
        lease=LEASE,
        holder="worker-1",
        repeated=False,
        why="dead",
    )
    assert isinstance(verdict, Transition)
    return verdict


def commit(sweeping, change):
    assert sweeping.tasks.commit([change]) == [Written.DONE]
    return change.after


def calls_within(sweeping, time):
    sweeping.ticks(until=sweeping.clock.now() + time, every=5 * MINUTE)
    return [(packet.via, due.id) for packet, _ in sweeping.queue.take() for due in packet.dues]


def test_a_redriven_task_whose_worker_and_call_are_lost_is_called_again(sweeping):
    task = commit(sweeping, redriven(sweeping, dead_and_audited(sweeping)))
    assert set(calls_within(sweeping, 2 * HOUR)) == {(Via.AUDIT, task.id)}


@pytest.mark.parametrize("until", [5 * SECOND, 14 * MINUTE])
def test_a_redriven_task_that_was_postponed_and_whose_call_is_lost_is_called_again(sweeping, until):
    claim, now = redriven(sweeping, dead_and_audited(sweeping)), sweeping.clock.now()
    waiting = transitions.postpone(claim, now=now, until=now + until, why="its key is full", placed=False)
    task = commit(sweeping, waiting)
    assert (Via.AUDIT, task.id) in calls_within(sweeping, 2 * HOUR)


def test_a_redriven_task_is_called_by_no_pass_before_the_audit(sweeping):
    commit(sweeping, redriven(sweeping, dead_and_audited(sweeping)))
    assert calls_within(sweeping, HOUR - 5 * MINUTE) == []


def test_a_redriven_task_that_ends_is_left_alone(sweeping):
    running = commit(sweeping, redriven(sweeping, dead_and_audited(sweeping)))
    commit(sweeping, transitions.succeed(running, now=sweeping.clock.now(), why="delivered"))
    now = sweeping.clock.now()
    assert calls_within(sweeping, 2 * HOUR) == []
    assert sweeping.passes.stages(instants.minute_of(now)) == [Stage.AUDIT, Stage.AUDIT]


def test_a_run_that_is_caught_up_after_the_audits_of_its_minute_is_called_again(sweeping):
    sweeping.ticks(until=START + 2 * HOUR, every=5 * MINUTE)
    run = replace(run_at_start(a_definition()), moved_at=sweeping.clock.now())
    sweeping.stores(run)
    assert set(calls_within(sweeping, 2 * HOUR)) == {(Via.AUDIT, run.id)}


def test_a_run_that_is_noted_as_missed_needs_no_audit(sweeping):
    sweeping.ticks(until=START + 2 * HOUR, every=5 * MINUTE)
    missed = in_state(State.MISSED, replace(run_at_start(a_definition()), moved_at=sweeping.clock.now()))
    sweeping.stores(missed)
    slot = PLAN.slot(sweeping.clock.now(), b"x" * 10)
    slots = [replace(slot, shard=shard) for shard in range(4)]
    assert [entry for slot in slots for entry in sweeping.tasks.due_in(slot)] == []


@pytest.mark.parametrize("name", ["settlement", "tenant:demo"])
def test_an_audit_sends_no_second_call_for_a_stopped_payment_and_looks_again_when_it_goes_on(sweeping, name):
    payment = a_payment(due_at=START + MINUTE)
    sweeping.tasks.others.append(payment)
    turn(sweeping, name, on=False)
    sweeping.ticks(until=START + 3 * HOUR, every=5 * MINUTE)
    calls = [packet.via for packet, _ in sweeping.payments_queue.take()]
    assert Via.AUDIT not in calls
    turn(sweeping, name, on=True)
    sweeping.ticks(until=sweeping.clock.now() + 2 * HOUR, every=5 * MINUTE)
    assert {packet.via for packet, _ in sweeping.payments_queue.take()} == {Via.AUDIT}


def turn(sweeping, name, *, on):
    before = sweeping.switches.get(name)
    after = turned(before, on=on, now=sweeping.clock.now(), by="key:1", why="test")
    assert sweeping.switches.change(before, after)
