"""One tenant's destinations make no other tenant late, and an outage of a receiver costs its tasks nothing but time.

The tests assert counts and orders, which hold on a busy machine as well. How late a task is only a quiet machine can
say: `postdate bench --only isolation` measures it.
"""

import math
import time
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final

import pytest

from bench.dead_names import dead_names, write
from postdate.domain.breaker import PROBE_EVERY, RECOVERY
from postdate.domain.slots import ShardPlan
from postdate.runtime.clock import SystemClock
from postdate.runtime.queue import SqsQueue
from postdate.stores.tasks_dynamo import DynamoTasks
from tests.e2e.conftest import RunningStack
from tests.e2e.receiver import Arrival, Receiver, receiving
from tests.e2e.test_flow import ahead, form, register
from tests.e2e.test_tasks import ended as ended_task

COUNT: Final = 100
SPAN: Final = 10
WORKERS: Final = 12
# Enough of them to keep each of the workers twice.
HANGS: Final = 2 * WORKERS
# A busy machine starts a dozen workers slowly.
HANG_WITHIN_SECONDS: Final = 60
DEAD_NAMES: Final = 60
HANGS_SECONDS: Final = 60
OUTAGE_SECONDS: Final = 24
WAITING: Final = 8
TO_OPEN: Final = 12
OPENED_BY: Final = 8
# The first probe after the receiver's return comes by then, and what waited goes out while it recovers.
BACK_WITHIN_SECONDS: Final = (PROBE_EVERY + RECOVERY).total_seconds()


@dataclass(frozen=True, kw_only=True)
class Steady:
    """A hundred webhooks of the other tenant, one after the other: their ids, instants and arrivals."""

    due: dict[str, float]
    arrived: dict[str, Arrival]

    @property
    def first(self) -> float:
        return min(arrival.at for arrival in self.arrived.values())

    @property
    def last(self) -> float:
        return max(arrival.at for arrival in self.arrived.values())


@pytest.fixture(scope="module")
def hanging() -> Iterator[Receiver]:
    with receiving() as running:
        yield running


def steady(stack: RunningStack, receiver: Receiver) -> Steady:
    start = ahead(6)
    due = [start + timedelta(seconds=SPAN * place / COUNT) for place in range(COUNT)]
    forms = [form(receiver.url, at) for at in due]
    ids = register(stack.client(stack.other_tenant_key), forms)
    found = delivered(receiver, set(ids), seconds=SPAN + 120)
    assert len(found) == COUNT
    return Steady(due=dict(zip(ids, (at.timestamp() for at in due), strict=True)), arrived=found)


def test_webhooks_that_hang_make_no_other_tenant_late(
    stack: RunningStack, receiver: Receiver, hanging: Receiver
) -> None:
    """The receivers accept and never answer. Each task is due when it is registered, so each has a message of its
    own and would keep a worker of its own. As soon as one hangs for each worker, the other tenant's tasks are
    registered: they do not wait for the first of them to end."""
    client = stack.client()
    target = {"type": "webhook", "url": f"{hanging.url}/hangs"}
    hang = {
        "delay_seconds": 0,
        "target": target,
        "timeout_seconds": HANGS_SECONDS,
        "retry": {"max_attempts": 1},
    }

    for _ in range(HANGS):
        client.post("/api/v1/tasks", hang).expect(201)
    deadline = time.monotonic() + HANG_WITHIN_SECONDS
    while len(hanging.arrivals) < WORKERS and time.monotonic() < deadline:
        time.sleep(0.1)
    assert len(hanging.arrivals) >= WORKERS
    beside = steady(stack, receiver)
    # On a busy machine the last of them begins after the other tenant's tasks.
    deadline = time.monotonic() + HANG_WITHIN_SECONDS
    while len(hanging.arrivals) < HANGS and time.monotonic() < deadline:
        time.sleep(0.1)
    began = sorted(arrival.at for arrival in hanging.arrivals)
    assert len(began) == HANGS
    assert beside.first < began[0] + HANGS_SECONDS
    assert beside.last < began[-1] + HANGS_SECONDS


def test_names_that_do_not_resolve_make_no_other_tenant_late(stack: RunningStack, receiver: Receiver) -> None:
    """Writes the tasks as if their names had resolved when they were registered."""
    due = [ahead(5) + timedelta(seconds=SPAN * place / DEAD_NAMES) for place in range(DEAD_NAMES)]
    shards = ShardPlan.parse("0=4")
    tasks = dead_names("demo", due, shards)
    store = DynamoTasks(
        table=stack.tables["items"],
        client=stack.aws("dynamodb"),
        shards=shards,
        listing_shards=2,
        retention=timedelta(days=35),
    )
    write(tasks, store, SqsQueue(url=stack.queues["tasks"], client=stack.aws("sqs"), clock=SystemClock()))
    beside = steady(stack, receiver)
    own, other = stack.client(), stack.client(stack.other_tenant_key)
    ended = [ended_task(stack, task.id, seconds=60, client=own) for task in tasks]
    assert {task["status"] for task in ended} == {"DEAD"}
    reasons = {line["reason"] for task in ended for line in task["history"] if line["status"] == "DEAD"}
    assert reasons == {"dns failure: the name does not resolve"}
    others = [ended_task(stack, id, client=other) for id in beside.due]
    ways = {tuple(line["status"] for line in task["history"]) for task in others}
    assert ways == {("PENDING", "RUNNING", "SUCCEEDED")}


def test_after_an_outage_all_that_waited_is_delivered_soon(stack: RunningStack) -> None:
    """Twelve failures open the breaker. From then on the receiver sees probes only, one each twenty seconds, and the
    other tasks use up no attempt."""
    with receiving() as back:
        back.is_down = True
        begin = ahead(4)
        first = register(stack.client(), [form(back.url, begin) for _ in range(TO_OPEN)])
        due = [begin + timedelta(seconds=OPENED_BY + (OUTAGE_SECONDS - OPENED_BY - 1) * place / WAITING)
               for place in range(WAITING)]  # fmt: skip
        waiting = register(stack.client(), [form(back.url, at) for at in due])
        time.sleep((begin - datetime.now(UTC)).total_seconds() + OUTAGE_SECONDS)
        calls = len(back.arrivals)
        back.is_down = False
        returned = time.time()
        found = delivered(back, {*first, *waiting}, since=returned, seconds=120)
        last = max(arrival.at for arrival in found.values()) - returned
        attempts = sum(int(found[id].headers["postdate-attempt"]) - 1 for id in waiting)
    print(
        f"outage of {OUTAGE_SECONDS} s: {calls} calls of {len(first) + len(waiting)} tasks; after it the first arrived "
        f"after {min(arrival.at for arrival in found.values()) - returned:.1f} s, the last after {last:.1f} s"
    )
    assert found.keys() == {*first, *waiting}
    probes = math.ceil(OUTAGE_SECONDS / PROBE_EVERY.total_seconds())
    assert calls <= TO_OPEN + probes
    assert attempts <= probes
    assert last <= BACK_WITHIN_SECONDS


def delivered(receiver: Receiver, ids: set[str], *, since: float = 0.0, seconds: float) -> dict[str, Arrival]:
    """Returns the first arrival of each task since then."""
    deadline = time.monotonic() + seconds
    while True:
        found: dict[str, Arrival] = {}
        for arrival in list(receiver.arrivals):
            if arrival.at >= since and arrival.task_id in ids:
                found.setdefault(arrival.task_id, arrival)
        if len(found) == len(ids) or time.monotonic() > deadline:
            return found
        time.sleep(0.2)
