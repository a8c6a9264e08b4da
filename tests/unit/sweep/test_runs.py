"""Runs of recurring tasks are swept as tasks are."""

from dataclasses import replace

import pytest

from postdate.domain import instants, transitions
from postdate.domain.due import Due, Via
from postdate.domain.sweeping import Stage
from postdate.domain.task import State
from postdate.stores.tasks import Written
from tests.unit.doubles import MINUTE, SECOND, START, in_state
from tests.unit.run_tasks.plans import a_definition, after, run_at_start

SLOT_MINUTE = instants.minute_of(START)
AHEAD = START - 2 * MINUTE
CLOSING = START + 2 * MINUTE
AUDIT = START + 61 * MINUTE


def a_run(number=1):
    return run_at_start(a_definition(number))


def test_the_open_pass_sends_runs_to_the_queue_of_tasks(sweeping):
    run = a_run()
    sweeping.stores(run)
    assert sweeping.sweep(SLOT_MINUTE, Stage.OPEN, at=AHEAD) == 1
    assert [packet.dues for packet in sweeping.queue.packets] == [(Due.of(run),)]
    assert sweeping.payments_queue.packets == []


def test_the_closing_pass_sends_a_run_whose_writer_died_before_its_call(sweeping):
    sweeping.clock.move(AHEAD - START)
    sweeping.sweep(SLOT_MINUTE, Stage.OPEN)
    sweeping.stores(replace(a_run(), created_at=AHEAD, moved_at=AHEAD))
    assert sweeping.sweep(SLOT_MINUTE, Stage.CLOSE, at=CLOSING) == 1
    assert [packet.via for packet in sweeping.queue.packets] == [Via.CLOSING]


@pytest.mark.parametrize("state", [State.MISSED, State.SKIPPED, State.EXPIRED, State.CANCELLED])
@pytest.mark.parametrize(("stage", "at"), [(Stage.OPEN, AHEAD), (Stage.CLOSE, CLOSING), (Stage.AUDIT, AUDIT)])
def test_a_run_that_was_not_to_begin_rests(sweeping, state, stage, at):
    run = in_state(state, a_run())
    sweeping.stores(run)
    assert sweeping.sweep(SLOT_MINUTE, stage, at=at) == 0
    recorded = {(progress.minute, progress.stage) for progress in sweeping.passes.recorded}
    assert recorded == {(SLOT_MINUTE, stage)}


def test_an_audit_finds_a_run_in_nobodys_hands_until_it_has_ended(sweeping):
    run = a_run()
    sweeping.stores(run)
    assert sweeping.sweep(SLOT_MINUTE, Stage.AUDIT, at=AUDIT) == 1
    assert [packet.dues for packet in sweeping.queue.packets] == [(Due.of(run),)]
    assert Stage.CLOSE in sweeping.passes.stages(SLOT_MINUTE)


def test_an_audit_finds_a_run_that_waits_for_the_one_before_it_and_whose_call_got_lost(sweeping):
    """The run is due in another minute than its home, and has no pointer there."""
    run = after(a_run(), a_definition())
    waiting = transitions.wait(run, now=run.due_at, until=run.due_at + 65 * SECOND, why="waits")
    sweeping.stores(run)
    assert sweeping.tasks.commit([waiting]) == [Written.DONE]
    minute = instants.minute_of(run.due_at)
    assert sweeping.sweep(minute, Stage.OPEN, at=run.due_at - MINUTE) == 0
    assert sweeping.sweep(minute, Stage.AUDIT, at=run.due_at + 61 * MINUTE) == 1
    assert [packet.dues for packet in sweeping.queue.packets] == [(Due.of(waiting.after),)]
