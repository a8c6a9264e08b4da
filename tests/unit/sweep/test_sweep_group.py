from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postdate.domain import instants, task_requests, transitions
from postdate.domain.due import Due, Via
from postdate.domain.errors import Unavailable
from postdate.domain.slots import ShardPlan
from postdate.domain.sweeping import Groups, Stage, Sweep
from postdate.domain.task import State
from postdate.domain.transitions import Transition
from postdate.stores.tasks import Written
from tests.unit.doubles import MINUTE, SECOND, START, a_task, claimed, in_state
from tests.unit.run_tasks.plans import a_definition, run_at_start

SLOT_MINUTE = instants.minute_of(START)
AHEAD = START - 2 * MINUTE
CLOSING = START + 2 * MINUTE
STATES = (State.PENDING, State.SUCCEEDED, State.CANCELLED)
AUDIT = START + 61 * MINUTE


def tasks(numbers, **fields):
    return [a_task(number, **fields) for number in numbers]


@given(shards=st.integers(1, 128), size=st.integers(1, 32))
def test_every_shard_of_a_minute_is_in_exactly_one_group(shards, size):
    groups = Groups(shards=ShardPlan.parse(f"0={shards}"), size=size)
    slots = [slot for group in range(groups.count(SLOT_MINUTE)) for slot in groups.slots(SLOT_MINUTE, group)]
    assert [slot.shard for slot in slots] == list(range(shards))
    assert {slot.minute for slot in slots} == {SLOT_MINUTE}


def test_the_open_pass_sends_each_task_of_the_minute_once_to_arrive_a_second_early(sweeping):
    waiting = tasks(range(60))
    sweeping.stores(*waiting, a_task(100, due_at=START + MINUTE), a_task(101, due_at=START - MINUTE))
    assert sweeping.sweep(SLOT_MINUTE, Stage.OPEN, at=AHEAD) == 60
    assert sorted(sweeping.queue.ids) == sorted(task.id for task in waiting)
    for packet, delay in sweeping.queue.sent:
        assert (packet.via, delay) == (Via.SWEEP, 0 * SECOND)
    assert sweeping.passes.stages(SLOT_MINUTE) == [Stage.OPEN, Stage.OPEN]


def test_the_open_pass_sends_what_is_due_later_with_a_delay(sweeping):
    sweeping.clock.move(-2 * MINUTE)
    sweeping.stores(a_task())
    sweeping.sweep(SLOT_MINUTE, Stage.OPEN)
    assert [delay for _, delay in sweeping.queue.sent] == [119 * SECOND]


def test_the_checkpoint_moves_only_after_all_sends_succeeded(sweeping):
    sweeping.stores(a_task())
    group = a_task().home.shard // 2
    sweep = Sweep(minute=SLOT_MINUTE, group=group, stage=Stage.OPEN)
    sweeping.queue.refuses = 1
    with pytest.raises(Unavailable):
        sweeping.sweeper.sweep(sweep)
    assert sweeping.passes.get(SLOT_MINUTE, group) is None
    assert sweeping.sweeper.sweep(sweep).sent == 1
    assert sweeping.passes.get(SLOT_MINUTE, group).stage is Stage.OPEN


def test_a_sweeper_that_dies_before_its_note_repeats_the_pass(sweeping):
    sweeping.stores(a_task())
    group = a_task().home.shard // 2
    sweeping.passes.refuses = lambda progress: progress.group == group
    with pytest.raises(Unavailable):
        sweeping.sweep(SLOT_MINUTE, Stage.OPEN)
    sweeping.passes.refuses = lambda progress: False
    sweeping.sweep(SLOT_MINUTE, Stage.OPEN)
    assert sweeping.queue.ids == [a_task().id] * 2


def test_a_pass_that_was_made_is_not_made_again(sweeping):
    sweeping.stores(a_task())
    assert sweeping.sweep(SLOT_MINUTE, Stage.OPEN) == 1
    assert sweeping.sweep(SLOT_MINUTE, Stage.OPEN) == 0
    assert sweeping.sweep(SLOT_MINUTE, Stage.CLOSE, at=CLOSING) == 0
    assert sweeping.sweep(SLOT_MINUTE, Stage.OPEN) == 0
    assert sweeping.passes.stages(SLOT_MINUTE) == [Stage.CLOSE, Stage.CLOSE]


def test_two_sweepers_at_once_send_twice_at_worst_and_leave_one_note(sweeping):
    sweeping.stores(*tasks(range(8)))
    sweeping.queue.before.append(lambda: sweeping.sweep(SLOT_MINUTE, Stage.OPEN))
    sweeping.sweep(SLOT_MINUTE, Stage.OPEN)
    sent = sweeping.queue.ids
    assert set(sent) == {task.id for task in tasks(range(8))}
    assert max(sent.count(id) for id in sent) == 2
    assert sweeping.passes.stages(SLOT_MINUTE) == [Stage.OPEN, Stage.OPEN]


def test_the_closing_pass_sends_only_what_was_written_late_and_waits(sweeping):
    opened_at = AHEAD
    late = {"due_at": START + 30 * SECOND, "now": opened_at - 60 * SECOND}
    lost, started, over = (
        a_task(1, **late),
        claimed(a_task(2, **late)),
        in_state(State.CANCELLED, a_task(3, **late)),
    )
    early = a_task(4, due_at=START + 30 * SECOND, now=opened_at - 61 * SECOND)
    sweeping.clock.move(-2 * MINUTE)
    sweeping.sweep(SLOT_MINUTE, Stage.OPEN)
    sweeping.stores(lost, started, over, early)
    assert sweeping.sweep(SLOT_MINUTE, Stage.CLOSE, at=CLOSING) == 1
    ((packet, delay),) = sweeping.queue.sent
    assert (packet.via, packet.dues, delay) == (Via.CLOSING, (Due.of(lost),), 0 * SECOND)


def test_every_later_pass_remembers_when_the_minute_was_opened(sweeping):
    sweeping.sweep(SLOT_MINUTE, Stage.OPEN)
    sweeping.sweep(SLOT_MINUTE, Stage.CLOSE, at=CLOSING)
    sweeping.sweep(SLOT_MINUTE, Stage.AUDIT, at=AUDIT)
    assert {progress.opened_at for progress in sweeping.passes.recorded} == {START}


def moved(sweeping, task, to):
    """The task moved to another minute, stored, and as it is then."""
    change = task_requests.edit(task, now=task.created_at, due_at=to, why="changed run_at")
    sweeping.stores(task)
    assert sweeping.tasks.commit([change]) == [Written.DONE]
    return change.after


def test_a_task_that_was_moved_away_is_skipped_at_home_and_found_by_its_pointer(sweeping):
    task = moved(sweeping, a_task(), START + 5 * MINUTE)
    assert sweeping.sweep(SLOT_MINUTE, Stage.OPEN) == 0
    assert sweeping.sweep(SLOT_MINUTE + 5, Stage.OPEN, at=START + 3 * MINUTE) == 1
    assert [packet.dues for packet in sweeping.queue.packets] == [(Due.of(task),)]


def test_a_move_made_after_the_open_pass_is_repaired_by_the_closing_pass_over_the_new_minute(sweeping):
    task = a_task(due_at=START + 30 * MINUTE, now=START - 30 * MINUTE)
    sweeping.stores(task)
    sweeping.sweep(SLOT_MINUTE, Stage.OPEN)
    change = task_requests.edit(task, now=START, due_at=START + 20 * SECOND, why="changed run_at")
    sweeping.tasks.commit([change])
    assert sweeping.sweep(SLOT_MINUTE, Stage.CLOSE, at=CLOSING) == 1
    assert [packet.dues for packet in sweeping.queue.packets] == [(Due.of(change.after),)]


def test_the_audit_finds_what_was_lost_and_nothing_else(sweeping):
    lost, worker_died = a_task(1), claimed(a_task(2))
    held = replace(claimed(a_task(3)), lease_until=AUDIT)
    over = [in_state(state, a_task(9 + place)) for place, state in enumerate(State) if not state.waits]
    over = [task for task in over if task.state is not State.RUNNING]
    sweeping.stores(lost, worker_died, held, *over)
    assert sweeping.sweep(SLOT_MINUTE, Stage.AUDIT, at=AUDIT) == 2
    assert {packet.via for packet in sweeping.queue.packets} == {Via.AUDIT}
    assert sorted(sweeping.queue.ids) == sorted([lost.id, worker_died.id])


def test_an_audit_is_over_only_when_all_that_is_called_from_its_minute_has_ended(sweeping):
    group, task = a_task().home.shard // 2, a_task()
    sweeping.stores(task)
    sweeping.sweep(SLOT_MINUTE, Stage.AUDIT, at=AUDIT)
    looked = sweeping.passes.get(SLOT_MINUTE, group)
    assert (looked.stage, looked.looked_at) == (Stage.CLOSE, AUDIT)
    assert sweeping.passes.get(SLOT_MINUTE, 1 - group).stage is Stage.AUDIT
    sweeping.tasks.commit([Transition(before=task, after=in_state(State.SUCCEEDED, task))])
    assert sweeping.sweep(SLOT_MINUTE, Stage.AUDIT, at=AUDIT + 10 * MINUTE) == 0
    assert sweeping.passes.get(SLOT_MINUTE, group).stage is Stage.AUDIT


def test_a_task_that_was_moved_far_away_is_left_to_the_audit_of_its_new_minute(sweeping):
    moved(sweeping, a_task(), AUDIT + 16 * MINUTE)
    sweeping.sweep(SLOT_MINUTE, Stage.AUDIT, at=AUDIT)
    assert sweeping.passes.stages(SLOT_MINUTE) == [Stage.AUDIT, Stage.AUDIT]


def test_the_audit_asks_the_task_itself_behind_a_pointer(sweeping):
    to = START + 5 * MINUTE
    lost = moved(sweeping, a_task(1), to)
    ended = moved(sweeping, a_task(2), to)
    sweeping.tasks.commit([task_requests.cancel(ended, now=START)])
    assert sweeping.sweep(SLOT_MINUTE + 5, Stage.AUDIT, at=AUDIT + 5 * MINUTE) == 1
    assert [packet.dues for packet in sweeping.queue.packets] == [(Due.of(lost),)]


def test_the_audit_of_its_home_leaves_a_task_alone_that_was_moved_to_later(sweeping):
    moved(sweeping, a_task(), AUDIT + 5 * MINUTE)
    assert sweeping.sweep(SLOT_MINUTE, Stage.AUDIT, at=AUDIT) == 0


def test_a_retry_far_ahead_is_found_by_its_pointer_in_the_sweep_of_its_minute(sweeping):
    running = claimed(a_task())
    failure = transitions.Failure(why="http 503", retry_after_seconds=1800)
    policy = replace(running.retry, max_seconds=3600)
    running = replace(running, retry=policy)
    sweeping.stores(running)
    change = transitions.fail(running, now=START, failure=failure, draw=0.0)
    sweeping.tasks.commit([change])
    assert sweeping.sweep(SLOT_MINUTE + 30, Stage.OPEN, at=START + 28 * MINUTE) == 1
    assert [packet.dues for packet in sweeping.queue.packets] == [(Due.of(change.after),)]


def test_the_closing_pass_tallies_how_the_minutes_items_fared(sweeping):
    sweeping.stores(*(in_state(state, a_task(number)) for number, state in enumerate(STATES)))
    sweeping.sweep(SLOT_MINUTE, Stage.OPEN, at=AHEAD)
    assert sweeping.tallies.between(SLOT_MINUTE, SLOT_MINUTE) == {}
    sweeping.sweep(SLOT_MINUTE, Stage.CLOSE, at=CLOSING)
    tally = sweeping.tallies.between(SLOT_MINUTE, SLOT_MINUTE, tenant=a_task().tenant)[SLOT_MINUTE]["tasks"]
    assert (tally.due, tally.done, sum(tally.lateness.values())) == (2, 1, 1)


def test_a_task_that_was_moved_is_tallied_in_its_new_minute_and_not_in_its_old_one(sweeping):
    task = a_task()
    sweeping.stores(task)
    moved = task_requests.edit(task, now=AHEAD, due_at=START + 10 * MINUTE, why="changed run_at")
    assert sweeping.tasks.commit([moved]) == [Written.DONE]
    for minute in (SLOT_MINUTE, SLOT_MINUTE + 10):
        sweeping.sweep(minute, Stage.CLOSE, at=START + (minute - SLOT_MINUTE + 2) * MINUTE)
    found = sweeping.tallies.between(SLOT_MINUTE, SLOT_MINUTE + 10)
    assert {minute: kinds["tasks"].due for minute, kinds in found.items()} == {SLOT_MINUTE + 10: 1}


def test_a_tally_that_cannot_be_written_holds_no_pass_up(sweeping):
    sweeping.stores(a_task())
    sweeping.tallies.refuses = True
    sweeping.sweep(SLOT_MINUTE, Stage.CLOSE, at=CLOSING)
    assert sweeping.tallies.between(SLOT_MINUTE, SLOT_MINUTE) == {}
    assert sweeping.passes.stages(SLOT_MINUTE) == [Stage.CLOSE, Stage.CLOSE]


def ends(sweeping, task):
    assert sweeping.tasks.commit([task_requests.cancel(task, now=sweeping.clock.now())]) == [Written.DONE]


def waiting(sweeping):
    return sum(sweeping.passes.get(SLOT_MINUTE, group).waiting for group in range(2))


def counted_again(sweeping, after):
    """The ticks' passes over the minute until then, closed ones that only count."""
    before = len(sweeping.passes.recorded)
    sweeping.ticks(until=sweeping.clock.now() + after, every=MINUTE)
    found = sweeping.passes.recorded[before:]
    return [each for each in found if each.minute == SLOT_MINUTE and each.stage is Stage.CLOSE]


def test_the_note_of_a_closed_minute_has_the_items_that_wait_for_their_first_attempt(sweeping):
    put_off = transitions.wait(a_task(4), now=START, until=START + 30 * MINUTE, why="no place").after
    moved_here = task_requests.edit(
        a_task(5, due_at=START + 40 * MINUTE), now=AHEAD, due_at=START, why="changed run_at"
    )
    sweeping.stores(
        a_task(1), claimed(a_task(2)), in_state(State.SUCCEEDED, a_task(3)), put_off, moved_here.before
    )
    assert sweeping.tasks.commit([moved_here]) == [Written.DONE]
    sweeping.sweep(SLOT_MINUTE, Stage.OPEN)
    sweeping.sweep(SLOT_MINUTE, Stage.CLOSE, at=CLOSING)
    assert waiting(sweeping) == 2


def test_the_note_of_a_closed_minute_has_the_runs_that_wait(sweeping):
    """The list of PENDING runs reads the minutes with such a note."""
    sweeping.stores(run_at_start(a_definition()))
    sweeping.sweep(SLOT_MINUTE, Stage.OPEN)
    sweeping.sweep(SLOT_MINUTE, Stage.CLOSE, at=CLOSING)
    assert waiting(sweeping) == 1


def test_a_closed_minute_is_counted_again_until_nothing_waits_and_no_call_is_sent_for_that(sweeping):
    task = a_task(1)
    sweeping.stores(task)
    sweeping.sweep(SLOT_MINUTE, Stage.OPEN)
    sweeping.sweep(SLOT_MINUTE, Stage.CLOSE, at=CLOSING)
    sent = len(sweeping.queue.ids)
    again = counted_again(sweeping, 11 * MINUTE)
    assert [each.waiting for each in again] == [1, 1]
    assert waiting(sweeping) == 1
    ends(sweeping, task)
    assert [each.waiting for each in counted_again(sweeping, 6 * MINUTE)] == [0]
    assert counted_again(sweeping, 20 * MINUTE) == []
    assert len(sweeping.queue.ids) == sent


def test_the_audit_of_a_minute_that_was_counted_again_is_not_later_than_others_and_notes_what_waits(sweeping):
    sweeping.stores(a_task(1))
    sweeping.sweep(SLOT_MINUTE, Stage.OPEN)
    sweeping.sweep(SLOT_MINUTE, Stage.CLOSE, at=CLOSING)
    sweeping.ticks(until=AUDIT, every=MINUTE)
    assert [packet.via for packet, _ in sweeping.queue.sent][-1] is Via.AUDIT
    group = a_task(1).home.shard // 2
    done = sweeping.passes.get(SLOT_MINUTE, group)
    assert (done.stage, done.waiting, done.looked_at) == (Stage.CLOSE, 1, sweeping.clock.now())
    assert counted_again(sweeping, 9 * MINUTE) == []
    ends(sweeping, a_task(1))
    sweeping.ticks(until=sweeping.clock.now() + 2 * MINUTE, every=MINUTE)
    assert sweeping.passes.stages(SLOT_MINUTE) == [Stage.AUDIT, Stage.AUDIT]


def test_a_minute_that_is_closed_when_its_audit_is_due_is_audited_at_once(sweeping):
    sweeping.stores(a_task(1))
    sweeping.sweep(SLOT_MINUTE, Stage.OPEN)
    sweeping.sweep(SLOT_MINUTE, Stage.CLOSE, at=AUDIT)
    assert waiting(sweeping) == 1
    sweeping.ticks(until=AUDIT + MINUTE, every=MINUTE)
    assert Via.AUDIT in [packet.via for packet, _ in sweeping.queue.sent]
