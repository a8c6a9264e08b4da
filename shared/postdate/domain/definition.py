"""A recurring task's plan: what it calls, when, and what becomes of a run that cannot begin at its instant."""

from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any, Final

from postdate.domain.catch_up import CatchUp
from postdate.domain.errors import InvalidState
from postdate.domain.flow import FlowControl
from postdate.domain.instants import EPOCH, minute_of
from postdate.domain.retry import RetryPolicy
from postdate.domain.schedule import Schedule
from postdate.domain.slots import Slot, home, is_id
from postdate.domain.task import KIND, Ack, Destination, Payload

HOME_MINUTE: Final = minute_of(EPOCH)
CATCH_UP_WINDOW: Final = timedelta(days=1)


class State(StrEnum):
    ACTIVE = "ACTIVE"
    PAUSED = "PAUSED"
    FINISHED = "FINISHED"
    CANCELLED = "CANCELLED"


ALLOWED: Final[dict[State, frozenset[State]]] = {
    State.ACTIVE: frozenset({State.ACTIVE, State.PAUSED, State.FINISHED, State.CANCELLED}),
    State.PAUSED: frozenset({State.PAUSED, State.ACTIVE, State.CANCELLED}),
    State.FINISHED: frozenset({State.ACTIVE, State.CANCELLED}),
    State.CANCELLED: frozenset(),
}


class Overlap(StrEnum):
    """What a run does while the one before it is not over."""

    SKIP = "skip"
    ALLOW = "allow"
    QUEUE = "queue"


@dataclass(frozen=True, kw_only=True, slots=True)
class Template:
    """What each run calls, and how often it tries. `depth` is that of each run."""

    destination: Destination
    payload: Payload
    retry: RetryPolicy = field(default_factory=RetryPolicy)
    timeout_seconds: int = 30
    ack: Ack = Ack.RESPONSE
    expires_after: timedelta | None = None
    flow: FlowControl | None = None
    depth: int = 0


@dataclass(frozen=True, kw_only=True, slots=True)
class Definition:
    """`plan` names what a run depends on: each change of it, and each resumption, begins a new chain of runs, and a run
    of another plan is void. Its number rises by what is drawn, not by one: two changes that are made at once must not
    give theirs the same. `runs_before` is how many runs earlier chains have made, and `before` those of their runs that
    may not be over. Both are kept here because rows of runs go 35 days after their end. `job_key` is as a task's."""

    id: str
    tenant: str
    state: State
    version: int
    plan: int
    schedule: Schedule
    template: Template
    created_at: datetime
    changed_at: datetime
    overlap: Overlap = Overlap.SKIP
    catch_up: CatchUp = CatchUp.LATEST
    catch_up_window: timedelta = CATCH_UP_WINDOW
    runs_before: int = 0
    before: tuple[str, ...] = ()
    name: str | None = None
    tags: tuple[str, ...] = ()
    reason: str | None = None
    job_key: str | None = None

    @property
    def home(self) -> Slot:
        return home(self.id)


@dataclass(frozen=True, kw_only=True, slots=True)
class Reached:
    """How far the chains of a definition have come: how many `runs` they have made, and those that may not be over."""

    runs: int
    not_over: tuple[str, ...] = ()


def is_definition(id: str) -> bool:
    """A definition is due never: it lives in the first of all minutes, which no sweep visits."""
    return is_id(id) and id.startswith(f"{KIND}_") and home(id).minute == HOME_MINUTE


def refuse_ended(definition: Definition, done: str, *, made_for: timedelta, now: datetime) -> None:
    """Raises InvalidState for a task of which no run may be made any more. A finished one is kept for as long as runs
    may live that were made `made_for` after its end."""
    if definition.state is State.CANCELLED:
        raise InvalidState(definition.state, f"a task that is CANCELLED cannot be {done}")
    if definition.state is State.FINISHED and now >= definition.changed_at + made_for:
        raise InvalidState(
            definition.state, f"a task that ended {made_for.days} days ago cannot be {done}: change it first"
        )


def change(definition: Definition, *, now: datetime, reached: Reached, **changes: Any) -> Definition:
    """A new plan: the next run is planned anew, and none is begun for what lies behind."""
    if definition.state is State.CANCELLED:
        raise InvalidState(definition.state, "a task that is CANCELLED cannot be changed")
    state = State.ACTIVE if definition.state is State.FINISHED else definition.state
    return _moved(definition, state, now=now, reached=reached, plan=definition.plan + 1, **changes)


def pause(
    definition: Definition, *, now: datetime, reached: Reached, reason: str | None
) -> Definition | None:
    """None when it is paused already."""
    if definition.state is State.PAUSED:
        return None
    return _moved(definition, State.PAUSED, now=now, reached=reached, reason=reason)


def resume(definition: Definition, *, now: datetime, reached: Reached) -> Definition | None:
    """None when it is active already. What would have run in between was not planned."""
    if definition.state is State.ACTIVE:
        return None
    if definition.state is not State.PAUSED:
        raise InvalidState(definition.state, f"a task that is {definition.state} cannot be resumed")
    return _moved(definition, State.ACTIVE, now=now, reached=reached, plan=definition.plan + 1, reason=None)


def cancel(definition: Definition, *, now: datetime) -> Definition | None:
    """None when it is cancelled already."""
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
