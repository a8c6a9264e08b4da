"""Operations: one action on many items, asked for once, carried out in slices, and reported.

An operation lists its items when it is planned, each with the version that the plan saw. The version is what makes a
redrive exact: the call of a slice that is sent again after a crash names the same version, and a task accepts a call
for a version of its death only once. An item that changed after the plan is left alone.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final

from postdate.domain.limits import OPERATED_A_SECOND_MAX
from postdate.domain.operation_pages import PAGE_ITEMS, Outcome

ITEMS_MAX: Final = 10_000
RATE_DEFAULT: Final = 50
RATE_MAX: Final = OPERATED_A_SECOND_MAX
# How long an operation waits, after its last call, for the ends of the attempts that it began.
WATCHED_FOR: Final = timedelta(minutes=15)
# An execution of a state machine may have 25,000 events; each round makes ten, and three more for each failed try. The
# next execution goes on after that.
ROUNDS_MAX: Final = 1_000
# An operation that changed longer ago is looked after: its execution may have died.
STALLED_AFTER: Final = timedelta(minutes=10)
# The longest time from a start to the end. The slowest operation acts on its items within three hours.
RUNS_FOR: Final = timedelta(days=1)


class Action(StrEnum):
    """REDRIVE starts the attempts of dead items anew. RETRY also brings forward tasks that wait. CANCEL ends what has
    not begun. DISCARD deletes the letters of the dead, which stay dead. PAUSE and RESUME are for plans."""

    REDRIVE = "redrive"
    RETRY = "retry"
    CANCEL = "cancel"
    DISCARD = "discard"
    PAUSE = "pause"
    RESUME = "resume"


class Kind(StrEnum):
    """TASKS are one-time tasks, runs of recurring ones, and deliveries to subscriptions. PLANS are recurring tasks with
    their runs to come."""

    TASKS = "tasks"
    PAYMENTS = "payments"
    PLANS = "plans"


ACTIONS: Final[dict[Kind, frozenset[Action]]] = {
    Kind.TASKS: frozenset({Action.REDRIVE, Action.RETRY, Action.CANCEL, Action.DISCARD}),
    Kind.PAYMENTS: frozenset({Action.REDRIVE, Action.RETRY, Action.CANCEL}),
    Kind.PLANS: frozenset({Action.CANCEL, Action.PAUSE, Action.RESUME}),
}


class State(StrEnum):
    """PAUSED waits for the ends of the canary. STOPPED can be resumed; DONE and ABORTED are final."""

    PLANNED = "PLANNED"
    RUNNING = "RUNNING"
    PAUSED = "PAUSED"
    STOPPED = "STOPPED"
    DONE = "DONE"
    ABORTED = "ABORTED"


@dataclass(frozen=True, kw_only=True, slots=True)
class StopRule:
    """A rule that stops an operation by its failures."""

    # The share of failed attempts, from 0 to 1, at which the operation stops.
    failed_share: float
    # Only attempts that began within this time before now count.
    within: timedelta


@dataclass(frozen=True, kw_only=True, slots=True)
class OperationRequest:
    """The request for one action on many items."""

    # The action on each item.
    action: Action
    # The kind of all items.
    kind: Kind
    # The id of the key that asked.
    actor: str
    # The reason from the request.
    reason: str
    # True if an operator asked.
    operates: bool = False
    # The greatest number of items a second.
    max_per_second: int = RATE_DEFAULT
    # The number of items that go ahead, before the operation waits for their ends; None for none.
    canary: int | None = None
    # The rule for a stop by failures; None without one.
    stop_when: StopRule | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Operation:
    """An action on many items, planned first and carried out by a state machine."""

    # The minute in which the operation was planned, and a unique part.
    id: str
    # The owner of all its items.
    tenant: str
    # Never changed.
    request: OperationRequest
    # The current state, a result of the functions below.
    state: State
    # 1 when planned, one more with each change. Conditional writes compare the version.
    version: int
    # The instant of the request.
    created_at: datetime
    # The instant of the last change.
    changed_at: datetime
    # The number of items that the action is for. Pages hold them.
    eligible: int
    # The sum of these payments; None for tasks and plans.
    amount: int | None = None
    # The number of items that were read to find the eligible ones.
    evaluated: int = 0
    # The number of the other items by the reason.
    not_eligible: Mapping[str, int] = field(default_factory=dict)
    # The number of eligible items by their newest failure; the most common ones.
    by_failure: Mapping[str, int] = field(default_factory=dict)
    # The number of eligible items by their destination; the most common ones.
    by_destination: Mapping[str, int] = field(default_factory=dict)
    # The number of items by outcome, as of the last change.
    counts: Mapping[Outcome, int] = field(default_factory=dict)
    # The number of the newest execution of the state machine. An execution with another number ends.
    run: int = 0
    # The first page with an item that waits.
    next_page: int = 0
    # The instant before which no slice begins, set by the pace; None before the first slice.
    next_at: datetime | None = None
    # True if the canary ended well; false without one.
    canary_passed: bool = False
    # The instant of the first start; None before.
    started_at: datetime | None = None
    # The newest start after a plan or a stop. The canary and the stop rule look at items acted on since. None before
    # the first start.
    began_at: datetime | None = None
    # The instant of the end; None before.
    finished_at: datetime | None = None
    # The reason for a stop, a pause or an abort; None in other states.
    why: str | None = None

    @property
    def author(self) -> str:
        """Signs what the operation changes, and what follows from the calls that it sends."""
        return f"operation:{self.id}"

    @property
    def pages(self) -> int:
        return -(-self.eligible // PAGE_ITEMS)
