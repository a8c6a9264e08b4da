"""Pages of a tenant's tasks: first those that recur, then the others in the order of the minutes they were registered
for."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from functions.api import listing
from functions.api.listing import Page, Span
from postdate.domain.definition import Definition, is_definition
from postdate.domain.definition import State as DefinitionState
from postdate.domain.errors import ValidationFailed
from postdate.domain.task import State, Task
from postdate.runtime.clock import Clock
from postdate.stores.definitions import Definitions
from postdate.stores.tasks import Tasks

STATUSES: Final = tuple(dict.fromkeys(each.value for each in (*State, *DefinitionState)))


@dataclass(frozen=True, kw_only=True, slots=True)
class Query:
    tenant: str
    status: str | None
    name: str | None
    tag: str | None
    span: Span

    @classmethod
    def of(cls, tenant: str, parameters: Mapping[str, str]) -> "Query":
        listing.only_known(parameters, "status", "name", "tag")
        status, name, tag = (parameters.get(each) for each in ("status", "name", "tag"))
        if status is not None and status not in STATUSES:
            raise ValidationFailed([("status", f"is one of {', '.join(STATUSES)}")])
        return cls(
            tenant=tenant,
            status=status,
            name=name,
            tag=tag,
            span=Span.of(parameters, "tasks", tenant, status, name, tag),
        )

    @property
    def filters(self) -> bool:
        return any(wanted is not None for wanted in (self.status, self.name, self.tag))

    def wants(self, task: Task | Definition) -> bool:
        return (
            task.tenant == self.tenant
            and self.status in (None, task.state.value)
            and self.name in (None, task.name)
            and (self.tag is None or self.tag in task.tags)
        )


def page(query: Query, tasks: Tasks, definitions: Definitions, *, clock: Clock) -> Page[Task | Definition]:
    def loaded(ids: Sequence[str]) -> Mapping[str, Task | Definition]:
        recurring = [id for id in ids if is_definition(id)]
        once = [id for id in ids if not is_definition(id)]
        plans = definitions.get_many(recurring) if recurring else {}
        return {**plans, **(tasks.get_many(once) if once else {})}

    return listing.page(
        query.span,
        listed=lambda after, limit: tasks.listed(query.tenant, after=after, limit=limit),
        loaded=loaded,
        wants=query.wants,
        filters=query.filters,
        has_time=listing.within(clock),
    )
