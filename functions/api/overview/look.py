"""The sources of the overview: tallies that the sweep wrote, its passes, and the depths of the queues.

The path of an item has no write for the overview. A look makes a fixed number of requests, however many
items and tenants there are, but for a tenant's calendar, which has a bound.
"""

from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from functions.api.overview import calendar
from functions.api.overview.calendar import Calendar, Calendars
from postdate.domain import instants
from postdate.domain.breaker import Breaker
from postdate.domain.calendar import DueCount
from postdate.domain.reconciling import Reconciliation
from postdate.domain.sweeping import Groups, Horizon, Stage, SweepProgress, Watermark
from postdate.domain.switch import Switch
from postdate.domain.tally import MinuteTally
from postdate.runtime.alarms import Firing
from postdate.runtime.clock import Clock
from postdate.runtime.depths import Depth
from postdate.stores.dependencies import Failing, FailingDependencies
from postdate.stores.flow import Circuit, Flow, Key
from postdate.stores.passes import Passes
from postdate.stores.switches import Switches
from postdate.stores.tallies import Tallies

MINUTES_SHOWN: Final = 60
ATTENTION_SHOWN: Final = 100
# SQS counts to some seconds, and an alarm's state changes once a minute.
DEPTHS_KEPT: Final = timedelta(seconds=5)
ALARMS_KEPT: Final = timedelta(seconds=10)
# CloudWatch has one figure a minute, and each costs a request.
AGES_KEPT: Final = timedelta(minutes=1)
# The recorder counts some seconds after the registration.
CALENDAR_KEPT: Final = timedelta(seconds=10)
# One ends each night, and an approval changes it.
RECONCILIATION_KEPT: Final = timedelta(seconds=10)
_BEATS_MISSED: Final = 3
_AT_ONCE: Final = 8
_OPENED_BY: Final = frozenset(Stage)
_CLOSED_BY: Final = frozenset({Stage.CLOSE, Stage.AUDIT})


@dataclass(frozen=True, kw_only=True, slots=True)
class Minute:
    # The minute, counted from 1970.
    minute: int
    # True if the sweep has closed the minute, so that its tallies are complete.
    counted: bool
    # The tallies by the kind of items; empty without items.
    kinds: Mapping[str, MinuteTally]


@dataclass(frozen=True, kw_only=True, slots=True)
class SweepState:
    """The progress of the sweep."""

    # False after three missed heartbeats.
    is_alive: bool
    # 0 while every minute that begins within the lead is open.
    behind_minutes: int
    # The last minute up to which all passes are made; None before the first sweep.
    watermark: int | None
    # The instant of the newest heartbeat; None before the first.
    heartbeat_at: datetime | None


@dataclass(frozen=True, kw_only=True, slots=True)
class Attention:
    """Open breakers, and keys that are paused; at most ATTENTION_SHOWN of each."""

    # The open breakers, by their circuits.
    breakers: Mapping[Circuit, Breaker]
    # The paused keys.
    keys: list[Key]


@dataclass(frozen=True, kw_only=True, slots=True)
class LastHour:
    # The instant of the look.
    at: datetime
    # The minutes of the last hour.
    minutes: list[Minute]
    # Breakers and keys that need a person.
    attention: Attention


@dataclass(frozen=True, kw_only=True, slots=True)
class OfTenant(LastHour):
    # The tenant's calendar.
    calendar: Calendar


@dataclass(frozen=True, kw_only=True, slots=True)
class Looked(LastHour):
    """The overview of operators."""

    # The calendar of all tenants.
    calendar: Calendar
    # The progress of the sweep.
    sweeping: SweepState
    # The depths of the queues by their names.
    queues: Mapping[str, Depth]
    # Seconds for which the oldest message waits; of an empty queue none.
    ages: Mapping[str, int]
    # The switches that were ever turned.
    switches: list[Switch]
    # The alarms that fire; None if they are not known now.
    alarms: list[Firing] | None
    # The dependencies whose breakers are open.
    dependencies: list[Failing]
    # The newest reconciliation; None before the first.
    reconciliation: Reconciliation | None


@dataclass(frozen=True, kw_only=True, slots=True)
class Look:
    """Reads the overview. A function among the fields reads when it is called."""

    passes: Passes
    tallies: Tallies
    flow: Flow
    switches: Switches
    failing: FailingDependencies
    calendars: Calendars
    # The depth of each queue, by its name.
    depths: Mapping[str, Callable[[], Depth]]
    # The ages of the oldest messages, by the names of the queues.
    ages: Callable[[], Mapping[str, int]]
    # The alarms that fire.
    alarms: Callable[[], list[Firing] | None]
    # The counts of the minutes of the next week by tier, for the calendar of all tenants.
    counts: Callable[[], Mapping[str, Mapping[int, DueCount]]]
    # The newest reconciliation.
    reconciled: Callable[[], Reconciliation | None]
    groups: Groups
    horizon: Horizon
    # The time between two heartbeats of the sweep.
    beat: timedelta
    clock: Clock

    def at_tenant(self, tenant: str, *, payments: bool) -> OfTenant:
        """Reads the tenant's payments to come only with `payments`."""
        now = self.clock.now()
        shown = _shown(now)
        with ThreadPoolExecutor(_AT_ONCE) as readers:
            tallies = readers.submit(self.tallies.between, shown.start, shown.stop - 1, tenant=tenant)
            done = readers.submit(self._passes, shown)
            attention = readers.submit(self._attention, tenant)
            calendar = readers.submit(self.calendars.of, tenant, now, payments=payments)
            return OfTenant(
                at=now,
                minutes=self._minutes(shown, tallies.result(), done.result()),
                attention=attention.result(),
                calendar=calendar.result(),
            )

    def at_service(self) -> Looked:
        now = self.clock.now()
        shown = _shown(now)
        # Each read waits for the network, so they go side by side.
        with ThreadPoolExecutor(_AT_ONCE) as readers:
            tallies = readers.submit(self.tallies.between, shown.start, shown.stop - 1)
            done = readers.submit(self._passes, range(shown.start, self.horizon.last_minute(now) + 1))
            mark, beat = readers.submit(self.passes.watermark), readers.submit(self.passes.beat)
            attention = readers.submit(self._attention, None)
            switches = readers.submit(self.switches.all)
            failing = readers.submit(self.failing.failing, now)
            alarms, ages = readers.submit(self.alarms), readers.submit(self.ages)
            counts = readers.submit(self.counts)
            reconciled = readers.submit(self.reconciled)
            depths = {name: readers.submit(depth) for name, depth in self.depths.items()}
            return Looked(
                at=now,
                minutes=self._minutes(shown, tallies.result(), done.result()),
                sweeping=self._sweeping(now, done.result(), mark.result(), beat.result()),
                attention=attention.result(),
                queues={name: depth.result() for name, depth in depths.items()},
                ages=ages.result(),
                switches=[each for each in switches.result() if not each.is_caught_up(now)],
                alarms=alarms.result(),
                calendar=calendar.of_service(counts.result(), now),
                dependencies=failing.result(),
                reconciliation=reconciled.result(),
            )

    def _attention(self, tenant: str | None) -> Attention:
        circuits, keys = self.flow.needing_attention(limit=ATTENTION_SHOWN, tenant=tenant)
        return Attention(breakers=self.flow.breakers(circuits) if circuits else {}, keys=keys)

    def _passes(self, minutes: range) -> dict[tuple[int, int], SweepProgress]:
        found = self.passes.between(minutes.start, minutes.stop - 1)
        return {(each.minute, each.group): each for each in found}

    def _minutes(
        self,
        shown: range,
        tallies: Mapping[int, Mapping[str, MinuteTally]],
        done: Mapping[tuple[int, int], SweepProgress],
    ) -> list[Minute]:
        return [
            Minute(
                minute=minute,
                counted=self._is_past(minute, done, _CLOSED_BY),
                kinds=tallies.get(minute, {}),
            )
            for minute in shown
        ]

    def _is_past(
        self, minute: int, done: Mapping[tuple[int, int], SweepProgress], stages: frozenset[Stage]
    ) -> bool:
        found = [done.get((minute, group)) for group in range(self.groups.count(minute))]
        return all(each is not None and each.stage in stages for each in found)

    def _sweeping(
        self,
        now: datetime,
        done: Mapping[tuple[int, int], SweepProgress],
        mark: Watermark | None,
        beat: tuple[int, datetime] | None,
    ) -> SweepState:
        """Looks at the last hour only. The watermark says nothing of opening: an item that runs on keeps it low."""
        first = max(_shown(now).start, -1 if mark is None else mark.minute + 1)
        unopened = next(
            (
                minute
                for minute in range(first, self.horizon.last_minute(now) + 1)
                if not self._is_past(minute, done, _OPENED_BY)
            ),
            None,
        )
        return SweepState(
            is_alive=beat is not None and now < beat[1] + _BEATS_MISSED * self.beat,
            behind_minutes=0 if unopened is None else max(0, instants.minute_of(now) - unopened),
            watermark=None if mark is None else mark.minute,
            heartbeat_at=None if beat is None else beat[1],
        )


def _shown(now: datetime) -> range:
    current = instants.minute_of(now)
    return range(current - MINUTES_SHOWN, current)
