"""Finds the items that a filter names, in the lists by state and by instant: the reads grow with what the filter names,
and not with what is stored."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from datetime import datetime, timedelta
from typing import Final, TypeVar, assert_never

from functions.api import listing
from functions.api.listing import Span
from functions.api.payments.listing import PaymentQuery as PaymentQuery
from functions.api.payments.listing import listed
from functions.api.tasks.listing import TaskQuery as TaskQuery
from functions.api.unfinished import Unfinished
from postdate.domain import definition, operation_counts, payment, task
from postdate.domain import operation as rules
from postdate.domain.definition import Definition, is_definition
from postdate.domain.errors import LimitExceeded
from postdate.domain.operation import Action, Kind
from postdate.domain.operation_items import Item
from postdate.domain.payment import Payment
from postdate.domain.task import Task
from postdate.runtime.clock import Clock
from postdate.stores.definitions import Definitions
from postdate.stores.ledger import Ledger, PaymentsWanted
from postdate.stores.places import id_at
from postdate.stores.tasks import Tasks

EVALUATED_MAX: Final = 20_000
ItemT = TypeVar("ItemT", Task, Payment, Definition)
_READ_AT_ONCE: Final = 500
# A request has 29 seconds; this is the part for the search.
_TIME: Final = timedelta(seconds=15)
_NO_SPAN: Final = Span(limit=1, after="", mark="")
# The one state in which most actions find something to do. A filter that names none looks there.
_USUAL: Final[dict[tuple[Kind, Action], str]] = {
    (Kind.TASKS, Action.REDRIVE): task.State.DEAD,
    (Kind.TASKS, Action.RETRY): task.State.DEAD,
    (Kind.TASKS, Action.DISCARD): task.State.DEAD,
    (Kind.TASKS, Action.CANCEL): task.State.PENDING,
    (Kind.PAYMENTS, Action.REDRIVE): payment.State.EXECUTING,
    (Kind.PAYMENTS, Action.RETRY): payment.State.EXECUTING,
    (Kind.PAYMENTS, Action.CANCEL): payment.State.PENDING,
    (Kind.PLANS, Action.PAUSE): definition.State.ACTIVE,
    (Kind.PLANS, Action.RESUME): definition.State.PAUSED,
    (Kind.PLANS, Action.CANCEL): definition.State.ACTIVE,
}


@dataclass(frozen=True, kw_only=True, slots=True)
class ItemFilter:
    """The items of a request. A field that is None admits every item."""

    # A state of the kind; by default the one that the action is for.
    status: str | None = None
    # The owner's name for the task.
    name: str | None = None
    # One of its tags.
    tag: str | None = None
    # The beginning of the address.
    destination: str | None = None
    # The fingerprint of the newest failure, see `operation_counts`.
    failure: str | None = None
    # The payer or the payee.
    account: str | None = None
    # The planned instants: `since` is the first, `until` the first behind the last.
    since: datetime | None = None
    until: datetime | None = None
    # Pairs that the payment has, all of them.
    metadata: Mapping[str, str] = field(default_factory=dict)

    @property
    def given(self) -> list[tuple[str, object]]:
        return [(each.name, value) for each in fields(self) if (value := getattr(self, each.name))]


@dataclass(frozen=True, kw_only=True, slots=True)
class Found:
    """The result of a search."""

    # The items that pass the filter.
    items: Sequence[Item]
    # The number of items that were read.
    evaluated: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Finder:
    tasks: Tasks
    definitions: Definitions
    ledger: Ledger
    unfinished: Unfinished
    clock: Clock

    def find(self, tenant: str, action: Action, kind: Kind, asked: ItemFilter) -> Found:
        """Raises LimitExceeded for a filter that more items fit than an operation may have, or that is too wide to be
        evaluated in one request."""
        status = asked.status or _USUAL[kind, action]
        match kind:
            case Kind.PAYMENTS:
                return self._payments(tenant, status, asked)
            case Kind.PLANS:
                return self._plans(tenant, status, asked)
            case Kind.TASKS:
                return self._tasks(tenant, status, asked)
            case _:
                assert_never(kind)

    def _plans(self, tenant: str, status: str, asked: ItemFilter) -> Found:
        query = _tasks_query(tenant, status, asked)
        wanted = query.at(self.clock.now(), self.unfinished)

        def loaded(places: Iterable[str]) -> Mapping[str, Definition]:
            ids = (id for id in map(id_at, places) if is_definition(id))
            return self.definitions.get_many(ids).complete()

        return self._walked(
            lambda after: self.tasks.listed(wanted, after=after, limit=_READ_AT_ONCE),
            loaded,
            lambda item: query.wants(item) and _goes_to(asked, item.template.destination.address),
        )

    def _tasks(self, tenant: str, status: str, asked: ItemFilter) -> Found:
        query = _tasks_query(tenant, status, asked)
        wanted = query.at(self.clock.now(), self.unfinished)

        def loaded(places: Iterable[str]) -> Mapping[str, Task]:
            ids = (id for id in map(id_at, places) if not is_definition(id))
            return self.tasks.get_many(ids).complete()

        return self._walked(
            lambda after: self.tasks.listed(wanted, after=after, limit=_READ_AT_ONCE),
            loaded,
            lambda item: query.wants(item) and _fits(asked, item.destination.address, item.error),
        )

    def _payments(self, tenant: str, status: str, asked: ItemFilter) -> Found:
        query = PaymentQuery(
            wanted=PaymentsWanted(
                tenant=tenant,
                account=asked.account,
                state=payment.State(status),
                since=asked.since,
                until=asked.until,
            ),
            metadata=tuple(asked.metadata.items()),
            span=_NO_SPAN,
        )
        wanted = query.at(self.clock.now(), self.unfinished)
        return self._walked(
            lambda after: [
                each.place for each in listed(self.ledger, wanted, after=after, limit=_READ_AT_ONCE)
            ],
            lambda places: self.ledger.payments(map(id_at, places)),
            lambda item: query.wants(item) and _fits(asked, "", item.error),
        )

    def _walked(
        self,
        listed: Callable[[str], Sequence[str]],
        loaded: Callable[[Iterable[str]], Mapping[str, ItemT]],
        wants: Callable[[ItemT], bool],
    ) -> Found:
        """Reads a list page by page, and selects the wanted items. Raises LimitExceeded for a filter that too many
        items fit, or that needs too many reads."""
        found: dict[str, ItemT] = {}
        after, evaluated, has_time = "", 0, listing.within(self.clock, _TIME)
        while places := listed(after):
            rows = loaded(places)
            evaluated += len(rows)
            found |= {id: item for id, item in rows.items() if wants(item)}
            after = places[-1]
            if len(found) > rules.ITEMS_MAX:
                raise LimitExceeded(
                    [("filter", f"matches more than {rules.ITEMS_MAX} items; use a narrower filter")]
                )
            if len(places) < _READ_AT_ONCE:
                break
            if evaluated >= EVALUATED_MAX or not has_time():
                why = f"needs too many reads ({evaluated} items so far); use a narrower filter"
                raise LimitExceeded([("filter", why)])
        return Found(items=list(found.values()), evaluated=evaluated)


def _tasks_query(tenant: str, status: str, asked: ItemFilter) -> TaskQuery:
    """The filters that the lists of tasks know. The destination and the failure are looked at in the items."""
    return TaskQuery(
        tenant=tenant,
        status=status,
        name=asked.name,
        tag=asked.tag,
        since=asked.since,
        until=asked.until,
        newest_first=False,
        runs=True,
        span=_NO_SPAN,
    )


def _fits(asked: ItemFilter, address: str, error: str | None) -> bool:
    return _goes_to(asked, address) and (
        asked.failure is None or operation_counts.fingerprint(error) == asked.failure
    )


def _goes_to(asked: ItemFilter, address: str) -> bool:
    return asked.destination is None or address.startswith(asked.destination)
