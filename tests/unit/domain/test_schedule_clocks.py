"""Crons against clocks that change, around every change of 60 zones in 20 years.

What is expected comes from looking at the zone's clock minute by minute, and at what each field was written to mean:
no parser and no arithmetic of ours. POSTDATE_EVERY_CRON=1 tries all of the 200 crons at each change; without it a few
are drawn for some of the changes of each zone.
"""

import os
import random
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import islice, takewhile
from typing import Final
from zoneinfo import ZoneInfo

import pytest

from postdate.domain.cron import Cron, Occurrence

EVERY: Final = os.environ.get("POSTDATE_EVERY_CRON") == "1"
CHANGES_DRAWN: Final = 7
CRONS_DRAWN: Final = 8
FIRST: Final = datetime(2007, 1, 1, tzinfo=UTC)
LAST: Final = datetime(2027, 1, 1, tzinfo=UTC)
MINUTE: Final = timedelta(minutes=1)
SECOND: Final = timedelta(seconds=1)
HALF_A_DAY: Final = timedelta(hours=12)
AROUND: Final = timedelta(hours=3)

STEADY: Final = ("UTC", "Asia/Kathmandu", "America/Phoenix")
CHANGING: Final = (
    *(
        "Europe/Berlin",
        "Europe/London",
        "Europe/Dublin",
        "Europe/Lisbon",
        "Europe/Helsinki",
        "Europe/Istanbul",
    ),
    *(
        "Europe/Moscow",
        "Europe/Samara",
        "Europe/Volgograd",
        "Europe/Minsk",
        "Europe/Chisinau",
        "Atlantic/Azores",
    ),
    *(
        "Africa/Casablanca",
        "Africa/El_Aaiun",
        "Africa/Cairo",
        "Africa/Tripoli",
        "Africa/Windhoek",
        "Africa/Juba",
    ),
    *("Africa/Khartoum", "Africa/Sao_Tome", "Asia/Beirut", "Asia/Amman", "Asia/Damascus", "Asia/Gaza"),
    *(
        "Asia/Jerusalem",
        "Asia/Tehran",
        "Asia/Baku",
        "Asia/Yerevan",
        "Asia/Dhaka",
        "Asia/Karachi",
        "Asia/Pyongyang",
    ),
    *("Asia/Ulaanbaatar", "Asia/Novosibirsk", "Asia/Kamchatka", "America/New_York", "America/Chicago"),
    *("America/Los_Angeles", "America/St_Johns", "America/Havana", "America/Mexico_City", "America/Caracas"),
    *("America/Sao_Paulo", "America/Asuncion", "America/Santiago", "America/Nuuk", "America/Scoresbysund"),
    *(
        "America/Metlakatla",
        "Antarctica/Troll",
        "Antarctica/Casey",
        "Antarctica/Macquarie",
        "Australia/Sydney",
    ),
    *("Australia/Lord_Howe", "Pacific/Auckland", "Pacific/Chatham", "Pacific/Apia", "Pacific/Fakaofo"),
    "Pacific/Norfolk",
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Written:
    """A cron as text, and what each of its fields was written to mean."""

    text: str
    meant: tuple[frozenset[int], ...]

    @property
    def either(self) -> bool:
        _, _, day, _, weekday = self.text.split()
        return "*" not in (day, weekday)


class Watched:
    """A zone's clock, looked at each minute: the wall times one after the other, and when each was first reached."""

    def __init__(self, zone: ZoneInfo, first: datetime, last: datetime) -> None:
        self.zone, self.first, self.last = zone, first, last
        self.walls: list[datetime] = []
        self.reached: list[datetime] = []
        self._where: tuple[dict[int, int], ...] = ({}, {}, {}, {}, {})
        furthest = self.look(first)
        instant = first
        while instant < last:
            instant += MINUTE
            looked = self.look(instant)
            while furthest < looked:
                furthest += MINUTE
                self._note(furthest, instant)

    def look(self, instant: datetime) -> datetime:
        return datetime.fromisoformat(instant.astimezone(self.zone).isoformat()[:16])

    def expected(self, cron: Written) -> list[Occurrence]:
        """Expects an occurrence for each instant at which a wall time of the cron is reached: the time that the clock
        shows then, if the cron names it, or else the first of those that were skipped."""
        minute, hour, day, month, weekday = (
            self._union(where.get(value, 0) for value in values)
            for where, values in zip(self._where, cron.meant, strict=True)
        )
        named = minute & hour & month & (day | weekday if cron.either else day & weekday)
        runs: dict[datetime, datetime] = {}
        for place in range(named.bit_length()):
            if named >> place & 1:
                wall, at = self.walls[place], self.reached[place]
                if at not in runs or wall == self.look(at):
                    runs[at] = wall
        return [Occurrence(wall=wall, at=at, due_at=at) for at, wall in runs.items()]

    def _note(self, wall: datetime, instant: datetime) -> None:
        here = 1 << len(self.walls)
        self.walls.append(wall)
        self.reached.append(instant)
        _, month, day, hour, minute, *_ = wall.timetuple()
        for where, value in zip(self._where, (minute, hour, day, month, wall.isoweekday() % 7), strict=True):
            where[value] = where.get(value, 0) | here

    @staticmethod
    def _union(places: Iterable[int]) -> int:
        union = 0
        for some in places:
            union |= some
        return union


def field(
    draw: random.Random, low: int, high: int, among: tuple[int, ...] = ()
) -> tuple[str, frozenset[int]]:
    values = among or range(low, high + 1)
    start, end = sorted((draw.choice(values), draw.choice(values)))
    step = draw.randint(1, max(1, (end - start) // 2))
    some = draw.sample(values, draw.randint(1, min(4, len(values))))
    return draw.choice(
        [
            (f"{some[0]}", frozenset(some[:1])),
            (",".join(map(str, some)), frozenset(some)),
            (f"{start}-{end}", frozenset(range(start, end + 1))),
            (f"{start}-{end}/{step}" if end > start else f"{end}", frozenset(range(start, end + 1, step))),
        ]
    )


def star(low: int, high: int, step: int = 1) -> tuple[str, frozenset[int]]:
    return "*" if step == 1 else f"*/{step}", frozenset(range(low, high + 1, step))


def drawn(draw: random.Random) -> Written:
    """Mostly of the small hours, in which clocks change, and mostly of every day."""
    fields = (
        field(draw, 0, 59) if draw.random() < 0.6 else star(0, 59, draw.choice((5, 7, 10, 15, 20, 30))),
        field(draw, 0, 23, among=(0, 1, 2, 3, 4, 23))
        if draw.random() < 0.7
        else star(0, 23, draw.choice((1, 2, 3))),
        star(1, 31) if draw.random() < 0.7 else field(draw, 1, 31),
        star(1, 12) if draw.random() < 0.8 else field(draw, 1, 12),
        star(0, 6) if draw.random() < 0.7 else field(draw, 0, 6),
    )
    return Written(text=" ".join(text for text, _ in fields), meant=tuple(values for _, values in fields))


def daily(minute: int, hour: int) -> Written:
    rest = (star(1, 31), star(1, 12), star(0, 6))
    values = (frozenset([minute]), frozenset([hour]), *(values for _, values in rest))
    return Written(text=f"{minute} {hour} * * *", meant=values)


def crons() -> Iterator[Written]:
    days = (star(1, 31)[1], star(1, 12)[1], star(0, 6)[1])
    for step in (1, 5, 15, 30):
        text, minutes = star(0, 59, step)
        yield Written(text=f"{text} * * * *", meant=(minutes, star(0, 23)[1], *days))
        yield Written(text=f"{text} 2 * * *", meant=(minutes, frozenset([2]), *days))
    yield Written(text="0 * * * *", meant=(frozenset([0]), star(0, 23)[1], *days))
    for hour in (0, 1, 2, 3, 4, 23):
        yield from (daily(minute, hour) for minute in (0, 15, 30, 59))
    draw = random.Random("crons")
    while True:
        yield drawn(draw)


def changes(zone: ZoneInfo) -> Iterator[tuple[datetime, timedelta]]:
    """Each instant at which the zone's offset changes, and by how much."""
    before = FIRST
    while before < LAST:
        after = before + HALF_A_DAY
        by = offset(zone, after) - offset(zone, before)
        if by:
            low, high = before, after
            while high - low > SECOND:
                middle = low + (high - low) // SECOND // 2 * SECOND
                low, high = (middle, high) if offset(zone, middle) == offset(zone, before) else (low, middle)
            yield high, by
        before = after


def offset(zone: ZoneInfo, instant: datetime) -> timedelta:
    return instant.astimezone(zone).utcoffset()


def until(last: datetime, occurrences: Iterator[Occurrence]) -> Iterator[Occurrence]:
    return takewhile(lambda occurrence: occurrence.at <= last, occurrences)


CRONS: Final = list({cron.text: cron for cron in islice(crons(), 240)}.values())[:200]


def test_the_zones_are_sixty_and_the_crons_two_hundred() -> None:
    assert len({*STEADY, *CHANGING}) == 60
    assert len({cron.text for cron in CRONS}) == 200


@pytest.mark.parametrize("name", [*STEADY, *CHANGING])
def test_each_wall_time_runs_once_around_every_change_from_wherever_one_looks(name: str) -> None:
    zone = ZoneInfo(name)
    draw = random.Random(name)
    found = [*changes(zone)] or [(FIRST + timedelta(days=draw.randrange(7000)), timedelta(0))]
    assert (len(found) > 1 or found[0][1] != timedelta(0)) == (name in CHANGING)
    for change, by in found if EVERY else draw.sample(found, min(CHANGES_DRAWN, len(found))):
        around = AROUND + abs(by)
        watched = Watched(zone, change - around, change + around)
        for written in CRONS if EVERY else draw.sample(CRONS, CRONS_DRAWN):
            cron = Cron.parse(written.text, name)
            expected = watched.expected(written)
            assert [*until(watched.last, cron.walk(watched.first))] == expected, f"{written.text} at {change}"
            instants = [occurrence.at for occurrence in expected]
            anywhere = watched.first + draw.random() * (watched.last - watched.first)
            for after in (change - SECOND, change, change + SECOND, anywhere):
                rest = expected[bisect_right(instants, after) :]
                seen = cron.next_after(after)
                assert seen.at > watched.last if not rest else seen == rest[0], (
                    f"{written.text} after {after}"
                )
