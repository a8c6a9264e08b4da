"""Pages of a tenant's runs of all recurring tasks, in the order of their planned instants.

The list has no deliveries to subscriptions. Runs of one recurring task are read from the list of that task, so a page
of them costs the same however many runs the other tasks have. That list is in the order of ids. Ids begin with the
planned minutes, so the query's instants say which ids to read.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from functions.api import listing
from functions.api.listing import ORDERS, Page, Span
from functions.api.tasks.listing import PLACE, ranges
from functions.api.unfinished import Unfinished
from postdate.domain import instants
from postdate.domain.definition import is_definition
from postdate.domain.errors import ValidationFailed
from postdate.domain.item import kind_of
from postdate.domain.slots import first_of
from postdate.domain.task import RUN_KIND, State, Task
from postdate.runtime.clock import Clock
from postdate.stores.places import id_at
from postdate.stores.tasks import Tasks, TasksWanted

# A place in a list of the tenant, or the id of a run in the list of its task.
_AFTER: Final = re.compile(rf"{PLACE}|{RUN_KIND}_[0-9a-z]{{24}}")


@dataclass(frozen=True, kw_only=True, slots=True)
class TenantRunQuery:
    """The filters of a list of all runs."""

    tenant: str
    status: State | None
    # The recurring task; None for runs of all of them.
    task_id: str | None
    # The planned instants: `since` is the first, `until` the first behind the last.
    since: datetime | None
    until: datetime | None
    newest_first: bool
    span: Span

    @classmethod
    def of(cls, tenant: str, parameters: Mapping[str, str]) -> "TenantRunQuery":
        listing.only_known(parameters, "status", "task_id", "from", "until", "order")
        names = ("status", "task_id", "from", "until")
        status, task_id, since, until = (parameters.get(each) for each in names)
        if status is not None and status not in State.__members__:
            raise ValidationFailed([("status", f"is one of {', '.join(State)}")])
        newest_first = listing.is_newest_first(parameters, usual=ORDERS[1])
        asked = (status, task_id, since, until, str(newest_first))
        span = Span.of(parameters, "runs of all", tenant, *asked)
        if span.after and not _AFTER.fullmatch(span.after):
            raise ValidationFailed([("cursor", "is not a cursor of this API")])
        return cls(
            tenant=tenant,
            status=None if status is None else State(status),
            task_id=task_id,
            since=listing.instant(parameters, "from"),
            until=listing.instant(parameters, "until"),
            newest_first=newest_first,
            span=span,
        )

    def wants(self, run: Task) -> bool:
        return (
            run.tenant == self.tenant
            and self.status in (None, run.state)
            and (self.since is None or self.since <= run.planned_at)
            and (self.until is None or run.planned_at < self.until)
        )


def page_of_tenant(
    query: TenantRunQuery, tasks: Tasks, unfinished: Unfinished, *, clock: Clock
) -> Page[Task]:
    return listing.page(
        query.span,
        listed=_of_all(query, tasks, unfinished, now=clock.now())
        if query.task_id is None
        else _of_one(query, query.task_id, tasks),
        loaded=lambda places: _loaded(places, tasks),
        wants=query.wants,
        filters=query.status is not None,
        has_time=listing.within(clock),
    )


def _of_all(
    query: TenantRunQuery, tasks: Tasks, unfinished: Unfinished, *, now: datetime
) -> Callable[[str, int], Sequence[str]]:
    every = TasksWanted(tenant=query.tenant, since=query.since, until=query.until, runs=True)
    wanted = [every] if query.status is None else ranges(every, query.status, unfinished, now=now)
    return lambda after, limit: tasks.listed(
        wanted, after=after, limit=limit, newest_first=query.newest_first
    )


def _of_one(query: TenantRunQuery, task_id: str, tasks: Tasks) -> Callable[[str, int], Sequence[str]]:
    """The ids are cut to the minutes of the query: they begin with the planned minute."""
    first = "" if query.since is None else _first_of(instants.minute_of(query.since))
    last = "" if query.until is None else _first_of(instants.minute_of(query.until) + 1)

    def listed(after: str, limit: int) -> list[str]:
        if not is_definition(task_id):
            return []
        if query.newest_first:
            found = tasks.runs_back(query.tenant, task_id, before=after or last, limit=limit)
            return [id for id in found if id >= first]
        found = tasks.runs_listed(query.tenant, task_id, after=after or first, limit=limit)
        return [id for id in found if not last or id < last]

    return listed


def _first_of(minute: int) -> str:
    return f"{RUN_KIND}_{first_of(minute)}"


def _loaded(places: Sequence[str], tasks: Tasks) -> Mapping[str, Task]:
    """An entry that the index has twice, for the task was given another instant just now, counts once."""
    places_of = {_id_of(place): place for place in places}
    found = tasks.get_many(id for id in places_of if kind_of(id) == RUN_KIND)
    return {places_of[id]: run for id, run in found.items()}


def _id_of(place: str) -> str:
    return place if place.startswith(RUN_KIND) else id_at(place)
