"""A parsed request for a one-time task, and the task that it stands for."""

from dataclasses import dataclass, replace
from datetime import datetime

from postdate.domain import task_requests
from postdate.domain.errors import PostdateError
from postdate.domain.task import Task, Template
from postdate.stores.idempotency import Reservation


@dataclass(frozen=True, kw_only=True, slots=True)
class TaskOrder:
    """A parsed request for a one-time task."""

    # The instant of the request.
    due_at: datetime
    # The call: destination, payload, retries and limits.
    template: Template
    # The owner's name for the task; None if the request gave none.
    name: str | None
    # The owner's words for the task.
    tags: tuple[str, ...]
    # The key of the request; None without one.
    idempotency_key: str | None
    # The hash of the request. A second request with the same key must have the same.
    fingerprint: str
    # The task starts at an instant of its own, less than this after `due_at`; 0 for `due_at` itself.
    spread_seconds: int = 0
    # The error of a request that cannot be accepted now; None without one. The error counts only if the key
    # is new: a request that was answered before gets the same answer.
    refusal: PostdateError | None = None
    # The key as the job API answers it; None for other requests.
    job_key: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class RegisteredTask:
    """The answer to one order."""

    # The task at its registration.
    task: Task
    # True if an earlier request with the same key registered it.
    replayed: bool = False


def first_answer(tenant: str, order: TaskOrder, found: Reservation, now: datetime) -> RegisteredTask:
    """Rebuilds the first answer from the request, which is the same, and from the reservation of its key."""
    first = task_of(tenant, order, id=found.item_id, due_at=found.due_at, now=found.created_at)
    return RegisteredTask(task=replace(first, moved_at=now), replayed=True)


def task_of(tenant: str, order: TaskOrder, *, id: str, due_at: datetime, now: datetime) -> Task:
    task = task_requests.register(id=id, tenant=tenant, due_at=due_at, now=now, template=order.template)
    return replace(task, name=order.name, tags=order.tags, job_key=order.job_key)
