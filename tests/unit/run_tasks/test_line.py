"""Before a run begins, those before it are over. Those that never began are looked past, or ended first."""

from dataclasses import replace

import pytest

from postdate.domain import definition as definitions
from postdate.domain import transitions
from postdate.domain.catch_up import CatchUp
from postdate.domain.definition import Overlap, Reached
from postdate.domain.due import Due
from postdate.domain.following import QUEUE_MAX, QUEUE_POLL
from postdate.domain.line import LOOKED_AT_MAX
from postdate.domain.task import State
from postdate.domain.transitions import Transition
from postdate.stores.tasks import Written
from postdate.use_cases.planned_chain import PlannedChain
from tests.unit.doubles import LEASE, MINUTE, START, claimed, message
from tests.unit.run_tasks.plans import RUNS, a_definition, after
from tests.unit.run_tasks.test_chain import refuse, runs_of, started, states


def changed(running, definition, *not_over, runs=1):
    """The same task after its name was changed, and the run that begins its new chain, which is due now."""
    new = definitions.change(
        definition, now=START - MINUTE, reached=Reached(runs=runs, not_over=tuple(run.id for run in not_over))
    )
    running.definitions.add(new)
    run = RUNS.first(new, now=START - MINUTE)
    running.stores(run, *not_over)
    return run


@pytest.fixture
def definition():
    return a_definition()


@pytest.fixture
def earlier(definition):
    """The first run of the old plan."""
    return RUNS.first(definition, now=START - 2 * MINUTE)


def test_the_first_run_of_a_new_plan_is_skipped_while_one_of_the_old_is_on(running, definition, earlier):
    busy = claimed(earlier)
    run = changed(running, definition, busy)
    running.run(message(run))
    assert (started(running), running.stored(run).state) == ([], State.SKIPPED)


def test_a_run_of_the_old_plan_that_could_still_begin_is_ended_first(running, definition, earlier):
    run = changed(running, definition, earlier, runs=0)
    running.run(message(run))
    assert started(running) == [run.id]
    ended = running.stored(earlier)
    assert (ended.state, ended.history[-1].why) == (State.CANCELLED, "its task was changed since")


def test_a_run_of_the_old_plan_that_begins_meanwhile_is_seen(running, definition, earlier):
    run = changed(running, definition, earlier, runs=0)
    running.tasks.before["commit"].append(
        lambda: running.tasks.commit([Transition(before=earlier, after=claimed(earlier))])
    )
    running.run(message(run))
    assert (started(running), running.stored(run).state) == ([], State.SKIPPED)
    (following,) = [row for row in runs_of(running, definition) if row.state is State.PENDING]
    assert (following.recurs.before, following.recurs.number) == ((earlier.id,), 2)


def test_a_run_that_begins_after_one_of_the_old_plan_is_stored_with_the_number_behind_it(
    running, definition, earlier
):
    """The next search ends at this run, so only its row tells how many runs there were."""
    over = replace(claimed(earlier), state=State.SUCCEEDED)
    run = changed(running, definition, over, runs=0)
    running.run(message(run))
    stored = running.stored(run)
    assert (started(running), run.recurs.number, stored.recurs.number) == ([run.id], 1, 2)
    chain = PlannedChain(tasks=running.tasks, runs=RUNS)
    reached, _ = chain.reached(running.definitions.get(definition.id), now=START + MINUTE / 2)
    assert reached.runs == 2


def test_a_run_does_not_begin_while_one_before_it_cannot_be_ended(running, definition, earlier):
    run = changed(running, definition, earlier, runs=0)
    running.tasks.unavailable[earlier.id] = 99
    tally = running.run(message(run))
    assert (started(running), tally.deferred, running.stored(run)) == ([], 1, run)


def test_a_long_queue_of_the_old_plan_is_ended_in_parts(running, definition, earlier):
    """One search looks at some rows, and the next goes on behind them."""
    rows = [replace(claimed(earlier))]
    for place in range(3 * LOOKED_AT_MAX):
        wall = earlier.recurs.wall.replace(hour=1 + place // 60, minute=place % 60)
        id = f"{earlier.id[:-2]}{place:02}"
        recurs = replace(earlier.recurs, before=(rows[-1].id,), wall=wall)
        rows.append(replace(earlier, id=id, recurs=recurs))
    run = changed(running, definition, rows[-1], runs=1)
    running.stores(*rows[:-1])
    running.run(message(run))
    assert (started(running), running.stored(run).state) == ([], State.SKIPPED)
    assert {running.stored(row).state for row in rows[1:]} == {State.CANCELLED}


def test_a_run_that_was_passed_over_and_could_still_begin_is_ended_first(running):
    """A worker finds it too late, writes what follows, and dies before it writes what becomes of it."""
    definition = a_definition(cron="*/5 * * * *", catch_up=CatchUp.NONE)
    late = RUNS.first(definition, now=START - MINUTE)
    running.definitions.add(definition)
    running.stores(late)
    running.clock.move(2 * MINUTE)
    running.tasks.unavailable[late.id] = 99
    running.run(message(late))
    (*_, following) = runs_of(running, definition)
    assert (running.stored(late).state, following.recurs.passed_over) == (State.PENDING, late.id)
    running.tasks.unavailable.clear()
    running.clock.sleep_until(following.due_at)
    running.run(message(following))
    assert started(running) == [following.id]
    ended = running.stored(late)
    assert (ended.state, ended.history[-1].why) == (State.MISSED, "missed, and a later run took its place")


class TestQueues:
    def waiting(self, running, count=3):
        """A run that is on, and those that wait for it after they have asked once more."""
        definition = a_definition(overlap=Overlap.QUEUE)
        running.definitions.add(definition)
        first = RUNS.first(definition, now=START - MINUTE)
        running.stores(busy := claimed(first))
        running.stores(run := after(first, definition))
        waiting = []
        for _ in range(count):
            running.clock.sleep_until(run.planned_at)
            running.run(message(run))
            running.queue.take()
            waits = running.stored(run)
            running.clock.sleep_until(waits.due_at)
            running.run(message(Due.of(waits)))
            running.queue.take()
            waiting.append(running.stored(run))
            *_, run = runs_of(running, definition)
        return definition, busy, waiting

    def over(self, running, run):
        change = transitions.succeed(run, now=running.clock.now(), why="http 200")
        assert running.tasks.commit([change]) == [Written.DONE]

    def test_one_after_the_other_runs_and_wakes_the_next(self, running):
        _, busy, waiting = self.waiting(running)
        self.over(running, busy)
        for place, run in enumerate(waiting):
            running.run(message(Due.of(running.stored(run)), number=place))
            assert started(running) == [each.id for each in waiting[: place + 1]]
            woken = [
                due for _, due, _ in running.sent if due.id in {each.id for each in waiting[place + 1 :]}
            ]
            assert [due.id for due in woken] == [each.id for each in waiting[place + 1 : place + 2]]
            running.queue.take()
            running.clock.move(QUEUE_POLL)

    def test_a_run_does_not_begin_while_the_next_cannot_be_woken(self, running):
        _, busy, (head, second, _) = self.waiting(running)
        self.over(running, busy)
        running.tasks.unavailable[second.id] = 99
        running.run(message(Due.of(head)))
        assert started(running) == []
        running.tasks.unavailable.clear()
        running.queue.take()
        running.queue.before.extend([refuse] * 4)
        running.run(message(Due.of(head)))
        assert started(running) == []

    def test_the_first_of_them_asks_by_its_message_alone(self, running):
        _, _, (head, *_) = self.waiting(running)
        commits = []
        commit = running.tasks.commit
        running.tasks.commit = lambda changes: commits.extend(changes) or commit(changes)
        for number in range(24):
            running.run(message(Due.of(head), number=number, seen=True))
            running.clock.move(QUEUE_POLL)
        assert commits == []
        assert len(running.queue.sent) == 24

    def test_the_bound_is_kept_and_what_follows_goes_on(self, running):
        definition, _, _ = self.waiting(running, count=QUEUE_MAX + 3)
        found = states(running, definition)
        assert found[1 : QUEUE_MAX + 1] == [State.PENDING] * QUEUE_MAX
        assert found[QUEUE_MAX + 1 : -1] == [State.SKIPPED] * 3
        assert found[-1] is State.PENDING


def test_a_run_that_is_on_for_longer_than_its_lease_keeps_the_next_from_beginning(running):
    definition = a_definition()
    first = RUNS.first(definition, now=START - 2 * MINUTE)
    running.definitions.add(definition)
    running.stores(claimed(first), run := after(first, definition))
    running.clock.move(LEASE)
    running.run(message(run))
    assert running.stored(run).state is State.SKIPPED
