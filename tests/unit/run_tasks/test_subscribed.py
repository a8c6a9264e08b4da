"""Deliveries of events: their turn, their body, their signature, and what becomes of them without a subscription."""

import json
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from postdate.domain.event import Event, Subject
from postdate.domain.slots import item_id
from postdate.domain.subscription import State, Subscription, delivery
from postdate.domain.task import Destination, Task
from postdate.domain.task import State as TaskState
from postdate.targets.base import Delivered, Failed
from tests.unit.doubles import MINUTE, PLAN, SECOND, START, message, unique
from tests.unit.run_tasks.conftest import Running

PAYMENT = item_id("pay", PLAN.slot(START, unique(1)), unique(1))
GONE = Failed(reason="http 410", retry=False, http_status=410)
BROKEN = Failed(reason="http 500", http_status=500)


@pytest.fixture
def subscription(running: Running) -> Subscription:
    made = Subscription(
        id="sub_1",
        tenant="demo",
        destination=Destination(type="webhook", address="https://shop.example/hook"),
        types=("*",),
        secrets=("whsec_bmV3", "whsec_b2xk"),
        secrets_until=START + MINUTE,
        created_at=START,
        changed_at=START,
    )
    assert running.subscriptions.add(made)
    return made


def recorded(
    running: Running, subscription: Subscription, *, after: int | None = None, number: int = 1
) -> Task:
    """The delivery of the payment's event of this number, stored."""
    told, before = event(number), None if after is None else event(after)
    running.events.put([told], after={"demo": 0})
    task = delivery(told, subscription, before=before, shards=PLAN, now=running.clock.now())
    running.stores(task)
    return task


def event(sequence: int = 1) -> Event:
    return Event(
        subject=Subject(tenant="demo", kind="payment", id=PAYMENT),
        type="payment.completed",
        sequence=sequence,
        occurred_at=START,
        recorded_at=START + timedelta(milliseconds=95),
        accounts=("alice", "bob"),
        data={"after": {"amount": 7}},
    )


def changed(running: Running, subscription: Subscription, **fields: Any) -> None:
    assert running.subscriptions.change(replace(subscription, version=subscription.version + 1, **fields))


def test_the_body_is_the_event_and_the_subscriptions_own_secrets_sign_it(
    running: Running, subscription: Subscription
) -> None:
    task = recorded(running, subscription)
    running.run(message(task))
    ((_, sent),) = running.target.started
    body = json.loads(sent.payload)
    assert (body["event_id"], body["type"], body["data"]) == (
        event().id,
        "payment.completed",
        {"after": {"amount": 7}},
    )
    assert sent.signing_secrets == ("whsec_bmV3", "whsec_b2xk")
    assert (sent.run_id, sent.task_id) == (task.id, "sub_1")
    assert running.stored(task).state is TaskState.SUCCEEDED


def test_a_secret_that_was_replaced_signs_until_its_overlap_ends(
    running: Running, subscription: Subscription
) -> None:
    running.clock.move(MINUTE)
    running.run(message(recorded(running, subscription)))
    ((_, sent),) = running.target.started
    assert sent.signing_secrets == ("whsec_bmV3",)


def test_a_delivery_waits_until_the_one_before_it_has_ended(
    running: Running, subscription: Subscription
) -> None:
    first = recorded(running, subscription)
    second = recorded(running, subscription, number=2, after=1)
    running.run(message(second))
    assert running.target.started == []
    running.run(message(first))
    running.run(running.arrival())
    assert [sent.run_id for _, sent in running.target.started] == [first.id, second.id]


def test_a_delivery_waits_as_long_as_the_one_before_it_is_retried(
    running: Running, subscription: Subscription
) -> None:
    first = recorded(running, subscription)
    second = recorded(running, subscription, number=2, after=1)
    running.target.script[first.id].append(replace(BROKEN, retry_after_seconds=90))
    running.run(message(first))
    running.queue.take()
    running.run(message(second))
    retried, waiting = running.stored(first), running.stored(second)
    assert waiting.state is TaskState.PENDING
    assert retried.due_at <= waiting.due_at <= retried.due_at + 2 * SECOND
    assert len(running.target.started) == 1


def test_a_delivery_whose_predecessor_was_never_made_goes_at_once(
    running: Running, subscription: Subscription
) -> None:
    second = recorded(running, subscription, number=2, after=1)
    running.run(message(second))
    assert [sent.run_id for _, sent in running.target.started] == [second.id]


def test_a_delivery_goes_past_one_that_is_dead(running: Running, subscription: Subscription) -> None:
    first = recorded(running, subscription)
    second = recorded(running, subscription, number=2, after=1)
    running.target.script[first.id].append(Failed(reason="http 422", retry=False, http_status=422))
    running.run(message(first))
    assert running.stored(first).state is TaskState.DEAD
    running.run(message(second))
    assert running.stored(second).state is TaskState.SUCCEEDED


def test_a_paused_subscription_is_told_nothing_until_it_is_resumed(
    running: Running, subscription: Subscription
) -> None:
    task = recorded(running, subscription)
    changed(running, subscription, state=State.PAUSED, paused_at=START)
    running.run(message(task))
    waiting = running.stored(task)
    assert (running.target.started, waiting.state, waiting.attempts) == ([], TaskState.PENDING, 0)
    changed(running, replace(subscription, version=2))
    running.run(running.arrival())
    assert running.stored(task).state is TaskState.SUCCEEDED


def test_a_delivery_of_a_subscription_that_has_ended_is_cancelled(
    running: Running, subscription: Subscription
) -> None:
    task = recorded(running, subscription)
    changed(running, subscription, state=State.ENDED)
    running.run(message(task))
    done = running.stored(task)
    assert (running.target.started, done.state) == ([], TaskState.CANCELLED)
    assert done.history[-1].why == "its subscription has ended"
    assert running.letters == []


def test_an_answer_of_410_ends_the_subscription(running: Running, subscription: Subscription) -> None:
    task = recorded(running, subscription)
    running.target.script[task.id].append(GONE)
    running.run(message(task))
    ended = running.subscriptions.get("demo", "sub_1")
    assert ended is not None
    assert (ended.state, ended.reason, ended.by) == (
        State.ENDED,
        "its endpoint answered 410",
        "function:run_tasks",
    )


def test_an_answer_of_410_from_an_address_that_was_replaced_ends_nothing(
    running: Running, subscription: Subscription
) -> None:
    task = recorded(running, subscription)
    running.target.script[task.id].append(GONE)
    elsewhere = Destination(type="webhook", address="https://shop.example/new")
    changed(running, subscription, destination=elsewhere)
    running.run(message(task))
    known = running.subscriptions.get("demo", "sub_1")
    assert known is not None
    assert known.state is State.ACTIVE


def test_an_event_that_is_gone_is_not_tried_again(running: Running, subscription: Subscription) -> None:
    task = delivery(event(), subscription, before=None, shards=PLAN, now=START)
    running.stores(task)
    running.run(message(task))
    assert running.stored(task).state is TaskState.DEAD
    assert running.target.started == []


def test_a_dead_endpoint_delays_no_other(running: Running, subscription: Subscription) -> None:
    other = replace(
        subscription, id="sub_2", destination=Destination(type="webhook", address="https://other.example/")
    )
    assert running.subscriptions.add(other)
    first, fine = recorded(running, subscription), recorded(running, other)
    running.target.script[first.id].append(BROKEN)
    running.target.script[fine.id].append(Delivered(http_status=204))
    running.run(message(first, fine))
    assert running.stored(first).state is TaskState.RETRYING
    assert running.stored(fine).state is TaskState.SUCCEEDED
