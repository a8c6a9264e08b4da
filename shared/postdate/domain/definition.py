"""The definition of a recurring task: its call, its plan, and the rules for runs that cannot begin in time."""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any, Final

from postdate.domain.catch_up import CatchUp
from postdate.domain.errors import InvalidState, ValidationFailed
from postdate.domain.instants import EPOCH, minute_of
from postdate.domain.schedule import Schedule
from postdate.domain.slots import Slot, home, is_id
from postdate.domain.task import KIND, Template

# No sweep visits the minute of the epoch.
HOME_MINUTE: Final = minute_of(EPOCH)
# For requests that name no window.
CATCH_UP_WINDOW: Final = timedelta(days=1)


class State(StrEnum):
    ACTIVE = "ACTIVE"
    PAUSED = "PAUSED"
    FINISHED = "FINISHED"
    CANCELLED = "CANCELLED"


ALLOWED: Final[dict[State, frozenset[State]]] = {
    State.ACTIVE: frozenset({State.ACTIVE, State.PAUSED, State.FINISHED, State.CANCELLED}),
    State.PAUSED: frozenset({State.PAUSED, State.ACTIVE, State.CANCELLED}),
    # A change may give a finished plan new occurrences.
    State.FINISHED: frozenset({State.ACTIVE, State.CANCELLED}),
    State.CANCELLED: frozenset(),
}


class Overlap(StrEnum):
    """The rule for a run whose predecessor is not over: SKIP does not run it, ALLOW runs it, QUEUE lets it wait."""

    SKIP = "skip"
    ALLOW = "allow"
    QUEUE = "queue"


@dataclass(frozen=True, kw_only=True, slots=True)
class Definition:
    """A recurring task. Each change of it, and each resumption, begins a new chain of runs."""

    # The id of the recurring task. Its slot is in the first of all minutes, which no sweep visits.
    id: str
    # The owner, from the key of the request.
    tenant: str
    # The current state, a result of the functions below.
    state: State
    # 1 at registration, one more with each change. Conditional writes compare the version.
    version: int
    # The number of the current chain. A run with another number does not begin. A new chain adds a random amount, so
    # two changes at once never get the same number.
    plan: int
    # The cron with its bounds, from the request.
    schedule: Schedule
    # The call of each run, from the request.
    template: Template
    # The instant of the registration.
    created_at: datetime
    # The instant of the last change.
    changed_at: datetime
    # The rule for a run whose predecessor is not over, from the request.
    overlap: Overlap = Overlap.SKIP
    # The policy for occurrences that passed without a run, from the request.
    catch_up: CatchUp = CatchUp.LATEST
    # The greatest lateness of an occurrence that is caught up, from the request.
    catch_up_window: timedelta = CATCH_UP_WINDOW
    # The number of runs of earlier chains, set when a chain begins. Rows of runs expire, so they cannot be counted.
    runs_before: int = 0
    # Runs of earlier chains that may not be over, set when a chain begins; empty if all are over.
    before: tuple[str, ...] = ()
    # The owner's name for the task; None if the request gave none.
    name: str | None = None
    # The owner's words for the task; empty if the request gave none.
    tags: tuple[str, ...] = ()
    # The reason of a pause; None in other states, or if the request gave none.
    reason: str | None = None
    # The Idempotency-Key of a registration through the job API; None for other tasks.
    job_key: str | None = None

    @property
    def home(self) -> Slot:
        return home(self.id)


@dataclass(frozen=True, kw_only=True, slots=True)
class Reached:
    """The progress of all chains of a definition."""

    # The number of runs so far.
    runs: int
    # Runs that may not be over; empty if all are.
    not_over: tuple[str, ...] = ()


def is_definition(id: str) -> bool:
    """True for the id of a definition. A definition is never due: its slot is in the first of all minutes."""
    return is_id(id) and id.startswith(f"{KIND}_") and home(id).minute == HOME_MINUTE


def refuse_ended(definition: Definition, done: str, *, made_for: timedelta, now: datetime) -> None:
    """Raises InvalidState for a task that may get no more runs: a cancelled task, and a finished task after the time
    `made_for`. The row of a finished task outlives all runs that were made in that time."""
    if definition.state is State.CANCELLED:
        raise InvalidState(definition.state, f"a task that is CANCELLED cannot be {done}")
    if definition.state is State.FINISHED and now >= definition.changed_at + made_for:
        raise InvalidState(
            definition.state, f"a task that ended {made_for.days} days ago cannot be {done}: change it first"
        )


def nothing_left(definition: Definition) -> ValidationFailed:
    """The error for a plan without a run to come. It names the field that ends the plan."""
    plan = definition.schedule
    if plan.max_runs is not None and definition.runs_before >= plan.max_runs:
        return ValidationFailed([("max_runs", f"{definition.runs_before} have run already")])
    if plan.end_at is not None:
        return ValidationFailed([("end_at", "comes before the next run")])
    return ValidationFailed([("start_at", "no run is planned from then on")])


def change(definition: Definition, *, now: datetime, reached: Reached, **changes: Any) -> Definition:
    """Begins a new chain with these changes. Its first run is due after now."""
    if definition.state is State.CANCELLED:
        raise InvalidState(definition.state, "a task that is CANCELLED cannot be changed")
    state = State.ACTIVE if definition.state is State.FINISHED else definition.state
    return _moved(definition, state, now=now, reached=reached, plan=definition.plan + 1, **changes)


def pause(
    definition: Definition, *, now: datetime, reached: Reached, reason: str | None
) -> Definition | None:
    """Pauses the task; None if the task is paused already."""
    if definition.state is State.PAUSED:
        return None
    return _moved(definition, State.PAUSED, now=now, reached=reached, reason=reason)


def resume(definition: Definition, *, now: datetime, reached: Reached) -> Definition | None:
    """Begins a new chain; None if the task is active already. The pause has no occurrences to catch up."""
    if definition.state is State.ACTIVE:
        return None
    if definition.state is not State.PAUSED:
        raise InvalidState(definition.state, f"a task that is {definition.state} cannot be resumed")
    return _moved(definition, State.ACTIVE, now=now, reached=reached, plan=definition.plan + 1, reason=None)


def cancel(definition: Definition, *, now: datetime) -> Definition | None:
    """Cancels the task; None if the task is cancelled already."""
    if definition.state is State.CANCELLED:
        return None
    return _moved(definition, State.CANCELLED, now=now)


def finish(definition: Definition, *, now: datetime, reached: Reached) -> Definition:
    return _moved(definition, State.FINISHED, now=now, reached=reached)


def _moved(
    definition: Definition, to: State, *, now: datetime, reached: Reached | None = None, **changes: Any
) -> Definition:
    if to not in ALLOWED[definition.state]:
        raise InvalidState(definition.state, f"{to} cannot follow {definition.state}")
    if reached is not None:
        changes |= {"runs_before": reached.runs, "before": reached.not_over}
    return replace(definition, state=to, version=definition.version + 1, changed_at=now, **changes)
