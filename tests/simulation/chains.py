"""What has to hold of recurring tasks: the checkers of I10, I11 and I18, as far as they speak of planned instants.

The clients plan every so many minutes, with nothing else in the cron: so the instants that a plan has can be counted
here, without any cron.
"""

import json
from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Any, Final

from tests.simulation.engine import Change, Row
from tests.simulation.hub import SECOND, Actor
from tests.simulation.newer import in_known_form
from tests.simulation.rows import Recurs, claimed, is_item, is_run, lines, moved, number, recurs, text
from tests.simulation.seen import Broken, Seen

_MINUTE_MS: Final = 60_000
_JITTER_MS: Final = 20_000
# So long a decision may take, where nothing stands still, from what was read for it to its being written.
_DECIDED: Final = 45 * SECOND
_BUSY: Final = frozenset({"PENDING", "RUNNING", "RETRYING"})


def i10_one_run_an_instant(seen: Seen, actor: Actor | None, changes: Sequence[Change]) -> None:
    """Of a plan's instants each has one row, whether it runs or only tells why it did not."""
    for change in filter(is_item, changes):
        assert change.after is not None
        run = recurs(change.after)
        if run is None or change.before is not None or _is_out_of_turn(change.after, run):
            continue
        planned = (run.definition, run.plan, run.at)
        if planned in seen.planned:
            raise Broken(f"I10: {change.key[1]} is another run of {planned}")
        seen.planned.add(planned)


def i10_a_run_begins_where_its_task_lets_it(
    seen: Seen, actor: Actor | None, changes: Sequence[Change]
) -> None:
    """Not when it was paused, changed or cancelled a while ago, and not beside the run before it."""
    for before, row in claimed(changes):
        run = recurs(row)
        if run is None:
            continue
        first = run.number > 0 and text(before, "status") == "PENDING"
        if seen.began.is_at_once:
            _refuse_what_was_stopped(seen, row, run, first=first)
        plan = _plan(seen, run)
        if not first or plan is None or _overlap(plan) == "allow" or run.previous is None:
            continue
        for earlier in _before(seen, run):
            if text(earlier, "status") in _BUSY and not _was_dead(earlier):
                raise Broken(f"I10: {row['id']['S']} begins although {earlier['id']['S']} is not over")
        seen.reach["run begins when the one before it is over"] += 1


def _before(seen: Seen, run: Recurs) -> Iterator[Row]:
    """The run before it, and one that was passed over for it and began after all."""
    if run.previous and (previous := seen.item(run.previous)):
        yield previous
    if run.passed and (passed := seen.item(run.passed)) and number(passed, "token"):
        yield passed


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
        if status == "MISSED" and at - _due(row) < _MINUTE_MS - _JITTER_MS:
            raise Broken(f"I11: {id} was missed after {at - _due(row)} ms")
        if status == "SKIPPED" and why.startswith("paused"):
            known = [text(each, "status") for _, each in seen.definitions.get(run.definition, ())]
            if "PAUSED" not in known:
                raise Broken(f"I11: {id} was skipped for a pause that never was")
        elif status == "SKIPPED" and seen.began.is_at_once and not _was_kept(seen, run, at):
            raise Broken(f"I11: {id} was skipped although the run before it is over")
        seen.reach[f"run {status} {why.split()[0].strip(':,')}"] += 1


def _was_kept(seen: Seen, run: Recurs, at: int) -> bool:
    return any(_was_busy(each, at - _DECIDED // 1000) for each in _before(seen, run))


def i11_every_planned_instant_has_a_row(seen: Seen) -> None:
    """From the instant of a plan on, up to its end or until it was changed, without a gap."""
    rows: dict[tuple[str, int], list[tuple[int, Row]]] = defaultdict(list)
    for row in seen.items():
        run = recurs(row)
        if run is not None and not _is_out_of_turn(row, run):
            rows[run.definition, run.plan].append((run.at, row))
    for id, versions in seen.definitions.items():
        plans = list(dict.fromkeys(number(each, "plan") for _, each in versions))
        for plan in plans:
            of_plan = [each for _, each in versions if number(each, "plan") == plan]
            if text(of_plan[0], "status") == "ACTIVE":
                _has_no_gap(id, of_plan, rows.pop((id, plan), []), is_first=plan == plans[0])
        _ends_at_its_end(seen, id, versions, plans)
    for (id, plan), left in rows.items():
        if any(number(row, "token") for _, row in left):
            raise Broken(f"I10: a run of {id} began by the plan {plan}, which nobody has")


def _has_no_gap(id: str, versions: Sequence[Row], rows: list[tuple[int, Row]], *, is_first: bool) -> None:
    """Whoever had to ask more than once for a task may have rows from his first time as well; and if he asked by two
    clocks at once, one that would have begun the same chain later."""
    first, there = versions[0], {at for at, _ in rows}
    if is_first:
        there -= _begun_again(rows)
    for at in _instants(first):
        if at > max(there, default=0):
            break
        if at not in there:
            raise Broken(f"I11: {id} has no row for {at}, plan {number(first, 'plan')}")
        there.discard(at)
    earlier = set(_every(first, min(there) - 1)) if there and is_first else set()
    if there - {at for at in earlier if at <= number(first, "changed")}:
        raise Broken(f"I18: {id} has rows for {sorted(there)}, which its plan does not have")


def _begun_again(rows: list[tuple[int, Row]]) -> set[int]:
    begins = [
        (at, row) for at, row in rows if (run := _run(row)).number == 1 and not (run.previous or run.passed)
    ]
    first = min((at for at, _ in begins), default=0)
    return {at for at, row in begins if at > first and text(row, "status") == "CANCELLED"}


def _ends_at_its_end(seen: Seen, id: str, versions: Sequence[tuple[int, Row]], plans: list[int]) -> None:
    """Whoever was not stopped goes on to the end of its plan; runs that began are no more than it may have. What was
    to be run counts, although it may then be too late or have to be skipped; what a first try of the registration has
    left does not."""
    last, runs = (
        versions[-1][1],
        [row for row in seen.items() if (run := recurs(row)) and run.definition == id],
    )
    planned = [row for row in runs if not _is_out_of_turn(row, _run(row))]
    begun = [row for row in planned if lines(row)[0][2] != "MISSED" and text(row, "status") != "CANCELLED"]
    most = _schedule(last).get("max_runs")
    again = sum(_run(row).at <= number(versions[0][1], "changed") for row in begun)
    ran = sum(number(row, "token") > 0 for row in begun)
    if most is not None and ran > most + len(plans) - 1 + again:
        raise Broken(f"I11: {id} has run {ran} times of {most}")
    if text(last, "status") not in ("ACTIVE", "FINISHED"):
        return
    newest = max((_run(row).at for row in planned if _run(row).plan == plans[-1]), default=0)
    left = [at for at in _instants(last) if at > newest]
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
            if (run := recurs(row)) and run.definition == asked.definition and _is_backfilled(row)
        }
        if len({number(each, "plan") for _, each in versions}) == 1:
            wanted = {at for at in _every(versions[0][1], asked.first - 1) if at <= asked.last}
            if asked.runs != len(wanted) or not wanted <= there:
                raise Broken(f"I11: of {sorted(wanted)} of {asked.definition} there are {sorted(there)}")


def _instants(version: Row) -> Iterator[int]:
    """Later than the plan itself, in milliseconds."""
    return _every(version, number(version, "changed"))


def _every(version: Row, after: int) -> Iterator[int]:
    schedule = _schedule(version)
    step = int(schedule["cron"].split()[0].removeprefix("*").removeprefix("/") or 1) * _MINUTE_MS
    end = schedule.get("end")
    if end is None:
        raise Broken(f"the simulation plans nothing without an end: {schedule}")
    at = (after // step + 1) * step
    while at <= end:
        yield at
        at += step


def _schedule(version: Row) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(in_known_form(str(text(version, "schedule"))))
    return found


def _overlap(version: Row) -> str:
    return str(json.loads(str(text(version, "options")))["overlap"])


def _plan(seen: Seen, run: Recurs) -> Row | None:
    versions = seen.definitions.get(run.definition, ())
    return next((each for _, each in versions if number(each, "plan") == run.plan), None)


def _run(row: Row) -> Recurs:
    run = recurs(row)
    assert run is not None
    return run


def _is_out_of_turn(row: Row, run: Recurs) -> bool:
    return run.number == 0 and lines(row)[0][2] != "MISSED"


def _is_backfilled(row: Row) -> bool:
    return lines(row)[0][4] == "backfilled"


def _due(row: Row) -> int:
    return number(row, "planned") or number(row, "due")


def _was_dead(row: Row) -> bool:
    return any(line[2] == "DEAD" for line in lines(row))


def _was_busy(row: Row, since: int) -> bool:
    """At some time since then."""
    told = lines(row)
    return told[-1][2] in _BUSY or told[-1][1] >= since or _was_dead(row)
