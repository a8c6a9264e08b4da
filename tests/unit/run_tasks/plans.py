"""Definitions and their runs, in one line."""

from dataclasses import replace
from datetime import timedelta

from postdate.domain import definition as definitions
from postdate.domain.catch_up import CatchUp
from postdate.domain.cron import Cron
from postdate.domain.definition import HOME_MINUTE, Definition, Overlap
from postdate.domain.recurrence import Runs
from postdate.domain.schedule import Schedule
from postdate.domain.slots import Slot, item_id
from postdate.domain.task import KIND, Payload, Task, Template
from tests.following import follow
from tests.unit.doubles import HOOK, MINUTE, PLAN, START, STEADY, unique

RUNS = Runs(shards=PLAN)


def a_definition(
    number: int = 1,
    cron: str = "* * * * *",
    *,
    max_runs: int | None = None,
    expires_after: timedelta | None = None,
    overlap: Overlap = Overlap.SKIP,
    catch_up: CatchUp = CatchUp.LATEST,
) -> Definition:
    """Registered ten minutes before the start."""
    id = item_id(KIND, Slot(minute=HOME_MINUTE, shard=3), unique(number))
    return Definition(
        id=id,
        tenant="demo",
        state=definitions.State.ACTIVE,
        version=1,
        plan=1,
        schedule=Schedule.checked(cron=Cron.parse(cron), definition_id=id, max_runs=max_runs),
        template=Template(
            destination=HOOK, payload=Payload(text="{}"), retry=STEADY, expires_after=expires_after
        ),
        created_at=START - 10 * MINUTE,
        changed_at=START - 10 * MINUTE,
        overlap=overlap,
        catch_up=catch_up,
    )


def run_at_start(definition: Definition) -> Task:
    """The run of its chain that is due at the start, written by the one before it."""
    run = RUNS.first(definition, now=START - MINUTE)
    assert run is not None
    assert run.due_at == START
    return replace(run, created_at=definition.created_at, moved_at=definition.created_at)


def after(run: Task, definition: Definition) -> Task:
    """The run that follows one that begins at its instant."""
    (following,) = follow(RUNS, run, definition, now=run.due_at).rows
    return following
