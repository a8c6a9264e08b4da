"""Five fields of cron on the clocks of a zone: which wall times they name, and the instants of these.

    minute 0-59   hour 0-23   day of month 1-31   month 1-12 or JAN-DEC   day of week 0-7 or SUN-SAT, 0 and 7 are Sunday

A field is `*` or a list of values and of ranges `a-b`; `*` and ranges take a step `/n`. When both kinds of day are
named, a day of either kind counts. A wall time is one occurrence, whatever the clocks do: see `wall_clock`.
"""

from bisect import bisect_left
from calendar import monthrange
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from typing import Final, Self
from zoneinfo import ZoneInfo

from postdate.domain import instants
from postdate.domain.cron_fields import five_fields, values
from postdate.domain.errors import ValidationFailed
from postdate.domain.wall_clock import first_shown, shown, zone_named

_LEAP_YEAR: Final = 2000
_DAY: Final = timedelta(days=1)


@dataclass(frozen=True, kw_only=True, slots=True)
class Occurrence:
    """One planned run. No two occurrences of a plan share a wall time, and no two share an instant."""

    # The local time of the run, which names the occurrence.
    wall: datetime
    # The instant of that wall time.
    at: datetime
    # The instant at which the run is due: `at`, or later by the jitter of the occurrence.
    due_at: datetime


@dataclass(frozen=True, kw_only=True, slots=True)
class Cron:
    # The five fields, after names such as `@daily` were replaced.
    text: str
    # The zone whose wall clock the fields mean.
    zone: ZoneInfo
    # The allowed values of each field, in order.
    minutes: tuple[int, ...]
    hours: tuple[int, ...]
    days: tuple[int, ...]
    months: tuple[int, ...]
    # 0 is Sunday.
    weekdays: tuple[int, ...]
    # True if both day fields are restricted: then a day that fits one of them counts, as cron has it.
    either_day: bool

    @classmethod
    def parse(cls, text: str, timezone: str = "UTC") -> Self:
        """Refuses, with a reason, what is no cron, what would never run, and an unknown zone."""
        zone = zone_named(timezone)
        texts = five_fields(text)
        minutes, hours, days, months, weekdays = values(texts)
        _, _, day, _, weekday = texts
        cron = cls(
            text=" ".join(texts),
            zone=zone,
            minutes=minutes,
            hours=hours,
            days=days,
            months=months,
            weekdays=tuple(sorted({value % 7 for value in weekdays})),
            either_day=day != "*" and weekday != "*",
        )
        # 2000 is a leap year, so 29 February exists in it. Days that it lacks exist in no year.
        if next(cron._days(date(_LEAP_YEAR, 1, 1), until=_LEAP_YEAR + 1), None) is None:
            raise ValidationFailed([("cron", "would never run: none of its months has such a day")])
        return cron

    @property
    def timezone(self) -> str:
        return self.zone.key

    def shown(self, at: datetime) -> datetime:
        """The wall time at this instant, in whole minutes."""
        return shown(self.zone, at).replace(second=0, microsecond=0)

    def first_shown(self, wall: datetime) -> datetime:
        """The instant of a wall time, by the time-zone database as it is now."""
        return first_shown(self.zone, wall)

    def next_after(self, after: datetime) -> Occurrence | None:
        return next(self.walk(after), None)

    def walk(self, after: datetime) -> Iterator[Occurrence]:
        """The occurrences later than this instant, from 1970 until 2200; the same ones from wherever one begins.

        Wall times that are skipped have one instant in common, so they are one occurrence: the one that the plan has at
        that instant anyway, or else the first of them.
        """
        if after.tzinfo is None:
            raise ValueError("an instant needs an offset")
        after = max(after, instants.EPOCH)
        if after >= instants.LAST:
            return
        for wall in self.walls(shown(self.zone, after).replace(second=0, microsecond=0) + instants.MINUTE):
            at = first_shown(self.zone, wall)
            # Otherwise it was skipped together with the one before it, or shown before the clocks were set back.
            if at > after:
                there = shown(self.zone, at)
                # The clocks show another time if they skip this one.
                named = there if there != wall and self.names(there) else wall
                yield Occurrence(wall=named, at=at, due_at=at)
                after = at

    def walls(self, first: datetime) -> Iterator[datetime]:
        """The wall times it names from this one on, in order; this minute included."""
        for day in self._days(first.date(), until=instants.LAST.year):
            from_hour = first.hour if day == first.date() else 0
            for hour in self.hours[bisect_left(self.hours, from_hour) :]:
                from_minute = first.minute if (day, hour) == (first.date(), first.hour) else 0
                for minute in self.minutes[bisect_left(self.minutes, from_minute) :]:
                    yield datetime.combine(day, time(hour, minute))

    def names(self, wall: datetime) -> bool:
        """True if the cron has this wall time."""
        return (
            (wall.second, wall.microsecond) == (0, 0)
            and wall.minute in self.minutes
            and wall.hour in self.hours
            and wall.month in self.months
            and self._falls_on(wall)
        )

    def shortest_interval(self) -> timedelta:
        """The least time between two wall times, taking every day for a day of this cron."""
        times = [timedelta(hours=hour, minutes=minute) for hour in self.hours for minute in self.minutes]
        return min(after - before for before, after in zip(times, [*times[1:], times[0] + _DAY], strict=True))

    def _days(self, first: date, *, until: int) -> Iterator[date]:
        for year in range(first.year, until):
            for month in self.months:
                if (year, month) >= (first.year, first.month):
                    same = (year, month) == (first.year, first.month)
                    for number in range(first.day if same else 1, monthrange(year, month)[1] + 1):
                        day = date(year, month, number)
                        if self._falls_on(day):
                            yield day

    def _falls_on(self, day: date) -> bool:
        of_month, of_week = day.day in self.days, day.isoweekday() % 7 in self.weekdays
        return of_month or of_week if self.either_day else of_month and of_week
