from dataclasses import replace

import pytest

from functions.sweep.tick import INLINE_FOR, Ticked
from postdate.domain import instants
from postdate.domain.due import Via
from postdate.domain.errors import Unavailable
from postdate.domain.limits import PASSES_MAX
from postdate.domain.sweeping import Stage, Sweep
from postdate.domain.task import State
from postdate.domain.transitions import Transition
from tests.unit.doubles import MINUTE, SECOND, START, ManualClock, a_payment, a_task, in_state
from tests.unit.sweep.conftest import Sweeping

NOW_MINUTE = instants.minute_of(START)
ALWAYS = 99


def test_a_task_past_the_horizon_is_opened_once_two_minutes_before_its_minute(sweeping):
    task = a_task(due_at=START + 10 * MINUTE + 12 * SECOND, now=START)
    sweeping.stores(task)
    sweeping.ticks(until=START + 8 * MINUTE - 10 * SECOND)
    assert sweeping.queue.sent == []
    sweeping.clock.move(10 * SECOND)
    sweeping.ticker.tick()
    ((packet, delay),) = sweeping.queue.sent
    assert (packet.via, [due.id for due in packet.dues]) == (Via.SWEEP, [task.id])
    assert delay == 131 * SECOND
    sweeping.ticks(until=START + 15 * MINUTE)
    assert len(sweeping.queue.sent) == 1


def test_a_tick_tells_what_it_did(sweeping):
    sweeping.stores(a_task(1), a_task(2))
    ticked = sweeping.ticker.tick()
    minutes = range(NOW_MINUTE - 1, NOW_MINUTE + 3)
    assert ticked == Ticked(
        made=2 * len(minutes), failed=0, handed_out=0, sent=2, due=0, waiting=0, overdue=(), behind_minutes=1
    )
    assert sweeping.ticker.tick().made == 0


def test_the_first_tick_of_all_looks_back_an_hour():
    """Registration may have worked before the sweeper did."""
    sweeping = Sweeping(swept_before=False)
    lost = a_task(due_at=START - 59 * MINUTE, now=START - 59 * MINUTE)
    sweeping.stores(lost)
    sweeping.ticker.tick()
    assert sweeping.passes.stands_at == NOW_MINUTE - 60
    assert min(progress.minute for progress in sweeping.passes.recorded) == NOW_MINUTE - 59
    assert sweeping.queue.ids == [lost.id]


def test_after_an_hours_outage_every_missed_minute_is_made_up_for(sweeping):
    sweeping.ticker.tick()
    missed = [a_task(number, due_at=START + number * MINUTE, now=START) for number in range(3, 61)]
    sweeping.stores(*missed)
    sweeping.clock.move(60 * MINUTE)
    ticked = sweeping.ticker.tick()
    assert sorted(sweeping.queue.ids) == sorted(task.id for task in missed)
    assert ticked.behind_minutes == 57
    sweeping.ticker.tick()
    assert len(sweeping.queue.ids) == len(missed)
    assert sweeping.passes.stages(NOW_MINUTE + 30) == [Stage.CLOSE, Stage.CLOSE]


def test_after_an_outage_what_is_due_now_is_sent_first(sweeping):
    sweeping.ticker.tick()
    old, now = a_task(1, due_at=START + 5 * MINUTE), a_task(2, due_at=START + 60 * MINUTE)
    sweeping.stores(old, now)
    sweeping.clock.move(60 * MINUTE)
    sweeping.ticker.tick()
    assert sweeping.queue.ids == [now.id, old.id]


def test_the_watermark_rises_over_audited_minutes_only_and_without_a_gap(sweeping):
    sweeping.ticker.tick()
    sweeping.clock.move(62 * MINUTE)
    sweeping.ticks(until=START + 64 * MINUTE, every=MINUTE)
    audited = NOW_MINUTE + 64 - 61
    assert sweeping.passes.stands_at == audited
    assert sweeping.passes.stages(audited) == [Stage.AUDIT, Stage.AUDIT]
    assert sweeping.passes.stages(audited + 1) == [Stage.CLOSE, Stage.CLOSE]


def test_one_group_without_its_audit_holds_the_watermark(sweeping):
    sweeping.ticker.tick()
    first = NOW_MINUTE - 1
    sweeping.sweep(first, Stage.CLOSE, at=START + 2 * MINUTE)
    sweeping.clock.sleep_until(START + 60 * MINUTE)
    sweeping.sweeper.sweep(Sweep(minute=first, group=0, stage=Stage.AUDIT))
    sweeping.passes.refuses = lambda progress: progress.stage is Stage.AUDIT and progress.minute == first
    assert sweeping.ticker.tick().failed == 1
    sweeping.passes.refuses = lambda progress: False
    assert sweeping.passes.stands_at == first - 1
    sweeping.ticker.tick()
    assert sweeping.passes.stands_at == first


def refuse():
    raise Unavailable


def test_an_audit_names_what_only_it_found(sweeping):
    sweeping.ticker.tick()
    lost = a_task(due_at=START + MINUTE, now=START - 60 * MINUTE)
    sweeping.stores(lost)
    sweeping.clock.move(64 * MINUTE)
    ticks = sweeping.ticks(until=START + 66 * MINUTE, every=MINUTE)
    assert [ticked.overdue for ticked in ticks if ticked.overdue] == [(lost.id,)]
    assert [packet.via for packet in sweeping.queue.packets] == [Via.AUDIT]


def test_a_minute_whose_tasks_have_not_ended_is_audited_every_ten_minutes_and_holds_the_watermark(sweeping):
    stuck = a_task(due_at=START - 30 * SECOND)
    sweeping.stores(stuck)
    sweeping.ticker.tick()
    sweeping.queue.take()
    sweeping.clock.move(60 * MINUTE)
    ticks = sweeping.ticks(until=START + 85 * MINUTE, every=MINUTE)
    found = [place for place, ticked in enumerate(ticks) if ticked.overdue]
    assert found == [found[0], found[0] + 10, found[0] + 20]
    assert sweeping.passes.stands_at == NOW_MINUTE - 2

    done = in_state(State.SUCCEEDED, stuck)
    sweeping.tasks.commit([Transition(before=stuck, after=done)])
    sweeping.clock.move(10 * MINUTE)
    sweeping.ticker.tick()
    assert sweeping.passes.stages(NOW_MINUTE - 1) == [Stage.AUDIT, Stage.AUDIT]
    assert sweeping.passes.stands_at > NOW_MINUTE - 2


def test_a_queue_that_takes_nothing_leaves_the_minute_for_the_next_tick(sweeping):
    sweeping.stores(a_task())
    sweeping.queue.refuses = ALWAYS
    assert sweeping.ticker.tick().failed == 8
    sweeping.queue.refuses = 0
    assert sweeping.queue.ids == []
    assert (sweeping.ticker.tick().made, sweeping.queue.ids) == (8, [a_task().id])


def test_one_pass_that_fails_stops_no_other(sweeping):
    first, second = a_task(1, due_at=START - MINUTE), a_task(2)
    sweeping.stores(first, second)
    group = first.home.shard // 2
    sweeping.queue.before.extend([lambda: None] * group + [refuse])
    watermark = sweeping.passes.stands_at
    ticked = sweeping.ticker.tick()
    assert (ticked.made, ticked.failed, sweeping.queue.ids) == (7, 1, [second.id])
    assert sweeping.passes.get(first.home.minute, group) is None
    assert sweeping.passes.stands_at == watermark
    assert sweeping.ticker.tick().sent == 1
    assert sweeping.queue.ids == [second.id, first.id]


def test_passes_beyond_the_inline_time_are_handed_out_and_none_is_forgotten(sweeping):
    sweeping.ticker.tick()
    waiting = [a_task(number, due_at=START + (3 + number) * MINUTE) for number in range(20)]
    sweeping.stores(*waiting)
    sweeping.clock.move(30 * MINUTE)
    sweeping.queue.before.extend([lambda: sweeping.clock.move(SECOND)] * 5)
    ticked = sweeping.ticker.tick()
    (handed_out,) = sweeping.handed_out
    assert (ticked.made, ticked.handed_out) == (5, len(handed_out))
    made = [(progress.minute, progress.group) for progress in sweeping.passes.recorded[-5:]]
    assert not set(made) & {(sweep.minute, sweep.group) for sweep in handed_out if sweep.stage is Stage.OPEN}
    for sweep in handed_out:
        sweeping.sweeper.sweep(sweep)
    assert sorted(sweeping.queue.ids) == sorted(task.id for task in waiting)


def test_a_pass_that_was_handed_out_and_made_is_not_due_again(sweeping):
    sweeping.ticker.tick()
    sweeping.clock.move(5 * MINUTE)
    sweeping.queue.before.append(lambda: sweeping.clock.move(INLINE_FOR))
    sweeping.ticker.tick()
    for sweep in sweeping.handed_out[0]:
        sweeping.sweeper.sweep(sweep)
        sweeping.sweeper.sweep(sweep)
    left = sweeping.ticker.tick()
    assert {progress.stage for progress in sweeping.passes.recorded[-left.made :]} == {Stage.CLOSE}


def test_one_tick_takes_on_no_more_than_it_can_hand_out(sweeping):
    sweeping.ticker.tick()
    sweeping.clock.move(24 * 60 * MINUTE)
    sweeping.queue.before.append(lambda: sweeping.clock.move(INLINE_FOR))
    ticked = sweeping.ticker.tick()
    assert (ticked.made, ticked.handed_out) == (1, PASSES_MAX - 1)


def test_fewer_passes_a_tick_are_made_while_operators_want_fewer(sweeping):
    """The oldest minutes go first, and the next tick takes the rest."""
    sweeping.ticker.tick()
    sweeping.clock.move(60 * MINUTE)
    bounds = [50, PASSES_MAX]
    ticker = replace(sweeping.ticker, passes_max=lambda: bounds[0])
    first = ticker.tick()
    assert (first.made, first.behind_minutes > 0) == (50, True)
    bounds.pop(0)
    assert ticker.tick().made > 50
    assert ticker.tick().behind_minutes == 0


def test_two_ticks_at_once_lose_nothing_and_leave_the_same_notes(sweeping):
    waiting = [a_task(number, due_at=START + number * SECOND) for number in range(40)]
    sweeping.stores(*waiting)
    sweeping.queue.before.extend([lambda: None, lambda: sweeping.ticker.tick()])
    sweeping.ticker.tick()
    assert set(sweeping.queue.ids) == {task.id for task in waiting}
    assert {sweeping.passes.stages(NOW_MINUTE + offset)[0] for offset in range(-1, 3)} == {Stage.OPEN}


@pytest.mark.parametrize("ahead", [75 * MINUTE, 26 * 60 * MINUTE])
def test_a_sweeper_whose_clock_is_hours_ahead_loses_nothing(sweeping, ahead):
    """The sweeper goes over minutes that are still empty, and reports them."""
    sweeping.ticker.tick()
    right, fast = sweeping.clock, ManualClock(START + ahead)
    for user in (sweeping.ticker, sweeping.sweeper):
        object.__setattr__(user, "clock", fast)
    for _ in range(5):
        sweeping.ticker.tick()
    for user in (sweeping.ticker, sweeping.sweeper):
        object.__setattr__(user, "clock", right)
    task = a_task(due_at=START + 10 * MINUTE, now=START)
    sweeping.stores(task)
    sweeping.ticks(until=START + 12 * MINUTE, every=MINUTE)
    assert task.id in sweeping.queue.ids


def test_payments_are_called_whatever_the_queue_of_tasks_says(sweeping):
    task, payment = a_task(), a_payment(due_at=START)
    sweeping.stores(task)
    sweeping.tasks.others.append(payment)
    sweeping.queue.refuses = ALWAYS
    sweeping.ticker.tick()
    assert sweeping.payments_queue.ids == [payment.id]
    sweeping.queue.refuses = 0
    sweeping.ticker.tick()
    assert task.id in sweeping.queue.ids


def test_a_closing_pass_counts_what_was_due_and_what_did_not_begin(sweeping):
    """Expected against begun, from the slots themselves."""
    waiting = [a_task(number, due_at=START + number * SECOND) for number in (1, 2)]
    ended = replace(a_task(3, due_at=START), state=State.SUCCEEDED)
    sweeping.stores(*waiting, ended, a_task(9, due_at=START + 10 * MINUTE))
    opened = sweeping.ticker.tick()
    assert (opened.due, opened.waiting) == (0, 0)
    sweeping.clock.move(2 * MINUTE + SECOND)
    closed = sweeping.ticker.tick()
    assert (closed.due, closed.waiting) == (3, 2)
    sweeping.clock.move(10 * SECOND)
    again = sweeping.ticker.tick()
    assert (again.due, again.waiting) == (0, 0)
