"""stored: what registering, sweeping and settling take while many other items are pending, and the engine's memory.

For each number of stored items the functions' own code runs twice in a process of its own: once with its units counted,
and some times with its phases timed. The floor is the first number of items.
"""

import itertools
from collections.abc import Iterator, Mapping, Sequence
from datetime import timedelta
from typing import Any, Final

from bench import stored_rows, tasks
from bench.bed import Bed
from bench.figures import percentile, ratio, rounded
from bench.memory import engine_mb
from bench.plan import Plan
from bench.report import Line
from bench.stopwatch import MS
from bench.units import asked, counted
from cli.progress import step
from postdate.domain.slots import ShardPlan

_TASKS: Final = {"tasks": 100, "keyed": False, "far": True}
_PAYMENTS: Final = {"payments": 100}
_ROUNDS: Final = 9
# Each process opens minutes of its own, away from those of the case units.
_FIRST_MINUTE: Final = 100
_MINUTES: Final = 2 * _ROUNDS
# The phases of the steps: a sweep opens a minute of tasks.
PHASES: Final = {"register": "register", "open": "sweep", "settle": "settle"}
# A phase reads some settings again when they are some seconds old, which is no matter of what is stored.
READ_UNITS_APART_MAX: Final = 4.0
Taken = Mapping[str, Mapping[str, float]]


def stored(bed: Bed, plan: Plan) -> Iterator[Line]:
    """`unsound` is 1 for a phase whose units are not those of the first number."""
    there, first, opened = 0, None, itertools.count(_FIRST_MINUTE, _MINUTES)
    for count in plan.stored:
        with step(f"{count - there} rows"):
            _write(bed, there, count)
        there = max(there, count)
        with step(f"units with {count} items stored"):
            units = _counted(bed, next(opened))
        with step(f"times with {count} items stored"):
            times = _timed(bed, next(opened))
        first = first or (units, times)
        yield from lines(count, units, times, first)
        yield {
            "case": "stored",
            "what": f"{count} items: the engine",
            "count": count,
            "rss_mb": rounded(engine_mb(bed)),
        }


def lines(
    count: int,
    units: Taken,
    times: Mapping[str, Sequence[float]],
    first: tuple[Taken, Mapping[str, Sequence[float]]],
) -> Iterator[Line]:
    for phase, name in PHASES.items():
        median, floor = (percentile(sorted(each[phase]), 50) for each in (times, first[1]))
        yield {
            "case": "stored",
            "what": f"{count} items: {name} 100",
            "count": len(times[phase]),
            "p50_ms": rounded(median),
            "max_ms": rounded(max(times[phase])),
            "written": units[phase].get("write_units", 0),
            "read": units[phase].get("read_units", 0),
            "unsound": int(differ(units[phase], first[0][phase])),
            "floor": rounded(floor),
            "ratio": ratio(median, floor),
        }


def differ(units: Mapping[str, float], first: Mapping[str, float]) -> bool:
    """Write units are exact; read units may differ by those of some settings."""
    apart = abs(units.get("read_units", 0) - first.get("read_units", 0))
    return units.get("write_units", 0) != first.get("write_units", 0) or apart > READ_UNITS_APART_MAX


def _counted(bed: Bed, opened: int) -> dict[str, dict[str, float]]:
    found = counted(asked(bed, tasks=[_TASKS], payments=[_PAYMENTS]) | {"opened": opened})
    return _merged(found["tasks"][0], found["payments"][0])


def _timed(bed: Bed, opened: int) -> dict[str, list[float]]:
    """The milliseconds of each phase, round by round."""
    given = asked(bed, tasks=[_TASKS] * _ROUNDS, payments=[_PAYMENTS] * _ROUNDS)
    found = counted(given | {"timed": True, "opened": opened})
    rounds = [_merged(*each) for each in zip(found["tasks"], found["payments"], strict=True)]
    return {phase: [each[phase][MS] for each in rounds] for phase in PHASES}


def _merged(of_tasks: dict[str, Any], of_payments: dict[str, Any]) -> dict[str, dict[str, float]]:
    """A registration is that of payments, a sweep that of tasks."""
    return {"open": of_tasks["open"], "register": of_payments["register"], "settle": of_payments["settle"]}


def _write(bed: Bed, first: int, last: int) -> None:
    found = stored_rows.rows(
        first,
        last,
        shards=ShardPlan.parse(bed.environment["SHARD_PLAN"]),
        listing_shards=int(bed.environment["LISTING_SHARDS"]),
        retention=timedelta(days=int(bed.environment["RETENTION_DAYS"])),
        now=tasks.now(),
    )
    stored_rows.write(bed, found)
