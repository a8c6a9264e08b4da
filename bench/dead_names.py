"""Tasks whose hosts do not resolve, written as if they had resolved when the tasks were registered."""

import os
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Final

from postdate.domain.due import Due, Packet, Via
from postdate.domain.instants import whole
from postdate.domain.retry import RetryPolicy
from postdate.domain.slots import UNIQUE_BYTES, ShardPlan, item_id
from postdate.domain.task import KIND, Destination, Payload, Task, Template
from postdate.domain.task_requests import register
from postdate.runtime.queue import Queue
from postdate.stores.tasks import Tasks, Written

_TIMEOUT_SECONDS: Final = 30
_AHEAD: Final = timedelta(seconds=5)


def dead_names(tenant: str, due: Sequence[datetime], shards: ShardPlan) -> list[Task]:
    """Returns a task for each instant, each with a name of its own and a single attempt."""
    return [_task(tenant, number, due_at, shards) for number, due_at in enumerate(map(whole, due))]


def write(found: Sequence[Task], tasks: Tasks, queue: Queue) -> None:
    """Raises RuntimeError when a task is not written."""
    if set(tasks.add(found)) != {Written.DONE}:
        raise RuntimeError("a task was not written")
    queue.send(Packet(tenant=task.tenant, via=Via.REGISTRATION, dues=(Due.of(task),)) for task in found)


def _task(tenant: str, number: int, due_at: datetime, shards: ShardPlan) -> Task:
    unique = os.urandom(UNIQUE_BYTES)
    return register(
        id=item_id(KIND, shards.slot(due_at, unique), unique),
        tenant=tenant,
        due_at=due_at,
        now=due_at - _AHEAD,
        template=Template(
            destination=Destination(type="webhook", address=f"https://dead-{number}.example.com/"),
            payload=Payload(text="{}"),
            retry=RetryPolicy(max_attempts=1),
            timeout_seconds=_TIMEOUT_SECONDS,
        ),
    )
