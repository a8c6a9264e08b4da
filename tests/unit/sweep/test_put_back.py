"""A restored table under a watermark of later: after it was put back, everything that waits is called again."""

from copy import copy
from dataclasses import replace
from datetime import timedelta

import pytest

from functions.sweep.tick import OtherTable
from postdate.domain import instants, transitions, verdicts
from postdate.domain.due import Due
from postdate.domain.item import Phase
from postdate.domain.retry import RetryPolicy
from postdate.domain.sweeping import Stage, SweepProgress, Watermark
from postdate.domain.task import State
from postdate.domain.transitions import Failure, Transition
from postdate.recovery.watermark import NotNoted, Rewind
from tests.unit.doubles import LEASE, MINUTE, SECOND, START, a_task
from tests.unit.sweep.conftest import TABLES, Sweeping

NOW_MINUTE = instants.minute_of(START)
HOUR = 60 * MINUTE
RESTORED = frozenset({"items-restored", "payments"})
PATIENT = RetryPolicy(max_attempts=99, initial_seconds=300)


class Restored:
    """A sweeper beside a worker that ends every task it is called for, but for those that it fails, or never ends."""

    def __init__(self, *, fails: frozenset[str] = frozenset(), hangs: frozenset[str] = frozenset()) -> None:
        self.sweeping = Sweeping(shards_per_group=4)
        self.rewind = Rewind(passes=self.sweeping.passes, groups=self.sweeping.groups)
        self.fails, self.hangs = fails, hangs
        self.called: list[str] = []
        self._calls: list[Due] = []

    def lives(self, until, *, every=MINUTE):
        while self.sweeping.clock.now() < until:
            self.sweeping.ticker.tick()
            self._calls += [due for packet, _ in self.sweeping.queue.take() for due in packet.dues]
            self._calls = [due for due in self._calls if not self._carried_out(due)]
            self.sweeping.clock.move(every)

    def _carried_out(self, due):
        now, tasks = self.sweeping.clock.now(), self.sweeping.tasks
        if due.due_at > now:
            return False
        self.called.append(due.id)
        task = tasks.get(due.id)
        claim = verdicts.claim(task, due, now=now, lease=LEASE, holder="w", repeated=True, why="sweep")
        if not isinstance(claim, Transition):
            return True
        tasks.commit([claim])
        if claim.after.state is not State.RUNNING or task.id in self.hangs:
            return True
        if task.id in self.fails:
            failed = transitions.fail(claim.after, now=now, failure=Failure(why="no"), draw=0.0)
            tasks.commit([failed])
            self._calls += [] if failed.points else [Due.of(failed.after)]
        else:
            tasks.commit([transitions.succeed(claim.after, now=now, why="done")])
        return True

    def backup(self):
        tasks = self.sweeping.tasks
        return copy(tasks._tasks), {slot: copy(each) for slot, each in tasks._pointers.items()}

    def restores(self, backup):
        """Restores the tables; the messages in the queue are lost as well."""
        self.sweeping.tasks._tasks, self.sweeping.tasks._pointers = backup
        object.__setattr__(self.sweeping.ticker, "tables", RESTORED)
        self.sweeping.queue.take()
        self.called, self._calls = [], []

    def recovers(self, since):
        return self.rewind.put_back(self.rewind.stood_at(since), tables=RESTORED)

    @property
    def waiting(self):
        return {task.id for task in self.sweeping.tasks._tasks.values() if task.phase is not Phase.RESTS}


def spread(count, *, first=MINUTE, step=7 * MINUTE):
    return [a_task(number, due_at=START + first + number * step) for number in range(count)]


def test_tasks_that_wait_in_a_restored_table_are_called_once_the_watermark_is_put_back():
    world = Restored()
    world.sweeping.stores(*spread(20))
    world.lives(START + 90 * MINUTE)
    backup, since = world.backup(), START + 90 * MINUTE
    waiting = world.waiting
    world.lives(START + 4 * HOUR)
    assert world.waiting == set()
    world.restores(backup)
    assert world.waiting == waiting
    world.recovers(since)
    world.lives(START + 4 * HOUR + 10 * MINUTE)
    assert world.waiting == set()
    assert waiting <= set(world.called)


def test_without_it_nothing_of_it_is_ever_called():
    """Only that the sweeper refuses a table which the watermark is not about tells of the mistake."""
    world = Restored()
    world.sweeping.stores(*spread(20))
    world.lives(START + HOUR)
    backup = world.backup()
    world.lives(START + 5 * HOUR)
    world.restores(backup)
    with pytest.raises(OtherTable):
        world.lives(START + 6 * HOUR)
    object.__setattr__(world.sweeping.ticker, "tables", TABLES)
    world.lives(START + 6 * HOUR)
    assert world.called == []
    assert world.waiting


def test_a_run_that_was_on_for_hours_is_found_although_its_minute_was_long_ago():
    slow = a_task(due_at=START + MINUTE, retry=PATIENT)
    world = Restored(hangs=frozenset({slow.id}))
    world.sweeping.stores(slow)
    world.lives(START + 3 * HOUR)
    backup, since = world.backup(), START + 3 * HOUR
    world.hangs = frozenset()
    world.lives(START + 5 * HOUR)
    assert world.waiting == set()
    assert world.sweeping.passes.stands_at > slow.home.minute
    world.restores(backup)
    assert world.rewind.stood_at(since) < slow.home.minute
    world.recovers(since)
    world.lives(START + 6 * HOUR)
    assert slow.id in world.called
    assert world.waiting == set()


def test_a_tick_that_is_under_way_does_not_raise_the_watermark_again():
    world = Restored()
    world.lives(START + 3 * HOUR)
    (lost,) = [a_task(1, due_at=START + 10 * MINUTE)]
    due_now = a_task(2, due_at=world.sweeping.clock.now() + MINUTE)
    world.sweeping.stores(due_now)
    stood = world.sweeping.passes.stands_at

    def put_back():
        world.sweeping.stores(lost)
        world.rewind.put_back(NOW_MINUTE, tables=TABLES)

    world.sweeping.queue.before.append(put_back)
    world.sweeping.ticker.tick()
    assert world.sweeping.passes.stands_at == NOW_MINUTE < stood
    world.lives(START + 3 * HOUR + 10 * MINUTE)
    assert lost.id in world.called


def test_passes_that_were_handed_out_before_do_not_count():
    world = Restored()
    world.lives(START + 3 * HOUR)
    lost = a_task(1, due_at=START + 170 * MINUTE)
    sweeping = world.sweeping
    sweeping.clock.move(20 * MINUTE)
    sweeping.stores(a_task(2, due_at=START + 185 * MINUTE))
    sweeping.queue.before.append(lambda: sweeping.clock.move(6 * SECOND))
    sweeping.ticker.tick()
    (handed_out,) = sweeping.handed_out
    world.rewind.put_back(NOW_MINUTE, tables=TABLES)
    for stage in Stage:
        for sweep in handed_out:
            sweeping.sweeper.sweep(type(sweep)(minute=sweep.minute, group=sweep.group, stage=stage))
    sweeping.queue.take()
    sweeping.stores(lost)
    world.lives(START + 4 * HOUR)
    assert lost.id in world.called


def test_a_pass_that_could_not_be_made_again_holds_the_watermark():
    world = Restored()
    world.lives(START + 3 * HOUR)
    back = world.rewind.put_back(NOW_MINUTE, tables=TABLES)
    world.sweeping.queue.refuses = 10_000
    world.sweeping.ticker.tick()
    assert world.sweeping.passes.stands_at == back.minute


def test_a_sweeper_of_an_earlier_epoch_leaves_the_notes_of_a_later_one():
    world = Restored()
    world.rewind.put_back(NOW_MINUTE - 60, tables=TABLES)
    world.sweeping.ticker.tick()
    note = world.sweeping.passes.get(NOW_MINUTE, 0)
    assert (note.epoch, note.stage) == (1, Stage.OPEN)
    assert world.sweeping.sweep(NOW_MINUTE, Stage.CLOSE, at=START + 3 * MINUTE) == 0
    assert world.sweeping.passes.get(NOW_MINUTE, 0) == note


def test_a_watermark_that_stands_lower_already_stays_there():
    world = Restored()
    stood = world.sweeping.passes.stands_at
    assert world.rewind.put_back(stood + 30, tables=TABLES) == Watermark(minute=stood, epoch=1, tables=TABLES)


def test_a_watermark_that_was_put_back_twice_stands_at_the_lower_minute():
    world = Restored()
    world.rewind.put_back(NOW_MINUTE - 200, tables=RESTORED)
    assert world.rewind.put_back(NOW_MINUTE - 100, tables=RESTORED).minute == NOW_MINUTE - 200


def test_before_the_first_note_nobody_knows_where_it_stood():
    world = Restored()
    world.lives(START + 10 * MINUTE)
    with pytest.raises(NotNoted):
        world.rewind.stood_at(START - 3 * HOUR)


@pytest.mark.parametrize("missing", ["a group", "its end"])
def test_a_minute_that_was_not_audited_as_a_whole_is_made_again(missing):
    world = Restored()
    world.lives(START + 3 * HOUR)
    passes, minute = world.sweeping.passes, NOW_MINUTE + 20
    if missing == "a group":
        del passes._progress[minute, 0]
    else:
        passes._progress[minute, 0] = replace(passes.get(minute, 0), audited_at=None)
    assert world.rewind.stood_at(START + 3 * HOUR) == minute - 1


def test_an_audit_counts_only_if_it_was_over_well_before_the_restore():
    world = Restored()
    world.lives(START + 3 * HOUR)
    since = START + 2 * HOUR
    stood = world.rewind.stood_at(since)
    note = world.sweeping.passes.get(stood, 0)
    assert isinstance(note, SweepProgress)
    assert note.audited_at < since - timedelta(minutes=10) <= note.audited_at + 2 * MINUTE
