"""Pages of a tenant's tasks: first those that recur, then the others in the order of their planned instants.

States that few tasks are in have lists of their own, which also hold runs of recurring tasks. For the other states the
planned instants say where to look, and each task found there is looked up.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Final

from functions.api import listing
from functions.api.listing import CLOCKS_APART, Page, Span
from functions.api.unfinished import Between, Unfinished
from postdate.domain import instants
from postdate.domain.definition import Definition, is_definition
from postdate.domain.definition import State as DefinitionState
from postdate.domain.errors import ValidationFailed
from postdate.domain.item import kind_of
from postdate.domain.task import KIND, KINDS, State, Task
from postdate.runtime.clock import Clock
from postdate.stores.definitions import Definitions
from postdate.stores.places import id_at
from postdate.stores.tasks import Listing, Tasks, TasksWanted

STATUSES: Final = tuple(dict.fromkeys(each.value for each in (*State, *DefinitionState)))
# Lists by state have deliveries to subscriptions too, so a page may end at one.
PLACE: Final = rf"[0-9]{{13}}(?:{'|'.join(sorted(KINDS))})_[0-9a-z]{{24}}"
# Definitions stand at the first of all instants.
_BEHIND_DEFINITIONS: Final = instants.EPOCH + timedelta(milliseconds=1)


@dataclass(frozen=True, kw_only=True, slots=True)
class TaskQuery:
    """The filters of a list of tasks."""

    # The owner.
    tenant: str
    # A state of tasks or of definitions; None for all.
    status: str | None
    # The owner's name for the task; None for all.
    name: str | None
    # One of the tags; None for all.
    tag: str | None
    # The planned instants: `since` is the first, `until` the first behind the last.
    since: datetime | None
    until: datetime | None
    # True to turn the order round.
    newest_first: bool
    # False to leave runs out of the lists by state.
    runs: bool
    # The place and the length of the page.
    span: Span

    @classmethod
    def of(cls, tenant: str, parameters: Mapping[str, str], *, runs: bool = True) -> "TaskQuery":
        listing.only_known(parameters, "status", "name", "tag", "from", "until", "order")
        status, name, tag = (parameters.get(each) for each in ("status", "name", "tag"))
        if status is not None and status not in STATUSES:
            raise ValidationFailed([("status", f"is one of {', '.join(STATUSES)}")])
        newest_first = listing.is_newest_first(parameters)
        ends = (parameters.get("from"), parameters.get("until"))
        span = Span.of(parameters, "tasks", tenant, status, name, tag, *ends, str(newest_first))
        if span.after and not re.fullmatch(PLACE, span.after):
            raise ValidationFailed([("cursor", "is not a cursor of this API")])
        return cls(
            tenant=tenant,
            status=status,
            name=name,
            tag=tag,
            since=listing.instant(parameters, "from"),
            until=listing.instant(parameters, "until"),
            newest_first=newest_first,
            runs=runs,
            span=span,
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

    def at(self, now: datetime, unfinished: Unfinished) -> list[TasksWanted]:
        """Returns the ranges of tasks in this state. A list between instants has no definitions, which have no
        instant."""
        cut = self.since is not None or self.until is not None
        every = TasksWanted(tenant=self.tenant, since=self.since, until=self.until)
        if self.status is not None and self.status not in State.__members__:
            return [] if cut else [replace(every, until=_BEHIND_DEFINITIONS)]
        found = [every] if self.status is None else ranges(every, State(self.status), unfinished, now=now)
        if not cut and (self.status is None or self.status in Listing.__members__):
            return found
        return [replace(each, since=max(each.since or instants.EPOCH, _BEHIND_DEFINITIONS)) for each in found]


def ranges(every: TasksWanted, state: State, unfinished: Unfinished, *, now: datetime) -> list[TasksWanted]:
    """Returns the parts of a list in which items of the state lie: the whole list if it names its first instant."""
    if state in Listing.__members__:
        return [replace(every, listing=Listing(state))]
    latest = now + CLOCKS_APART
    lingering = replace(every, listing=Listing.LINGERING)
    begun = replace(every, until=min(every.until or latest, latest))
    match state:
        case State.PENDING:
            return [*_parts(every, unfinished.minutes().waiting), lingering]
        case State.RUNNING:
            return [*_parts(begun, unfinished.minutes().running), lingering]
        case State.RETRYING:
            return [lingering]
        case State.SUCCEEDED | State.DEAD | State.CANCELLED | State.EXPIRED | State.SKIPPED | State.MISSED:
            return [begun]


def _parts(whole: TasksWanted, spans: Sequence[Between]) -> list[TasksWanted]:
    """The parts of the list that lie in spans with unfinished items. A list with a first instant is read whole: the
    request itself bounds the search."""
    if whole.since is not None:
        return [whole]
    parts = [each.cut(None, whole.until) for each in spans]
    return [replace(whole, since=part.since, until=part.until) for part in parts if part is not None]


def page(
    query: TaskQuery, tasks: Tasks, definitions: Definitions, unfinished: Unfinished, *, clock: Clock
) -> Page[Task | Definition]:
    wanted, has_time = query.at(clock.now(), unfinished), listing.within(clock)

    def loaded(places: Sequence[str]) -> Mapping[str, Task | Definition]:
        """An entry that the index has twice, for the task was given another instant just now, counts once."""
        places_of = {id_at(place): place for place in places}
        ids = [id for id in places_of if query.runs or kind_of(id) == KIND]
        recurring = [id for id in ids if is_definition(id)]
        others = [id for id in ids if not is_definition(id)]
        plans = definitions.get_many(recurring) if recurring else {}
        found: Mapping[str, Task | Definition] = {**plans, **(tasks.get_many(others) if others else {})}
        return {places_of[id]: each for id, each in found.items()}

    return listing.page(
        query.span,
        listed=lambda after, limit: tasks.listed(
            wanted, after=after, limit=limit, newest_first=query.newest_first
        ),
        loaded=loaded,
        wants=query.wants,
        filters=query.filters,
        has_time=has_time,
    )
