"""What one tenant's destinations do to another tenant, and what an outage does to its own tenant's tasks.

The sizes are small, so that all tests together stay short; the figures in the documentation are from runs with
POSTDATE_FLOW_SIZES=full. How late is for a quiet machine to say: on a busy one the bounds are wider, and far below what
a single destination that hangs did before.
"""

import os
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from typing import Final

import pytest

from postdate.domain import instants, transitions
from postdate.domain.due import Due, Packet, Via
from postdate.domain.retry import RetryPolicy
from postdate.domain.slots import UNIQUE_BYTES, ShardPlan, item_id
from postdate.domain.task import KIND, Destination, Payload, Task
from postdate.runtime.clock import SystemClock
from postdate.runtime.queue import SqsQueue
from postdate.stores.tasks import Written
from postdate.stores.tasks_dynamo import DynamoTasks
from tests.e2e.conftest import RunningStack
from tests.e2e.receiver import Arrival, Receiver, receiving
from tests.e2e.test_flow import FULL, ahead, arrived, form, percentile, register
from tests.e2e.test_tasks import ended as ended_task

COUNT: Final = 100
SPAN: Final = 10
MOVED_MS_MAX: Final = 100 if FULL else 1000
OUTAGE_SECONDS: Final = 120 if FULL else 8
BACK_WITHIN_SECONDS: Final = 30


@pytest.fixture(scope="module")
def hanging() -> Iterator[Receiver]:
    with receiving() as running:
        yield running


@pytest.fixture(scope="module")
def alone(stack: RunningStack, receiver: Receiver) -> list[float]:
    return steady(stack, receiver)


def steady(stack: RunningStack, receiver: Receiver, *, begin: datetime | None = None) -> list[float]:
    """How late a hundred webhooks of the other tenant are, in milliseconds."""
    start = begin or ahead(6)
    due = [start + timedelta(seconds=SPAN * place / COUNT) for place in range(COUNT)]
    forms = [form(receiver.url, at) for at in due]
    ids = register(stack.client(stack.other_tenant_key), forms)
    found = arrived(receiver, set(ids), seconds=SPAN + 60)
    assert len(found) == COUNT
    return [1000 * (found[id] - at.timestamp()) for id, at in zip(ids, due, strict=True)]


def told(what: str, alone: list[float], beside: list[float]) -> float:
    """By how much the 99th percentile has moved."""
    first, second = ([percentile(each, 50), percentile(each, 99), max(each)] for each in (alone, beside))
    print(
        f"{what}: p50, p99, most alone {[f'{ms:.1f}' for ms in first]} ms, beside {[f'{ms:.1f}' for ms in second]} ms"
    )
    return second[1] - first[1]


def test_webhooks_that_hang_make_no_other_tenant_late(
    stack: RunningStack, receiver: Receiver, hanging: Receiver, alone: list[float]
) -> None:
    """60 of them, which accept and never answer, begin while the other tenant's hundred do. Each is due at once when it
    is registered, so that each comes in a message of its own and would keep a worker of its own."""

    def hang() -> None:
        client = stack.client()
        for _ in range(60):
            target = {"type": "webhook", "url": f"{hanging.url}/hangs"}
            client.post(
                "/api/v1/tasks", {"delay_seconds": 0, "target": target, "timeout_seconds": 40}
            ).expect(201)
            time.sleep(0.15)

    with ThreadPoolExecutor(1) as registering:
        hangs = registering.submit(hang)
        beside = steady(stack, receiver)
        hangs.result()
    assert len(hanging.arrivals) >= 12
    assert told("60 webhooks that hang", alone, beside) < MOVED_MS_MAX


def test_names_that_do_not_resolve_make_no_other_tenant_late(
    stack: RunningStack, receiver: Receiver, alone: list[float]
) -> None:
    """240 of them. Their tasks are written as they would be had the names resolved when they were registered."""
    due = [ahead(5) + timedelta(seconds=SPAN * place / 240) for place in range(240)]
    tasks = [dead(number, at) for number, at in enumerate(due)]
    store = DynamoTasks(
        table=stack.tables["items"],
        client=stack.aws("dynamodb"),
        plan=ShardPlan.parse("0=4"),
        listing_shards=2,
        retention=timedelta(days=35),
    )
    assert set(store.add(tasks)) == {Written.DONE}
    queue = SqsQueue(url=stack.queues["tasks"], client=stack.aws("sqs"), clock=SystemClock())
    queue.send(Packet(tenant=task.tenant, via=Via.REGISTRATION, dues=(Due.of(task),)) for task in tasks)
    beside = steady(stack, receiver)
    ended = [ended_task(stack, task.id, seconds=60) for task in tasks]
    assert {task["status"] for task in ended} == {"DEAD"}
    reasons = {line["reason"] for task in ended for line in task["history"] if line["status"] == "DEAD"}
    assert reasons == {"dns failure: the name does not resolve"}
    assert told("240 dead names", alone, beside) < MOVED_MS_MAX


def dead(number: int, due_at: datetime) -> Task:
    due_at = instants.whole(due_at)
    unique = os.urandom(UNIQUE_BYTES)
    return transitions.register(
        id=item_id(KIND, ShardPlan.parse("0=4").slot(due_at, unique), unique),
        tenant="demo",
        due_at=due_at,
        now=due_at,
        destination=Destination(type="webhook", address=f"https://dead-{number}.example.com/"),
        payload=Payload(text="{}"),
        retry=RetryPolicy(max_attempts=1),
        timeout_seconds=30,
        name=None,
        tags=(),
    )


def test_after_an_outage_all_that_waited_is_delivered_within_half_a_minute(stack: RunningStack) -> None:
    """40 tasks wait meanwhile. Ten failures open the breaker; from then on the receiver sees probes only."""
    with receiving() as back:
        back.is_down = True
        begin = ahead(4)
        first = register(stack.client(), [form(back.url, begin) for _ in range(12)])
        waiting = [
            form(back.url, begin + timedelta(seconds=4 + (OUTAGE_SECONDS - 5) * place / 28))
            for place in range(28)
        ]
        ids = first + register(stack.client(), waiting)
        time.sleep((begin - datetime.now(UTC)).total_seconds() + OUTAGE_SECONDS)
        during = [arrival.at - begin.timestamp() for arrival in back.arrivals]
        back.is_down = False
        returned = time.time()
        found = {
            id: arrival.at
            for id, arrival in delivered(
                back, set(ids), since=returned, seconds=BACK_WITHIN_SECONDS + 30
            ).items()
        }
        after = sorted(at - returned for at in found.values())
    probes = [at for at in during if at > 4]
    print(
        f"outage of {OUTAGE_SECONDS} s: {len(during) - len(probes)} calls until the breaker opened, {len(probes)} "
        f"probes; the first of {len(after)} arrived {after[0]:.1f} s after its end, the last {after[-1]:.1f} s"
    )
    assert len(after) == 40
    assert after[-1] <= BACK_WITHIN_SECONDS
    assert len(probes) <= OUTAGE_SECONDS / 20 + 1


def delivered(receiver: Receiver, ids: set[str], *, since: float, seconds: float) -> dict[str, Arrival]:
    """Their first arrivals since then."""
    deadline = time.monotonic() + seconds
    while True:
        found: dict[str, Arrival] = {}
        for arrival in list(receiver.arrivals):
            if arrival.at >= since and arrival.task_id in ids:
                found.setdefault(arrival.task_id, arrival)
        if len(found) == len(ids) or time.monotonic() > deadline:
            return found
        time.sleep(0.2)
