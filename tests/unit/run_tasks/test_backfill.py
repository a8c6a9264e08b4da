"""Steps of a backfill, each a task that writes runs and then the step after it."""

from dataclasses import replace
from datetime import datetime, timedelta

import pytest

from postdate.domain import definition as definitions
from postdate.domain.backfill import BackfillStep, planned, progress, step_id, task_of
from postdate.domain.cron import Cron
from postdate.domain.definition import Definition, Reached
from postdate.domain.due import Due
from postdate.domain.schedule import Schedule
from postdate.domain.slots import ShardPlan, item_id, unique_part
from postdate.domain.task import OPERATION_KIND, State, Task
from tests.unit.doubles import MINUTE, PLAN, SECOND, START, in_state, message, unique
from tests.unit.run_tasks.conftest import Running
from tests.unit.run_tasks.plans import RUNS, a_definition

LAST = START - MINUTE


def asked(definition: Definition, *, runs: int, each: int = 2, at: datetime = START) -> BackfillStep:
    """The first step over so many minutes."""
    return BackfillStep(
        operation=item_id(OPERATION_KIND, PLAN.slot(at, unique(7)), unique(7)),
        schedule=definition.schedule,
        first=LAST - (runs - 1) * MINUTE,
        last=LAST,
        total=runs,
        each=each,
    )


def first_step(running: Running, definition: Definition, **fields: int) -> Task:
    running.definitions.add(definition)
    task = task_of(asked(definition, **fields), definition, shards=PLAN, now=running.clock.now())
    running.stores(task)
    return task


def backfilled(running: Running, definition: Definition) -> list[Task]:
    ids = running.tasks.runs_listed("demo", definition.id, after="", limit=1000)
    return [running.tasks.get_many(ids)[id] for id in ids]


def step(running: Running, first: Task, number: int) -> Task | None:
    return running.tasks.get(step_id(first.id, number, PLAN))


def calls_of(running: Running, task: Task) -> int:
    return running.queue.ids.count(task.id)


def test_a_step_writes_and_calls_its_runs_and_then_the_step_after_it(running: Running) -> None:
    definition = a_definition()
    first = first_step(running, definition, runs=5)
    running.run(message(first))
    runs = backfilled(running, definition)
    assert [run.planned_at for run in runs] == [LAST - 4 * MINUTE, LAST - 3 * MINUTE]
    following = step(running, first, 1)
    assert following is not None
    assert running.queue.ids == [*(run.id for run in runs), following.id]
    assert running.stored(first).state is State.SUCCEEDED
    assert following.state is State.PENDING


def test_the_steps_make_every_run_once_and_then_there_is_no_other(running: Running) -> None:
    definition = a_definition()
    first = first_step(running, definition, runs=5)
    for number in range(3):
        task = step(running, first, number)
        assert task is not None
        running.run(message(task, number=number))
    assert step(running, first, 3) is None
    runs = backfilled(running, definition)
    assert [run.planned_at for run in runs] == [LAST - each * MINUTE for each in (4, 3, 2, 1, 0)]
    assert {(run.due_at, run.state, run.recurs.number) for run in runs if run.recurs} == {
        (START, State.PENDING, 0)
    }


@pytest.mark.parametrize("dies_before", range(1, 8))
def test_a_worker_that_dies_anywhere_leaves_a_step_that_does_the_rest(
    running: Running, dies_before: int
) -> None:
    definition = a_definition()
    first = first_step(running, definition, runs=4)
    happened = 0

    def dies() -> None:
        nonlocal happened
        happened += 1
        if happened == dies_before:
            raise KeyboardInterrupt

    for happens in (running.tasks.before["add"], running.tasks.before["get_many"], running.queue.before):
        happens.extend([dies] * 9)
    try:
        running.run(message(first))
    except KeyboardInterrupt:
        running.clock.move(timedelta(seconds=41))
    for happens in (running.tasks.before["add"], running.tasks.before["get_many"], running.queue.before):
        happens.clear()
    running.queue.take()
    running.run(message(first, receives=2))
    following = step(running, first, 1)
    assert following is not None
    assert len(backfilled(running, definition)) == 2
    assert running.stored(first).state is State.SUCCEEDED
    running.run(message(following, number=2))
    assert len(backfilled(running, definition)) == 4


def test_a_run_whose_writer_died_before_its_call_is_called_by_the_next_worker(running: Running) -> None:
    definition = a_definition()
    first = first_step(running, definition, runs=2)
    running.queue.refuses = 9
    running.run(message(first))
    runs = backfilled(running, definition)
    assert (running.stored(first).state, running.stored(first).attempts) == (State.RETRYING, 0)
    running.queue.refuses = 0
    running.queue.take()
    running.clock.move(15 * SECOND)
    waiting = running.stored(first)
    running.run(message(Due.of(waiting), number=2))
    assert [calls_of(running, run) for run in runs] == [1, 1]


def test_a_table_that_fails_uses_up_no_attempt(running: Running) -> None:
    definition = a_definition()
    first = first_step(running, definition, runs=2)
    running.tasks.before["add"].append(lambda: running.tasks.unavailable.update({id_of_a_run(definition): 1}))
    running.run(message(first))
    assert (running.stored(first).state, running.stored(first).attempts) == (State.RETRYING, 0)


def id_of_a_run(definition: Definition) -> str:
    (occurrence, *_) = planned(definition.schedule, LAST - MINUTE, LAST)
    return RUNS.backfilled(definition, occurrence, now=START).id


def test_a_lost_call_of_a_step_is_found_by_the_sweep_of_the_minute_it_was_written_in(
    running: Running,
) -> None:
    definition = a_definition()
    first = first_step(running, definition, runs=3)
    running.clock.move(3 * MINUTE)
    running.run(message(first))
    following = step(running, first, 1)
    assert following is not None
    slot = PLAN.slot(running.clock.now(), unique_part(following.id))
    assert following.home.minute < slot.minute
    assert Due.of(following) in [entry.due for entry in running.tasks.due_in(slot)]


def test_no_step_begins_of_a_task_that_was_cancelled(running: Running) -> None:
    definition = a_definition()
    first = first_step(running, definition, runs=3)
    cancelled = definitions.cancel(definition, now=START)
    assert cancelled is not None
    running.definitions.change(definition, cancelled)
    running.run(message(first))
    assert running.stored(first).state is State.CANCELLED
    assert backfilled(running, definition) == []


def test_a_step_that_comes_too_long_after_the_end_of_its_task_dies_with_the_reason(running: Running) -> None:
    definition = a_definition()
    first = first_step(running, definition, runs=3)
    ended = definitions.finish(definition, now=START - timedelta(days=35), reached=Reached(runs=1))
    running.definitions.change(definition, ended)
    running.run(message(first))
    assert running.stored(first).state is State.DEAD
    assert "35 days" in str(running.stored(first).error)


def test_steps_follow_the_plan_as_it_was_when_they_were_asked_for(running: Running) -> None:
    definition = a_definition()
    first = first_step(running, definition, runs=4)
    running.run(message(first))
    other = replace(a_definition(cron="30 4 1 1 *").schedule, definition_id=definition.id)
    changed = definitions.change(definition, now=START, reached=Reached(runs=0), schedule=other)
    running.definitions.change(definition, changed)
    following = step(running, first, 1)
    assert following is not None
    running.run(message(following, number=2))
    assert len(backfilled(running, definition)) == 4


def test_a_step_that_cannot_finish_in_its_time_goes_on_where_it_was(running: Running) -> None:
    definition = a_definition()
    first = first_step(running, definition, runs=60, each=60)
    running.tasks.before["add"].extend([lambda: None, lambda: running.clock.move(61 * SECOND)])
    running.run(message(first))
    assert len(backfilled(running, definition)) == 10
    assert (running.stored(first).state, running.stored(first).attempts) == (State.RETRYING, 0)
    running.clock.move(15 * SECOND)
    running.run(message(Due.of(running.stored(first)), number=2))
    assert len(backfilled(running, definition)) == 60
    assert running.stored(first).state is State.SUCCEEDED


class TestTheOrder:
    def test_it_is_read_back_as_it_was_written(self) -> None:
        first = asked(a_definition(), runs=5)
        following = first.following(first.occurrences())
        assert following is not None
        for each in (first, following):
            assert BackfillStep.read(each.text) == each

    @pytest.mark.parametrize(("runs", "sizes"), [(0, [0]), (1, [1]), (2, [2]), (3, [2, 1]), (4, [2, 2])])
    def test_steps_divide_all_runs_among_them(self, runs: int, sizes: list[int]) -> None:
        at: BackfillStep | None = replace(asked(a_definition(), runs=max(runs, 1)), total=runs)
        if runs == 0:
            at = replace(asked(a_definition(cron="30 4 1 1 *"), runs=1), total=0)
        found = []
        while at is not None:
            assert at.runs == len(at.occurrences())
            found.append(at.runs)
            at = at.following(at.occurrences())
        assert found == sizes

    def test_two_occurrences_of_one_instant_on_the_edge_of_a_step_are_both_there(self) -> None:
        """A gap of the clocks brings 02:30 to the instant of 03:00."""
        definition = a_definition()
        plan = Schedule.checked(cron=Cron.parse("0,30 * * * *", "Europe/Berlin"), definition_id=definition.id)
        first = datetime.fromisoformat("2026-03-29T00:00:00+00:00")
        whole = list(planned(plan, first, first + timedelta(hours=3)))
        at: BackfillStep | None = replace(
            asked(definition, runs=1, each=1),
            schedule=plan,
            first=first,
            last=first + timedelta(hours=3),
            total=len(whole),
        )
        found = []
        while at is not None:
            found += at.occurrences()
            at = at.following(at.occurrences())
        assert found == whole

    def test_ids_of_steps_stay_when_the_number_of_shards_grows_later(self) -> None:
        operation = asked(a_definition(), runs=9).operation
        minute = START + MINUTE
        grown = ShardPlan.parse(f"0=4,{int(minute.timestamp()) // 60}=64")
        assert [step_id(operation, each, grown) for each in range(5)] == [
            step_id(operation, each, ShardPlan.parse("0=4")) for each in range(5)
        ]


class TestProgress:
    def test_it_counts_the_runs_of_steps_that_are_done(self) -> None:
        step, done = asked(a_definition(), runs=5), ended(State.SUCCEEDED)
        for steps, state, runs in (
            ([ended(State.PENDING), None, None], "RUNNING", 0),
            ([done, None, None], "RUNNING", 2),
            ([done, ended(State.RUNNING), None], "RUNNING", 2),
            ([done, done, ended(State.PENDING)], "RUNNING", 4),
            ([done, done, done], "DONE", 5),
            ([done, ended(State.DEAD), None], "STOPPED", 2),
            ([done, ended(State.CANCELLED), None], "ABORTED", 2),
            ([done, ended(State.EXPIRED), None], "ABORTED", 2),
        ):
            told = progress(step, steps)
            assert (told.state, told.done, told.total) == (state, runs, 5)
            assert (told.reason is not None) is (state in ("STOPPED", "ABORTED"))


def ended(state: State) -> Task:
    definition = a_definition()
    task = task_of(asked(definition, runs=5), definition, shards=PLAN, now=START)
    return in_state(state, task)
