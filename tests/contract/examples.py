"""Tasks to store, and what may happen to them."""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from itertools import count
from typing import Any, Final

from postdate.domain import task_requests, transitions, verdicts
from postdate.domain.due import Due
from postdate.domain.slots import UNIQUE_BYTES, ShardPlan, item_id
from postdate.domain.task import KIND, Destination, Payload, State, Task, Template
from postdate.domain.transitions import Failure, Transition

PLAN: Final = ShardPlan.parse("0=4")
LISTING_SHARDS: Final = 2
LEASE: Final = timedelta(seconds=40)
QUEUE: Final = Destination(
    type="sqs", address="https://sqs.us-east-1.amazonaws.com/123456789012/postdate-destination-orders"
)
_uniques = count(1)


@dataclass(frozen=True, kw_only=True, slots=True)
class Examples:
    """Tasks due at `now` unless said otherwise, registered a minute before. No two share an id."""

    now: datetime

    def task(
        self,
        *,
        due_at: datetime | None = None,
        tenant: str = "acme",
        shard: int | None = None,
        listed_under: int | None = None,
        **fields: Any,
    ) -> Task:
        """`shard` of its minute and the number of its listing key follow from its id: asked for, they choose one."""
        due_at = due_at or self.now
        unique = next(
            unique
            for unique in (next(_uniques).to_bytes(UNIQUE_BYTES) for _ in range(1000))
            if shard in (None, PLAN.slot(due_at, unique).shard)
            and listed_under in (None, unique[-1] % LISTING_SHARDS)
        )
        template = Template(destination=QUEUE, payload=Payload(text='{"order":1}'))
        task = task_requests.register(
            id=item_id(KIND, PLAN.slot(due_at, unique), unique),
            tenant=tenant,
            due_at=due_at,
            now=self.now - timedelta(minutes=1),
            template=template,
        )
        return replace(task, **fields)

    def tasks(self, number: int, **fields: Any) -> list[Task]:
        return [self.task(**fields) for _ in range(number)]


def claim(task: Task, *, at: datetime | None = None, holder: str = "worker-1") -> Transition:
    """By a worker that has the task's newest call, when it is due or when the lease of the last one is over."""
    verdict = verdicts.claim(
        task,
        Due.of(task),
        now=at or task.lease_until or task.due_at,
        lease=LEASE,
        holder=holder,
        repeated=task.state is State.RUNNING,
        why="registration",
    )
    assert isinstance(verdict, Transition), verdict
    return verdict


def succeed(task: Task) -> Transition:
    return transitions.succeed(task, now=started(task) + timedelta(milliseconds=80), why="delivered")


def retry(task: Task, *, after: timedelta) -> Transition:
    """Fails, and is tried again after this time to the second."""
    seconds = after.total_seconds()
    steady = replace(
        task, retry=replace(task.retry, jitter=False, initial_seconds=seconds, max_seconds=seconds)
    )
    change = transitions.fail(steady, now=started(task), failure=Failure(why="http 503"), draw=0.0)
    return replace(change, before=task, after=replace(change.after, retry=task.retry))


def die(task: Task) -> Transition:
    failure = Failure(why="http 410", final=True)
    return transitions.fail(task, now=started(task) + timedelta(milliseconds=80), failure=failure, draw=0.0)


def reschedule(task: Task, due_at: datetime) -> Transition:
    return task_requests.edit(
        task, now=task.moved_at + timedelta(seconds=5), due_at=due_at, why="changed run_at"
    )


def cancel(task: Task) -> Transition:
    change = task_requests.cancel(task, now=task.moved_at + timedelta(seconds=6))
    assert change is not None
    return change


def started(task: Task) -> datetime:
    """The start of the newest attempt."""
    return next(line.at for line in reversed(task.history) if line.to is State.RUNNING)
