"""Pages of a task's runs, or of a subscription's deliveries, the newest first."""

from collections.abc import Mapping
from dataclasses import dataclass

from functions.api import listing
from functions.api.listing import Page, Span
from postdate.domain.definition import is_definition
from postdate.domain.errors import NotFound, ValidationFailed
from postdate.domain.slots import is_id
from postdate.domain.task import State, Task
from postdate.runtime.clock import Clock
from postdate.stores.tasks import Tasks


@dataclass(frozen=True, kw_only=True, slots=True)
class RunQuery:
    # The owner.
    tenant: str
    # The recurring task, or the subscription whose deliveries are wanted.
    task_id: str
    # None for runs of every status.
    status: State | None
    # The place and the length of the page.
    span: Span

    @classmethod
    def of(cls, tenant: str, task_id: str, parameters: Mapping[str, str]) -> "RunQuery":
        listing.only_known(parameters, "status")
        status = parameters.get("status")
        if status is not None and status not in State.__members__:
            raise ValidationFailed([("status", f"is one of {', '.join(State)}")])
        return cls(
            tenant=tenant,
            task_id=task_id,
            status=None if status is None else State(status),
            span=Span.of(parameters, "runs", tenant, task_id, status),
        )

    def wants(self, task: Task) -> bool:
        return task.tenant == self.tenant and self.status in (None, task.state)


def page(query: RunQuery, tasks: Tasks, *, clock: Clock) -> Page[Task]:
    """A task that runs once is its own only run. The id of a subscription is no id of an item."""

    def listed(after: str, limit: int) -> list[str]:
        if is_definition(query.task_id) or not is_id(query.task_id):
            return tasks.runs_back(query.tenant, query.task_id, before=after, limit=limit)
        return [] if after else [query.task_id]

    return listing.page(
        query.span,
        listed=listed,
        loaded=tasks.get_many,
        wants=query.wants,
        filters=query.status is not None,
        has_time=listing.within(clock),
    )


def belongs(run: Task, task_id: str) -> Task:
    if run.task_id != task_id:
        raise NotFound(f"the task {task_id} has no run {run.id}")
    return run
