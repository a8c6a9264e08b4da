"""Checkers of runs that wait for the run before them: their bound, their writes and their calls."""

from collections.abc import Sequence
from typing import Final

from tests.simulation.chains import QUEUE_MAX, due, others, overlap, plan_of, run_of
from tests.simulation.engine import Change, Row
from tests.simulation.hub import Actor
from tests.simulation.rows import control, is_run, lines, moved, number, recurs, text
from tests.simulation.seen import Broken, Seen

_WAITS: Final = "waits for the run before it"
_WRITES_EVERY_MS: Final = 240_000
_ASKS_EVERY_MS: Final = 4_000
_ON_TIME_MS: Final = 15_000
# The clocks of two machines are no further apart where nothing goes wrong: each is up to 5 s off.
_CLOCKS_MS: Final = 10_000
# Calls of a run on its way to the head of a queue: two at its instant, one that wakes it, and their repeats. The sweep
# may send a second one, which then asks as well.
_CALLS: Final = 8
# Those that look at the queue in one moment may each find the last free place.
_AT_ONCE: Final = 1


def i17_a_queue_has_a_bound_and_its_runs_write_little(
    seen: Seen, actor: Actor | None, changes: Sequence[Change]
) -> None:
    """Beside runs that were caught up on, only so many of a task wait. Each writes its row when it begins to wait, when
    it comes to rest, when it is woken, and now and then."""
    for _, row in moved(changes):
        run = recurs(row) if is_run(row) else None
        told = lines(row)
        if run is None or told[-1][4] != _WAITS:
            continue
        waits = [line for line in told if line[4] == _WAITS]
        most = 3 + (waits[-1][1] - waits[0][1]) // _WRITES_EVERY_MS
        if len(waits) > most:
            raise Broken(f"I17: {row['id']['S']} has told {len(waits)} times that it waits")
        waiting = [each for each in (row, *others(seen, row, run)) if _waits_in_time(each)]
        if len(waiting) > QUEUE_MAX + _AT_ONCE:
            raise Broken(f"I17: {len(waiting)} runs of {run.definition} wait")
        seen.reach["run waits for the one before it"] += 1
        seen.reach["run rests behind others"] += (
            number(row, "due") - number(row, "moved") > _WRITES_EVERY_MS // 2
        )


def _waits_in_time(row: Row) -> bool:
    told = lines(row)
    was_late = told[0][1] >= due(row)
    return text(row, "status") == "PENDING" and not was_late and any(line[4] == _WAITS for line in told)


def a_queue_moves_on(seen: Seen) -> None:
    """Asked where nothing goes wrong: a run begins soon after the one before it is over, and until it is the next, it
    is hardly called."""
    for row in seen.items():
        run = recurs(row) if is_run(row) else None
        plan = run and plan_of(seen, run)
        if not run or not plan or run.number == 0 or overlap(plan) != "queue" or control(row):
            continue
        began, versions = _began(row), seen.definitions[run.definition]
        if began is None or len({number(each, "plan") for _, each in versions}) > 1:
            continue
        earlier = [each for each in others(seen, row, run) if run_of(each).wall < run.wall]
        ready = max([due(row), *(at for each in earlier if (at := _ended(each)) <= began + _CLOCKS_MS)])
        if began - ready > _ON_TIME_MS:
            raise Broken(f"on time: {row['id']['S']} begins {began - ready} ms after it may")
        heads = max([due(row), *(_began(each) or 0 for each in earlier)])
        most = _CALLS + 4 * number(row, "token") + 2 * (began - heads) // _ASKS_EVERY_MS
        most += 2 * (heads - due(row)) // _WRITES_EVERY_MS
        if seen.calls[row["id"]["S"]] > most:
            raise Broken(f"I17: {row['id']['S']} was called {seen.calls[row['id']['S']]} times, not {most}")
        seen.reach["run begins in its turn"] += 1


def _began(row: Row) -> int | None:
    return next((line[1] for line in lines(row) if line[2] == "RUNNING"), None)


def _ended(row: Row) -> int:
    return lines(row)[-1][1]
