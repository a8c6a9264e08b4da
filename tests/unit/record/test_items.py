"""Changes of tasks, runs and plans as events."""

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from itertools import pairwise
from typing import Any

import pytest

from functions.record.changes import Change
from functions.record.items import event_of
from postdate.domain import definition, task_requests, transitions
from postdate.domain.definition import Reached
from postdate.domain.event import Actor, Event
from postdate.domain.task import Destination, Task
from postdate.domain.transitions import Failure, Transition
from postdate.stores import definition_row, task_row
from postdate.stores.pointers import pointer_attributes
from tests.contract.examples import Examples
from tests.contract.recurring import a_definition as definition_of
from tests.contract.recurring import runs_of
from tests.unit.doubles import PLAN, SECOND, START, a_task, claimed, unique

RETENTION = timedelta(days=35)


def image(task: Task) -> dict[str, Any]:
    return task_row.attributes_of(task, listing_shards=2, retention=RETENTION)


def change(before: dict[str, Any] | None, after: dict[str, Any]) -> Change:
    keys = {name: after[name] for name in ("slot", "id")}
    return Change(table="items", number="1", keys=keys, before=before or {}, after=after)


def told(before: Task | None, after: Task) -> Event:
    event = event_of(change(image(before) if before else None, image(after)))
    assert event is not None
    return event


def test_each_step_of_a_task_is_an_event() -> None:
    task = a_task().signed("key:k1")
    running = claimed(task)
    retrying = transitions.fail(running, now=START + SECOND, failure=Failure(why="http 500"), draw=0.5).after
    again = claimed(retrying)
    done = transitions.succeed(again, now=again.history[-1].at, why="http 200").after
    steps = [task, running, retrying, again, done]
    events = [told(None, task), *(told(a, b) for a, b in pairwise(steps))]
    assert [event.type for event in events] == [
        *("task.registered", "task.started", "task.retrying", "task.started", "task.succeeded"),
    ]
    assert [event.sequence for event in events] == [1, 2, 3, 4, 5]
    assert events[0].actor == Actor(type="key", id="k1")
    assert {event.actor for event in events[1:]} == {Actor(type="function", id="run_tasks")}
    assert events[2].data["reason"] == "http 500"
    assert events[2].data["before"]["status"] == "RUNNING"


@pytest.mark.parametrize(
    ("step", "type"),
    [
        (lambda task: task_requests.cancel(task, now=START), "task.cancelled"),
        (lambda task: transitions.expire(task, now=START), "task.expired"),
        (
            lambda task: task_requests.edit(task, now=START, due_at=None, why="changed name", name="x"),
            "task.changed",
        ),
    ],
)
def test_a_task_that_does_not_run_tells_why(step: Callable[[Task], Transition], type: str) -> None:
    task = a_task()
    assert told(task, step(task).after).type == type


def test_the_author_of_a_cancel_is_the_key_that_asked() -> None:
    task = a_task()
    cancelled = task_requests.cancel(task, now=START)
    assert cancelled is not None
    assert told(task, cancelled.after.signed("key:k2")).actor == Actor(type="key", id="k2")


def test_a_receivers_words_are_no_author() -> None:
    running = claimed(a_task())
    failed = transitions.fail(
        running, now=START + SECOND, failure=Failure(why="no\tkey:somebody", final=True), draw=0.5
    ).after
    event = told(running, failed)
    assert event.type == "task.dead"
    assert event.actor == Actor(type="function", id="run_tasks")
    assert event.data["reason"] == "no key:somebody"


def test_no_event_of_a_task_has_a_payload_a_header_or_a_query() -> None:
    target = Destination(
        type="webhook", address="https://hooks.example.com/a?token=hidden", headers=(("X-Secret", "hidden"),)
    )
    task = replace(a_task(), destination=target, payload=replace(a_task().payload, text='{"x":"hidden"}'))
    event = told(None, task)
    assert "hidden" not in str(event.data)
    assert event.data["after"]["target"] == {"type": "webhook", "address": "https://hooks.example.com/a"}


def test_a_run_is_told_under_its_own_kind_and_names_its_task() -> None:
    run = runs_of(definition_of(Examples(now=START)), 1)[0]
    event = told(None, run)
    assert event.type == "run.registered"
    assert event.data["after"]["task_id"] == run.task_id
    skipped = transitions.skip(run, now=START, why="the run before is on").after
    assert told(run, skipped).type == "run.skipped"


def test_a_longer_lease_and_a_pointer_are_no_events() -> None:
    running = claimed(a_task())
    longer = replace(running, lease_until=running.due_at + timedelta(hours=1))
    assert event_of(change(image(running), image(longer))) is None
    slot = PLAN.slot(running.due_at, unique(1))
    assert event_of(change(None, pointer_attributes(running, slot))) is None


def test_a_plan_is_told_from_its_creation_to_its_end() -> None:
    def row(plan: definition.Definition, by: str) -> dict[str, Any]:
        return definition_row.attributes_of(plan, listing_shards=2, retention=RETENTION, by=by)

    reached = Reached(runs=0)
    first = definition_of(Examples(now=START))
    paused = definition.pause(first, now=START, reached=reached, reason="stocktaking")
    assert paused is not None
    resumed = definition.resume(paused, now=START, reached=reached)
    assert resumed is not None
    changed = definition.change(resumed, now=START, reached=reached, name="other")
    finished = definition.finish(changed, now=START, reached=reached)
    cancelled = definition.cancel(finished, now=START)
    assert cancelled is not None
    steps = [first, paused, resumed, changed, finished, cancelled]
    events = [event_of(change(None, row(first, "key:k1")))]
    events += [
        event_of(change(row(a, "key:k1"), row(b, "function:run_tasks" if b is finished else "key:k2")))
        for a, b in pairwise(steps)
    ]
    assert [event.type for event in events if event] == [
        *("plan.created", "plan.paused", "plan.resumed", "plan.changed", "plan.finished", "plan.cancelled"),
    ]
    assert [event.sequence - first.version for event in events if event] == [0, 1, 2, 3, 4, 5]
    assert [event.actor.id for event in events if event] == ["k1", "k2", "k2", "k2", "run_tasks", "k2"]


def test_an_author_of_another_version_is_not_told() -> None:
    """Older code changes a plan and leaves the attribute as it is."""
    first = definition_of(Examples(now=START))
    row = definition_row.attributes_of(first, listing_shards=2, retention=RETENTION, by="key:k1")
    paused = definition.pause(first, now=START, reached=Reached(runs=0), reason=None)
    assert paused is not None
    later = definition_row.attributes_of(paused, listing_shards=2, retention=RETENTION) | {"by": row["by"]}
    event = event_of(change(row, later))
    assert event is not None
    assert event.actor != Actor(type="key", id="k1")
