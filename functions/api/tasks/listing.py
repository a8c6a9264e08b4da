"""Pages of a tenant's tasks, in the order of the minutes they were registered for."""

from collections.abc import Mapping
from dataclasses import dataclass

from functions.api import listing
from functions.api.listing import Span
from postdate.domain.errors import ValidationFailed
from postdate.domain.task import State, Task
from postdate.stores.tasks import Tasks


@dataclass(frozen=True, kw_only=True, slots=True)
class Query:
    tenant: str
    status: State | None
    name: str | None
    tag: str | None
    span: Span

    @classmethod
    def of(cls, tenant: str, parameters: Mapping[str, str]) -> "Query":
        listing.only_known(parameters, "status", "name", "tag")
        status, name, tag = (parameters.get(each) for each in ("status", "name", "tag"))
        if status is not None and status not in State.__members__:
            raise ValidationFailed([("status", f"is one of {', '.join(State)}")])
        return cls(
            tenant=tenant,
            status=None if status is None else State(status),
            name=name,
            tag=tag,
            span=Span.of(parameters, "tasks", tenant, status, name, tag),
        )

    @property
    def filters(self) -> bool:
        return any(wanted is not None for wanted in (self.status, self.name, self.tag))

    def wants(self, task: Task) -> bool:
        return (
            task.tenant == self.tenant
            and self.status in (None, task.state)
            and self.name in (None, task.name)
            and (self.tag is None or self.tag in task.tags)
        )


def page(query: Query, tasks: Tasks) -> tuple[list[Task], str | None]:
    return listing.page(
        query.span,
        listed=lambda after, limit: tasks.listed(query.tenant, after=after, limit=limit),
        loaded=tasks.get_many,
        wants=query.wants,
        filters=query.filters,
    )
