"""A filter reads what it names, and nothing else."""

from dataclasses import replace
from datetime import timedelta

import pytest
from pydantic import ValidationError

from functions.api.operations import find
from functions.api.operations.find import Finder, ItemFilter
from functions.api.operations.forms import OperationForm
from postdate.domain.errors import LimitExceeded
from postdate.domain.operation import Action, Kind
from postdate.domain.task import Destination, State
from tests.unit.api.swept import healthy
from tests.unit.doubles import (
    MINUTE,
    PLAN,
    START,
    ManualClock,
    ScriptedDefinitions,
    ScriptedLedger,
    ScriptedTasks,
    a_task,
    in_state,
)

OTHER = Destination(type="webhook", address="https://other.example.com/a")


@pytest.fixture
def tasks():
    return ScriptedTasks(shards=PLAN)


@pytest.fixture
def finder(tasks):
    clock = ManualClock(START + 60 * MINUTE)
    return Finder(
        tasks=tasks,
        definitions=ScriptedDefinitions(tasks=tasks),
        ledger=ScriptedLedger(),
        unfinished=healthy(clock),
        clock=clock,
    )


def ids(found):
    return sorted(item.id for item in found.items)


def dead(tasks, count, *, first=1, **fields):
    made = [in_state(State.DEAD, replace(a_task(first + number), **fields)) for number in range(count)]
    tasks.add(made)
    return sorted(task.id for task in made)


def redrive(finder, **fields):
    return finder.find("demo", Action.REDRIVE, Kind.TASKS, ItemFilter(**fields))


def test_reads_grow_with_what_the_filter_names_and_not_with_what_is_stored(tasks, finder):
    wanted = dead(tasks, 40, tags=("outage",))
    few = redrive(finder, tag="outage")
    tasks.add([in_state(State.SUCCEEDED, a_task(number)) for number in range(1_000, 3_000)])
    many = redrive(finder, tag="outage")
    assert ids(many) == ids(few) == wanted
    assert (few.evaluated, many.evaluated) == (40, 40)


@pytest.mark.parametrize(
    "fields",
    [
        {"name": "nightly"},
        {"tag": "a"},
        {"destination": "https://other.example.com/"},
        {"failure": "http 410", "name": "nightly"},
        {"status": "DEAD", "name": "nightly"},
    ],
)
def test_each_field_narrows(tasks, finder, fields):
    dead(tasks, 3)
    wanted = dead(tasks, 2, first=50, name="nightly", tags=("a", "b"), destination=OTHER)
    assert ids(redrive(finder, **fields)) == wanted


def test_instants_narrow(tasks, finder):
    early = in_state(State.DEAD, a_task(1, due_at=START - 10 * MINUTE, now=START - 20 * MINUTE))
    late = in_state(State.DEAD, a_task(2, due_at=START + 10 * MINUTE))
    tasks.add([early, late])
    assert ids(redrive(finder, since=START)) == [late.id]
    assert ids(redrive(finder, until=START)) == [early.id]


def test_a_failure_is_one_whatever_its_ids(tasks, finder):
    one, two, other = (in_state(State.DEAD, a_task(number)) for number in (1, 2, 3))
    tasks.add([replace(one, error="order 00481234 is gone"), replace(two, error="order 00489999 is gone")])
    tasks.add([other])
    assert ids(redrive(finder, failure="order … is gone")) == sorted([one.id, two.id])


def test_more_than_one_operation_may_have_is_refused(tasks, finder, monkeypatch):
    dead(tasks, 12)
    monkeypatch.setattr(find.rules, "ITEMS_MAX", 11)
    with pytest.raises(LimitExceeded):
        redrive(finder, status="DEAD")


def test_a_filter_that_is_too_wide_is_refused(tasks, finder, monkeypatch):
    dead(tasks, 12)
    monkeypatch.setattr(find, "_READ_AT_ONCE", 5)
    monkeypatch.setattr(find, "EVALUATED_MAX", 10)
    with pytest.raises(LimitExceeded):
        redrive(finder, name="nothing")
    assert ids(redrive(finder, since=START + timedelta(hours=2))) == []


@pytest.mark.parametrize(
    "wrong",
    [
        {"filter": {}},
        {"filter": {"metadata": {}}},
        {"filter": {"tag": "a"}, "ids": ["task_1"]},
        {},
        {"filter": {"account_id": "a"}},
        {"filter": {"status": "COMPLETED"}},
        {"kind": "payments", "filter": {"tag": "a"}},
    ],
)
def test_a_filter_that_fits_everything_or_belongs_to_another_kind_is_refused(wrong):
    with pytest.raises(ValidationError):
        OperationForm(**({"action": "redrive", "kind": "tasks", "reason": "r"} | wrong))
