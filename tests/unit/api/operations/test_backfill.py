"""A backfill is asked for and told; the workers carry it out."""

from datetime import timedelta

import pytest

from postdate.domain import backfill as rules
from postdate.domain.backfill import State
from postdate.domain.due import Due
from postdate.domain.errors import (
    IdempotencyKeyReused,
    InvalidState,
    LimitExceeded,
    NotFound,
    Unavailable,
    ValidationFailed,
)
from postdate.domain.slots import unique_part
from postdate.domain.task import State as TaskState
from postdate.domain.transitions import Transition
from tests.unit.doubles import MINUTE, PLAN, SECOND, START, in_state

HOUR = timedelta(hours=1)
TEN = START - 5 * MINUTE


def ask(service, definition, *, first=TEN - 3 * HOUR, last=TEN, key=None):
    return service.backfills.ask(definition, first=first, last=last, key=key)


def step_of(service, asked, number=0):
    return service.tasks.get(rules.step_id(asked.id, number, PLAN))


def test_the_first_step_is_stored_and_called_and_no_run_is_written_yet(service):
    definition = service.planned()
    service.queue.take()
    asked = ask(service, definition)
    assert (asked.progress.state, asked.progress.done, asked.progress.total) == (State.RUNNING, 0, 4)
    assert service.queue.ids == [asked.id]
    assert [run for run in service.runs_of(definition) if run.recurs.number == 0] == []
    assert service.backfills.load("demo", asked.id) == asked


def test_a_lost_call_is_left_to_the_sweep_of_the_minute_that_it_was_asked_in(service):
    definition = service.planned()
    service.queue.refuses = 1
    asked = ask(service, definition)
    slot = PLAN.slot(START, unique_part(asked.id))
    assert Due.of(step_of(service, asked)) in [entry.due for entry in service.tasks.due_in(slot)]


def test_with_a_key_it_is_one_however_often_it_is_asked_for(service):
    definition = service.planned()
    first = ask(service, definition, key="k")
    service.clock.move(3 * MINUTE)
    again = ask(service, definition, key="k")
    assert (first.replayed, again.replayed) == (False, True)
    assert again.id == first.id
    with pytest.raises(IdempotencyKeyReused):
        ask(service, definition, key="k", last=TEN - HOUR)


@pytest.mark.parametrize("later", [20 * SECOND, 10 * MINUTE])
def test_a_backfill_that_crashed_before_its_row_is_begun_by_the_callers_retry(service, later):
    definition = service.planned()
    service.tasks.before["add"].append(crash)
    with pytest.raises(KeyboardInterrupt):
        ask(service, definition, key="k")
    service.clock.move(later)
    service.queue.refuses = 1
    asked = ask(service, definition, key="k")
    slot = PLAN.slot(service.clock.now(), unique_part(asked.id))
    assert Due.of(step_of(service, asked)) in [entry.due for entry in service.tasks.due_in(slot)]


def crash():
    raise KeyboardInterrupt


def test_progress_is_told_from_its_steps(service, monkeypatch):
    monkeypatch.setattr(rules, "STEP_RUNS", 2)
    definition = service.planned()
    asked = ask(service, definition, first=TEN - 4 * HOUR)
    first = step_of(service, asked)
    service.tasks.commit([Transition(before=first, after=in_state(TaskState.SUCCEEDED, first))])
    step = rules.BackfillStep.read(first.payload.text).following(asked.step.occurrences())
    following = rules.task_of(step, definition, shards=PLAN, now=START)
    service.tasks.add([following])
    told = service.backfills.load("demo", asked.id)
    assert (told.progress.state, told.progress.done, told.progress.total) == (State.RUNNING, 2, 5)
    service.tasks.commit([Transition(before=following, after=in_state(TaskState.DEAD, following))])
    told = service.backfills.load("demo", asked.id)
    assert (told.progress.state, told.progress.reason) == (State.STOPPED, "http 410")


def test_a_table_that_fails_is_told(service):
    definition = service.planned()
    service.tasks.unavailable.default_factory = lambda: 1
    with pytest.raises(Unavailable):
        ask(service, definition)


def test_more_runs_than_one_operation_may_have_are_refused(service):
    definition = service.planned("* * * * *")
    service.clock.move(timedelta(days=30))
    last = service.clock.now() - SECOND
    with pytest.raises(LimitExceeded):
        ask(service, definition, first=service.clock.now() - 10_001 * MINUTE, last=last)
    assert ask(service, definition, first=last - 10_000 * MINUTE, last=last).progress.total == 10_000


@pytest.mark.parametrize(
    ("first", "last"), [(TEN, TEN - HOUR), (TEN, START + SECOND)], ids=["backwards", "to come"]
)
def test_a_time_that_has_not_gone_by_is_refused(service, first, last):
    definition = service.planned()
    with pytest.raises(ValidationFailed) as refused:
        ask(service, definition, first=first, last=last)
    assert [name for name, _ in refused.value.fields] == ["to"]


def test_a_cancelled_task_is_not_backfilled(service):
    definition = service.planned()
    cancelled = service.definition_changer.cancel("demo", definition.id, version=None)
    with pytest.raises(InvalidState):
        ask(service, cancelled)


def test_another_tenants_operation_and_what_is_none_are_told_alike(service):
    asked = ask(service, service.planned())
    task = service.registered()
    for tenant, id in (("other", asked.id), ("demo", task.id), ("demo", "op_0"), ("demo", "x")):
        with pytest.raises(NotFound):
            service.backfills.load(tenant, id)


def test_a_step_is_no_run_and_no_task(service):
    asked = ask(service, service.planned())
    with pytest.raises(NotFound):
        service.acknowledger.load("demo", asked.id)
    with pytest.raises(NotFound):
        service.changer.load("demo", asked.id)
