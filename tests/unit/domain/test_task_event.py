"""The names of a task's events."""

from postdate.domain import task_requests, transitions
from postdate.domain.task import Task
from postdate.domain.task_event import events_of_history, task_event
from tests.unit.doubles import SECOND, START, a_task, claimed


def name_of(before: Task | None, after: Task) -> str:
    event = task_event(before, after)
    assert event is not None
    return event.type


def test_a_claim_is_a_start_and_a_token_raised_by_a_recovery_is_none() -> None:
    task = a_task()
    running = claimed(task)
    restored = task_requests.raise_token(running, now=START + SECOND, why="restored")
    assert restored is not None
    taken_over = transitions.accept(restored.after, now=START + SECOND).after
    names = [name_of(None, task), name_of(task, running), name_of(running, restored.after)]
    names.append(name_of(restored.after, taken_over))
    assert names == ["task.registered", "task.started", "task.changed", "task.changed"]


def test_a_reconstructed_event_has_the_name_of_the_recorded_one() -> None:
    running = claimed(a_task())
    done = transitions.succeed(running, now=START + SECOND, why="http 200").after
    recorded = [name_of(None, a_task()), name_of(a_task(), running), name_of(running, done)]
    assert [event.type for event in events_of_history(done)] == recorded
