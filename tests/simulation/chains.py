"""Checkers of recurring tasks: I10, I11 and I18, as far as they speak of planned instants.

The clients plan every so many minutes, with nothing else in the cron: so the wall times that a plan has can be counted
here, without any cron.
"""

import json
from collections.abc import Iterator, Sequence
from datetime import timedelta
from typing import Any, Final

from tests.simulation import zoned
from tests.simulation.engine import Change, Row
from tests.simulation.hub import SECOND, Actor
from tests.simulation.newer import in_known_form
from tests.simulation.rows import Recurs, claimed, is_item, is_run, lines, moved, number, recurs, text
from tests.simulation.seen import Broken, Seen

_MINUTE_MS: Final = 60_000
_MILLISECOND: Final = timedelta(milliseconds=1)
_JITTER_MS: Final = 20_000
# So long a decision may take, where nothing stands still, from what was read for it to its being written.
_DECIDED: Final = 45 * SECOND
_BUSY: Final = frozenset({"PENDING", "RUNNING", "RETRYING"})
# As many as may wait in a run of the simulation, where nothing lasts for hours.
QUEUE_MAX: Final = 2


def i10_one_run_an_instant(seen: Seen, actor: Actor | None, changes: Sequence[Change]) -> None:
    """Each wall time of a plan has one row, for its run or for the reason why there was none."""
    for change in filter(is_item, changes):
        assert change.after is not None
        run = recurs(change.after)
        if run is None or change.before is not None or is_out_of_turn(change.after, run):
            continue
        planned = (run.definition, run.plan, run.wall)
        if planned in seen.planned:
            raise Broken(f"I10: {change.key[1]} is another run of {planned}")
        seen.planned.add(planned)


def i10_a_run_begins_where_its_task_lets_it(
    seen: Seen, actor: Actor | None, changes: Sequence[Change]
) -> None:
    """Not when it was paused, changed or cancelled a while ago, not beside another run in turn of its task, and not
    before an earlier run that waits."""
    for before, row in claimed(changes):
        run = recurs(row)
        if run is None:
            continue
        first = run.number > 0 and text(before, "status") == "PENDING"
        if seen.began.is_at_once:
            _refuse_what_was_stopped(seen, row, run, first=first)
        plan = plan_of(seen, run)
        if not first or plan is None or overlap(plan) == "allow":
            continue
        for other in others(seen, row, run):
            if _is_on(seen, other, plan) and not _was_dead(other):
                raise Broken(f"I10: {row['id']['S']} begins although {other['id']['S']} is not over")
            if (
                run_of(other).plan == run.plan
                and run_of(other).wall < run.wall
                and text(other, "status") == "PENDING"
            ):
                raise Broken(f"I10: {row['id']['S']} begins before {other['id']['S']}, which waits")
        seen.reach["run begins when those before it are over"] += 1


def others(seen: Seen, row: Row, run: Recurs) -> Iterator[Row]:
    """The other runs in turn of its task, of whatever plan. No link of the product is followed: it may be wrong."""
    for other in seen.items():
        found = recurs(other)
        if found and found.definition == run.definition and found.number > 0 and other["id"] != row["id"]:
            yield other


def _is_on(seen: Seen, other: Row, plan: Row) -> bool:
    """True for a run that has begun and is not over. Of runs that began while overlaps were allowed only the newest
    counts."""
    if text(other, "status") not in ("RUNNING", "RETRYING"):
        return False
    its_plan = plan_of(seen, run_of(other))
    if its_plan is None or overlap(its_plan) != "allow":
        return True
    began = [run_of(each).wall for each in others(seen, {"id": {}}, run_of(other)) if number(each, "token")]
    return run_of(other).wall == max(began) and number(its_plan, "plan") != number(plan, "plan")


def _refuse_what_was_stopped(seen: Seen, row: Row, run: Recurs, *, first: bool) -> None:
    task, id = seen.definition(run.definition, before=seen.hub.now - _DECIDED), row["id"]["S"]
    if task is None:
        return
    later = [each for at, each in seen.definitions[run.definition] if at > seen.hub.now - _DECIDED]
    if text(task, "status") == "CANCELLED":
        raise Broken(f"I15: {id} begins although its task was cancelled")
    if first and {text(each, "status") for each in (task, *later)} == {"PAUSED"}:
        raise Broken(f"I10: {id} begins although its task is paused")
    if first and run.plan not in {number(each, "plan") for each in (task, *later)}:
        raise Broken(f"I10: {id} begins although its task has another plan")


def i11_a_run_is_kept_back_for_a_reason(seen: Seen, actor: Actor | None, changes: Sequence[Change]) -> None:
    """SKIPPED because its task was paused or the run before it was not over; MISSED because it was too late."""
    for before, row in moved(changes):
        run = recurs(row) if is_run(row) else None
        status, id = text(row, "status"), row["id"]["S"]
        if run is None or status not in ("SKIPPED", "MISSED") or text(before, "status") == status:
            continue
        at, why = lines(row)[-1][1], lines(row)[-1][4]
        is_early = at - due(row) < _MINUTE_MS - _JITTER_MS
        if status == "MISSED" and is_early and not is_moved(seen, seen.definitions[run.definition][0][1]):
            raise Broken(f"I11: {id} was missed after {at - due(row)} ms")
        if status == "SKIPPED" and why.startswith("paused"):
            known = [text(each, "status") for _, each in seen.definitions.get(run.definition, ())]
            if "PAUSED" not in known:
                raise Broken(f"I11: {id} was skipped for a pause that never was")
        elif status == "SKIPPED" and seen.began.is_at_once and _kept(seen, row, run, at) < _least(why):
            raise Broken(f"I11: {id} was skipped although those before it are over")
        seen.reach[f"run {status} {why.split()[0].strip(':,')}"] += 1


def _kept(seen: Seen, row: Row, run: Recurs, at: int) -> int:
    """Counts the runs that kept this run from beginning."""
    earlier = [
        each
        for each in others(seen, row, run)
        if run_of(each).wall < run.wall or run_of(each).plan != run.plan
    ]
    return sum(_was_busy(each, at - _DECIDED // 1000) for each in earlier)


def _least(why: str) -> int:
    """A queue is full when so many wait, whether or not one is on."""
    return QUEUE_MAX if "wait already" in why else 1


def walls(version: Row, after: int, ahead: int) -> Iterator[int]:
    """The wall times that a plan has later than this one, in milliseconds, with clocks so far ahead of UTC."""
    schedule = schedule_of(version)
    step = int(schedule["cron"].split()[0].removeprefix("*").removeprefix("/") or 1) * _MINUTE_MS
    end = schedule.get("end")
    if end is None:
        raise Broken(f"the simulation plans nothing without an end: {schedule}")
    wall = (after // step + 1) * step
    while wall - ahead <= end:
        yield wall
        wall += step


def ahead_of_utc(seen: Seen, version: Row) -> tuple[int, int]:
    """Returns the offsets of the zone from UTC at the beginning and at the end, in milliseconds."""
    name, hub = schedule_of(version)["timezone"], seen.hub
    was, now = (
        zoned.ahead(name, seen.began, hub.began, at) // _MILLISECOND for at in (hub.began - 1, hub.now)
    )
    return was, now


def is_moved(seen: Seen, version: Row) -> bool:
    was, now = ahead_of_utc(seen, version)
    return was != now


def schedule_of(version: Row) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(in_known_form(str(text(version, "schedule"))))
    return found


def overlap(version: Row) -> str:
    return str(json.loads(str(text(version, "options")))["overlap"])


def plan_of(seen: Seen, run: Recurs) -> Row | None:
    versions = seen.definitions.get(run.definition, ())
    return next((each for _, each in versions if number(each, "plan") == run.plan), None)


def run_of(row: Row) -> Recurs:
    run = recurs(row)
    assert run is not None
    return run


def is_out_of_turn(row: Row, run: Recurs) -> bool:
    return run.number == 0 and lines(row)[0][2] != "MISSED"


def is_backfilled(row: Row) -> bool:
    return lines(row)[0][4] == "backfilled"


def due(row: Row) -> int:
    return number(row, "planned") or number(row, "due")


def _was_dead(row: Row) -> bool:
    return any(line[2] == "DEAD" for line in lines(row))


def _was_busy(row: Row, since: int) -> bool:
    """At some time since then."""
    told = lines(row)
    return told[-1][2] in _BUSY or told[-1][1] >= since or _was_dead(row)
