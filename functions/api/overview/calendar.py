"""The calendar: the items due in the next hour by minute, and in the next week by hour.

That of all tenants is made of counts that the recorder keeps. For a tenant's, each request reads the tenant's lists in
the order of the instants, up to a number of items. A tenant with more items sees how far the calendar reaches. Runs of
recurring tasks do not count in a tenant's: the later ones are not written yet.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Final, TypeAlias

from postdate.domain import instants
from postdate.domain.calendar import DueCount
from postdate.domain.payment import State
from postdate.stores.ledger import Ledger, PaymentsWanted
from postdate.stores.places import id_at, instant_at
from postdate.stores.tasks import Tasks, TasksWanted

BY_MINUTE: Final = timedelta(hours=1)
DAY: Final = timedelta(days=1)
REACHES: Final = timedelta(days=7)
# Entries of each list that one request reads.
READ_MAX: Final = 500
_PAGE: Final = 100
# Sums of the next hour, day and week.
Sums: TypeAlias = tuple[DueCount, DueCount, DueCount]
_HOUR_MINUTES: Final = 60


@dataclass(frozen=True, kw_only=True, slots=True)
class Calendar:
    """Counts of the items that are due."""

    # The counts are complete before this instant.
    until: datetime
    # The sums of the next hour, day and week.
    sums: Sums
    # The counts of the next hour by minute; minutes without items are missing.
    minutes: Mapping[int, DueCount]
    # The counts of the week by the first minutes of hours; hours without items are missing.
    hours: Mapping[int, DueCount]
    # The sums by the tier of the tenants; only of the calendar of all tenants.
    tiers: Mapping[str, Sums] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True, slots=True)
class Calendars:
    tasks: Tasks
    ledger: Ledger

    def of(self, tenant: str, now: datetime, *, payments: bool) -> Calendar:
        """Reads the payments only if it is to show them."""
        found = [self._tasks(tenant, now), *([self._payments(tenant, now)] if payments else [])]
        until = min(each.until for each in found)
        counted = [(at, due) for each in found for at, due in each.due if at < until]
        return _calendar(counted, now=now, until=until)

    def _tasks(self, tenant: str, now: datetime) -> "_Read":
        wanted = TasksWanted(tenant=tenant, since=now, until=now + REACHES)
        places = _pages(lambda after: self.tasks.listed([wanted], after=after, limit=_PAGE))
        found = self.tasks.get_many({id_at(place) for place in places}).values() if places else ()
        due = [(each.planned_at, DueCount(tasks=1)) for each in found if each.state.waits]
        return _Read(due=due, until=_until(places, now))

    def _payments(self, tenant: str, now: datetime) -> "_Read":
        wanted = PaymentsWanted(tenant=tenant, since=now, until=now + REACHES)
        places = _pages(
            lambda after: [
                each.place for each in self.ledger.payments_listed(wanted, after=after, limit=_PAGE)
            ]
        )
        found = self.ledger.payments({id_at(place) for place in places}).values() if places else ()
        due = [
            (each.planned_at, DueCount(payments=1, amount=each.amount))
            for each in found
            if each.state is State.PENDING
        ]
        return _Read(due=due, until=_until(places, now))


def of_service(counts: Mapping[str, Mapping[int, DueCount]], now: datetime) -> Calendar:
    """The calendar of all tenants, from counts of minutes by tier. The minute that runs is left out. Counts are never
    below 0: a registration that was not counted may have been withdrawn since."""
    by_tier = {tier: _to_come(some, now) for tier, some in counts.items()}
    whole = defaultdict[int, DueCount](DueCount)
    for some in counts.values():
        for minute, due in some.items():
            whole[minute] += due
    calendar = _calendar(_to_come(whole, now), now=now, until=now + REACHES)
    return replace(calendar, tiers={tier: _sums(found, now) for tier, found in by_tier.items()})


def _to_come(counts: Mapping[int, DueCount], now: datetime) -> list[tuple[datetime, DueCount]]:
    return [
        (
            instants.start_of(minute),
            DueCount(tasks=max(0, due.tasks), payments=max(0, due.payments), amount=max(0, due.amount)),
        )
        for minute, due in counts.items()
        if now < instants.start_of(minute) < now + REACHES
    ]


def _calendar(counted: Iterable[tuple[datetime, DueCount]], *, now: datetime, until: datetime) -> Calendar:
    found = [(at, due) for at, due in counted if due != DueCount()]
    minutes, hours = defaultdict[int, DueCount](DueCount), defaultdict[int, DueCount](DueCount)
    for at, due in found:
        minute = instants.minute_of(at)
        hours[minute - minute % _HOUR_MINUTES] += due
        if at < now + BY_MINUTE:
            minutes[minute] += due

    return Calendar(until=until, sums=_sums(found, now), minutes=minutes, hours=hours)


def _sums(found: Iterable[tuple[datetime, DueCount]], now: datetime) -> Sums:
    counted = list(found)

    def within(span: timedelta) -> DueCount:
        return sum((due for at, due in counted if at < now + span), start=DueCount())

    return within(BY_MINUTE), within(DAY), within(REACHES)


@dataclass(frozen=True, kw_only=True, slots=True)
class _Read:
    """Instants with what is due then, complete before `until`."""

    # Instants, each with one item.
    due: list[tuple[datetime, DueCount]]
    # The list is complete before this instant.
    until: datetime


def _pages(page: Callable[[str], list[str]]) -> list[str]:
    places: list[str] = []
    while len(places) < READ_MAX:
        found = page(places[-1] if places else "")
        places += found
        if len(found) < _PAGE:
            break
    return places


def _until(places: list[str], now: datetime) -> datetime:
    return instant_at(places[-1]) if len(places) >= READ_MAX else now + REACHES
