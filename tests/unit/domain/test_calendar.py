"""Events as changes of the calendar of all tenants."""

from dataclasses import replace
from datetime import timedelta

import pytest

from postdate.domain import calendar, instants, payment_event, task_event
from postdate.domain.calendar import DueCount
from postdate.domain.event import Event
from postdate.domain.payment import Payment
from postdate.domain.payment import State as PaymentState
from postdate.domain.task import State, Task
from tests.unit.doubles import SECOND, START, a_payment, a_task

HOUR = timedelta(hours=1)


def payment_due(**fields: object) -> Payment:
    return replace(a_payment(due_at=START + HOUR), **fields)  # type: ignore[arg-type]


def of_payment(before: Payment | None, after: Payment) -> Event:
    """A change with a version of its own."""
    made = payment_event.event_of(
        before, after if before is None else replace(after, version=before.version + 1)
    )
    assert made is not None
    return made


def of_task(before: Task | None, after: Task) -> Event:
    made = task_event.task_event(
        before, after if before is None else replace(after, version=before.version + 1)
    )
    assert made is not None
    return made


def minute_of(item: Payment | Task) -> int:
    return instants.minute_of(item.planned_at)


def test_a_registered_payment_counts_with_its_amount() -> None:
    payment = payment_due(amount=70)
    assert calendar.changes([of_payment(None, payment)], now=START) == {
        minute_of(payment): DueCount(payments=1, amount=70)
    }


def test_changes_are_told_by_tier_and_a_tenant_without_a_change_has_none() -> None:
    payment = payment_due(amount=70)
    registered = of_payment(None, payment)
    other = replace(registered, subject=replace(registered.subject, tenant="other", id="pay_other"))
    ended = replace(
        of_payment(payment, replace(payment, state=PaymentState.COMPLETED)),
        subject=replace(registered.subject, tenant="idle"),
    )
    asked: list[str] = []

    def tier_of(tenant: str) -> str:
        asked.append(tenant)
        return "gold" if tenant == "other" else "standard"

    one = DueCount(payments=1, amount=70)
    found = calendar.changes_by_tier([registered, other, other, ended], now=START, tier_of=tier_of)
    assert found == {"standard": {minute_of(payment): one}, "gold": {minute_of(payment): one + one}}
    assert sorted(asked) == sorted([payment.tenant, "other"])


def test_a_cancelled_payment_is_taken_out() -> None:
    payment = payment_due(amount=70)
    cancelled = replace(payment, state=PaymentState.CANCELLED)
    assert calendar.changes([of_payment(payment, cancelled)], now=START) == {
        minute_of(payment): DueCount(payments=-1, amount=-70)
    }


def test_a_payment_that_is_moved_counts_at_its_new_minute_with_its_new_amount() -> None:
    payment = payment_due(amount=70)
    moved = replace(payment, planned_at=payment.planned_at + HOUR, amount=50)
    assert calendar.changes([of_payment(payment, moved)], now=START) == {
        minute_of(payment): DueCount(payments=-1, amount=-70),
        minute_of(moved): DueCount(payments=1, amount=50),
    }


def test_a_changed_amount_changes_the_sum_alone() -> None:
    payment = payment_due(amount=70)
    changed = replace(payment, amount=100)
    assert calendar.changes([of_payment(payment, changed)], now=START) == {
        minute_of(payment): DueCount(amount=30)
    }


@pytest.mark.parametrize("state", [PaymentState.EXECUTING, PaymentState.COMPLETED, PaymentState.FAILED])
def test_attempts_and_outcomes_of_a_payment_change_nothing(state: PaymentState) -> None:
    payment = payment_due()
    assert calendar.changes([of_payment(payment, replace(payment, state=state))], now=START) == {}


def test_tasks_count_and_withdrawn_ones_do_not() -> None:
    task = a_task(due_at=START + HOUR)
    cancelled = replace(task, state=State.CANCELLED)
    succeeded = replace(task, state=State.SUCCEEDED)
    assert calendar.changes([of_task(None, task)], now=START) == {minute_of(task): DueCount(tasks=1)}
    assert calendar.changes([of_task(task, cancelled)], now=START) == {minute_of(task): DueCount(tasks=-1)}
    assert calendar.changes([of_task(task, succeeded)], now=START) == {}
    assert calendar.changes([of_task(None, task), of_task(task, cancelled)], now=START) == {}


def test_the_minute_that_runs_and_those_before_it_are_not_counted() -> None:
    soon = a_task(due_at=START + SECOND)
    assert calendar.changes([of_task(None, soon)], now=START) == {}
    assert calendar.changes([of_task(None, a_task(due_at=START - HOUR))], now=START) == {}


def test_an_event_made_from_a_history_is_not_counted() -> None:
    payment = payment_due()
    assert calendar.changes(payment_event.events_of_history(payment, after=0), now=START) == {}
