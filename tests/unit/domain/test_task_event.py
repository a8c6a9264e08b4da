"""The names of a task's events."""

from postdate.domain import payment_event, task_requests, transitions
from postdate.domain.money import cancel, register
from postdate.domain.payment import Terms
from postdate.domain.subscription import Filter
from postdate.domain.task import Task
from postdate.domain.task_event import events_of_history, task_event
from tests.unit.doubles import MINUTE, SECOND, START, a_task, claimed


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


def test_a_reconstructed_event_fits_a_filter_for_tags() -> None:
    pending = a_task(tags=("north",))
    running = claimed(pending)
    first, second = events_of_history(running)
    assert first.data == {"reason": pending.history[0].why, "status": "PENDING", "after": {"tags": ["north"]}}
    assert all(Filter(tag="north").admits(event) for event in (first, second))
    assert not Filter(tag="south").admits(first)


def test_a_reconstructed_event_of_a_payment_fits_a_filter_for_metadata() -> None:
    terms = Terms(payer="a", payee="b", amount=5, metadata=(("shop", "north"),))
    registered = register(terms, id="pay_1", tenant="demo", due_at=START + MINUTE, now=START).after
    assert registered is not None
    cancelled = cancel(registered, now=START)
    assert cancelled is not None
    assert cancelled.after is not None
    first, second = payment_event.events_of_history(cancelled.after, after=0)
    assert first.data["after"] == {"metadata": {"shop": "north"}}
    assert all(Filter(metadata=(("shop", "north"),)).admits(event) for event in (first, second))
