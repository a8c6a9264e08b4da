"""Invariants of recurring tasks that hold when a run has come to rest: no planned instant is left out."""

from collections import defaultdict
from collections.abc import Sequence

from tests.simulation.chains import (
    ahead_of_utc,
    is_backfilled,
    is_moved,
    is_out_of_turn,
    run_of,
    schedule_of,
    walls,
)
from tests.simulation.engine import Row
from tests.simulation.rows import lines, number, recurs, text
from tests.simulation.seen import Backfilled, Broken, Seen


def i11_every_planned_instant_has_a_row(seen: Seen) -> None:
    """From the instant of a plan on, up to its end or until it was changed, without a gap."""
    rows: dict[tuple[str, int], list[Row]] = defaultdict(list)
    for row in seen.items():
        run = recurs(row)
        if run is not None and not is_out_of_turn(row, run):
            rows[run.definition, run.plan].append(row)
    for id, versions in seen.definitions.items():
        plans = list(dict.fromkeys(number(each, "plan") for _, each in versions))
        for plan in plans:
            of_plan = [each for _, each in versions if number(each, "plan") == plan]
            if text(of_plan[0], "status") == "ACTIVE":
                there = {run_of(row).wall for row in rows.pop((id, plan), ())}
                begun_by = (versions[0][0] + seen.began.skew) // 1000 + ahead_of_utc(seen, of_plan[0])[0]
                _has_no_gap(seen, id, of_plan[0], there, begun_by=begun_by if plan == plans[0] else 0)
        _ends_at_its_end(seen, id, versions, plans)
    for (id, plan), left in rows.items():
        if any(number(row, "token") for row in left):
            raise Broken(f"I10: a run of {id} began by the plan {plan}, which nobody has")


def _has_no_gap(seen: Seen, id: str, version: Row, there: set[int], *, begun_by: int) -> None:
    """From the first wall time after `begun_by` at the latest, when its definition was written."""
    left, first = set(there), min(there, default=0)
    begun_at = number(version, "changed")
    if begun_by:
        # A retry plans by its own clock and keeps the instant of the first try, whose clock may be ahead.
        begun_at = min(begun_at, number(version, "plan"))
    after = first - 1 if is_moved(seen, version) else begun_at + ahead_of_utc(seen, version)[0]
    for wall in walls(version, after, max(ahead_of_utc(seen, version))):
        if wall > max(there, default=0):
            break
        if wall not in there and (wall > begun_by or wall > first):
            raise Broken(f"I11: {id} has no row for {wall}, plan {number(version, 'plan')}")
        left.discard(wall)
    if left:
        raise Broken(f"I18: {id} has rows for {sorted(left)}, which its plan does not have")


def _ends_at_its_end(seen: Seen, id: str, versions: Sequence[tuple[int, Row]], plans: list[int]) -> None:
    """A task that was not stopped goes on to the end of its plan, with no more runs than it may have. An occurrence
    that was to be run counts, although it may then be too late or have to be skipped."""
    last = versions[-1][1]
    runs = [row for row in seen.items() if (run := recurs(row)) and run.definition == id]
    planned = [row for row in runs if not is_out_of_turn(row, run_of(row)) and run_of(row).plan in plans]
    begun = [row for row in planned if lines(row)[0][2] != "MISSED" and text(row, "status") != "CANCELLED"]
    most = schedule_of(last).get("max_runs")
    ran = sum(number(row, "token") > 0 for row in begun)
    if most is not None and ran > most:
        raise Broken(f"I11: {id} has run {ran} times of {most}")
    if text(last, "status") not in ("ACTIVE", "FINISHED"):
        return
    # A run that expired while it waited counts, and so does one that was missed or skipped after the next run was
    # written: a worker died in between, which is rare where plans are changed often. A plan counts its last runs at
    # its end, before they begin, and a change after that may end them.
    counted = sum(number(row, "token") > 0 or text(row, "status") in ("EXPIRED", "MISSED") for row in begun)
    went_on = any(text(each, "status") == "FINISHED" for _, each in versions[:-1])
    if seen.began.replanned and not went_on and number(last, "runs_before") > counted:
        raise Broken(f"I11: {id} counts {number(last, 'runs_before')} runs, and {counted} began")
    newest = max((run_of(row).wall for row in planned if run_of(row).plan == plans[-1]), default=0)
    ahead = ahead_of_utc(seen, last)
    left = list(walls(last, newest or number(last, "changed") + ahead[0], min(ahead)))
    if left and (most is None or (len(plans) == 1 and len(begun) < most)):
        raise Broken(f"I11: {id} ends before {left[0]}, which its plan has")


def i13_by_hand_as_often_as_asked(seen: Seen) -> None:
    asked: dict[str, int] = defaultdict(int)
    for row in seen.items():
        run = recurs(row)
        if run is not None and lines(row)[0][4] == "triggered":
            asked[run.definition] += 1
    for id, times in asked.items():
        if times > seen.triggers[id]:
            raise Broken(f"I13: {id} was triggered {seen.triggers[id]} times, and has {times} runs of it")


def i11_what_was_backfilled_has_rows(seen: Seen) -> None:
    for asked in seen.backfilled:
        versions = seen.definitions[asked.definition]
        there = {
            run.at
            for row in seen.items()
            if (run := recurs(row)) and run.definition == asked.definition and is_backfilled(row)
        }
        first = versions[0][1]
        if len({number(each, "plan") for _, each in versions}) == 1 and not is_moved(seen, first):
            ahead = ahead_of_utc(seen, first)[0]
            planned = (wall - ahead for wall in walls(first, asked.first - 1 + ahead, ahead))
            wanted = {at for at in planned if at <= asked.last}
            if asked.runs != len(wanted) or (not wanted <= there and not _was_cut_short(seen, asked)):
                raise Broken(f"I11: of {sorted(wanted)} of {asked.definition} there are {sorted(there)}")


def _was_cut_short(seen: Seen, asked: Backfilled) -> bool:
    """True if a step of it waited past its lifetime, or ended with its task, or was dead when its task was cancelled:
    nothing brings these steps back."""
    states = {
        text(row, "status")
        for row in seen.items()
        if f'"operation":"{asked.operation}"' in (text(row, "payload") or "")
    }
    is_cancelled = text(seen.definitions[asked.definition][-1][1], "status") == "CANCELLED"
    return "EXPIRED" in states or (is_cancelled and bool(states & {"CANCELLED", "DEAD"}))
