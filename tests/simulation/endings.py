"""Checkers of runs that ended before they began: the reasons that rows tell, compared with the task as it was."""

from collections.abc import Sequence
from typing import Final

from tests.simulation.engine import Change
from tests.simulation.hub import SECOND, Actor
from tests.simulation.rows import is_run, lines, moved, number, recurs, text
from tests.simulation.seen import Broken, Seen

# So long a decision may take, where nothing stands still, from what was read for it to its being written.
_DECIDED: Final = 45 * SECOND


def i11_a_run_ends_only_with_its_task(seen: Seen, actor: Actor | None, changes: Sequence[Change]) -> None:
    """A run ends as CANCELLED because its task is gone, cancelled or changed only if that is so. Nobody takes a task
    that he cannot read for one that is not there."""
    if not seen.began.is_at_once:
        return
    for before, row in moved(changes):
        run = recurs(row) if is_run(row) else None
        if run is None or text(row, "status") != "CANCELLED" or text(before, "status") == "CANCELLED":
            continue
        id, why = row["id"]["S"], lines(row)[-1][4]
        task = seen.definition(run.definition, before=seen.hub.now - _DECIDED)
        if task is None:
            continue
        versions = [
            task,
            *(each for at, each in seen.definitions[run.definition] if at > seen.hub.now - _DECIDED),
        ]
        seen.reach[f"run ends: {why}"] += 1
        if why.startswith("its task is gone"):
            raise Broken(f"I11: {id} ends because its task is gone, which is there")
        if why.startswith("its task was cancelled") and "CANCELLED" not in {
            text(each, "status") for each in versions
        }:
            raise Broken(f"I11: {id} ends because its task was cancelled, which it was not")
        if why.startswith("its task was changed") and {number(each, "plan") for each in versions} == {
            run.plan
        }:
            raise Broken(f"I11: {id} ends because its task was changed, which it was not")
