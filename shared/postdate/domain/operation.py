"""Operations: one action on many items, asked for once, carried out in slices, and reported.

An operation lists its items when it is planned, each with the version that the plan saw. The version is what makes a
redrive exact: the call of a slice that is sent again after a crash names the same version, and a task accepts a call
for a version of its death only once. An item that changed after the plan is left alone.
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final, TypeAlias, assert_never

from postdate.domain import definition as plans
from postdate.domain import payment as payments
from postdate.domain import task as tasks
from postdate.domain import transitions
from postdate.domain.definition import Definition
from postdate.domain.errors import InvalidState
from postdate.domain.item import Phase
from postdate.domain.limits import OPERATED_A_SECOND_MAX
from postdate.domain.payment import Payment
from postdate.domain.task import Task

ITEMS_MAX: Final = 10_000
# Of one tenant at a time.
RUNNING_MAX: Final = 5
# The time from taking a seat to the record of the start.
_SEATED_FOR: Final = timedelta(minutes=1)
# Names in a report; the others are counted together.
_NAMES_MAX: Final = 20
_OTHERS: Final = "others"
PAGE_ITEMS: Final = 25
RATE_DEFAULT: Final = 50
RATE_MAX: Final = OPERATED_A_SECOND_MAX
# Fewer attempts than these tell nothing about a share.
SAMPLE_MIN: Final = 10
# How long an operation waits, after its last call, for the ends of the attempts that it began.
WATCHED_FOR: Final = timedelta(minutes=15)
# An execution of a state machine may have 25,000 events; each round makes ten, and three more for each failed try. The
# next execution goes on after that.
ROUNDS_MAX: Final = 1_000
# The longest time from a start to the end. The slowest operation acts on its items within three hours.
RUNS_FOR: Final = timedelta(days=1)
_IDS: Final = re.compile(r"\b(?:[0-9a-f]{8}-[0-9a-f-]{27}|[0-9a-f]{12,}|\d{4,})\b", re.IGNORECASE)
_FINGERPRINT_MAX: Final = 120


Item: TypeAlias = Task | Payment | Definition


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
    """TASKS are one-time tasks, and runs of recurring ones. PLANS are recurring tasks with their runs to come."""

    TASKS = "tasks"
    PAYMENTS = "payments"
    PLANS = "plans"


ACTIONS: Final[dict[Kind, frozenset[Action]]] = {
    Kind.TASKS: frozenset({Action.REDRIVE, Action.RETRY, Action.CANCEL, Action.DISCARD}),
    Kind.PAYMENTS: frozenset({Action.REDRIVE, Action.RETRY, Action.CANCEL}),
    Kind.PLANS: frozenset({Action.CANCEL, Action.PAUSE, Action.RESUME}),
}
# The state of a plan that each action finds, and the state that it leaves behind.
_PLANS: Final[dict[Action, tuple[frozenset[plans.State], plans.State]]] = {
    Action.PAUSE: (frozenset({plans.State.ACTIVE}), plans.State.PAUSED),
    Action.RESUME: (frozenset({plans.State.PAUSED}), plans.State.ACTIVE),
    Action.CANCEL: (frozenset(plans.State) - {plans.State.CANCELLED}, plans.State.CANCELLED),
}


class State(StrEnum):
    """PAUSED waits for the ends of the canary. STOPPED can be resumed; DONE and ABORTED are final."""

    PLANNED = "PLANNED"
    RUNNING = "RUNNING"
    PAUSED = "PAUSED"
    STOPPED = "STOPPED"
    DONE = "DONE"
    ABORTED = "ABORTED"


ALLOWED: Final[dict[State, frozenset[State]]] = {
    State.PLANNED: frozenset({State.RUNNING, State.STOPPED}),
    State.RUNNING: frozenset({State.RUNNING, State.PAUSED, State.STOPPED, State.DONE, State.ABORTED}),
    State.PAUSED: frozenset({State.RUNNING, State.PAUSED, State.STOPPED, State.ABORTED}),
    State.STOPPED: frozenset({State.RUNNING, State.STOPPED}),
    State.DONE: frozenset(),
    State.ABORTED: frozenset(),
}
ACTIVE: Final = frozenset({State.RUNNING, State.PAUSED})


class Outcome(StrEnum):
    """Result for one item. SENT: the action was taken, and the end of the attempt is not known yet. FAILED: the
    attempt failed; the task's own retries may follow. CHANGED: the item is no longer what the plan saw, and was
    left alone. MISSING: the letter to discard was not found; an earlier slice may have deleted it before a crash."""

    WAITING = "waiting"
    SENT = "sent"
    DONE = "done"
    FAILED = "failed"
    CHANGED = "changed"
    MISSING = "missing"


@dataclass(frozen=True, kw_only=True, slots=True)
class Entry:
    """One item of an operation."""

    # The id of the item.
    id: str
    # The version that the plan saw.
    version: int
    # The result so far.
    outcome: Outcome = Outcome.WAITING
    # The instant at which the item was acted on; None before.
    at: datetime | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Page:
    """Up to 25 items of an operation, in one row."""

    # The id of the operation.
    operation: str
    # The number of the page, from 0.
    number: int
    # The items, in the order of the plan.
    entries: tuple[Entry, ...]
    # The number of writes so far.
    version: int = 1

    @property
    def waiting(self) -> tuple[Entry, ...]:
        return tuple(each for each in self.entries if each.outcome is Outcome.WAITING)

    @property
    def open(self) -> tuple[Entry, ...]:
        return tuple(each for each in self.entries if each.outcome is Outcome.SENT)

    def changed(self, entries: Iterable[Entry]) -> "Page":
        """The next version, with these entries in the place of those with the same id."""
        new = {each.id: each for each in entries}
        told = tuple(new.get(each.id, each) for each in self.entries)
        return replace(self, entries=told, version=self.version + 1)


@dataclass(frozen=True, kw_only=True, slots=True)
class StopRule:
    """Stops an operation when, of the attempts begun `within` that time, this share failed."""

    failed_share: float
    within: timedelta


@dataclass(frozen=True, kw_only=True, slots=True)
class Plan:
    """The request for an operation."""

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
    # The request; never changed.
    plan: Plan
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


@dataclass(frozen=True, kw_only=True, slots=True)
class Seat:
    """Taken by an operation at a version, just before its start is recorded."""

    # The id of the operation.
    operation: str
    # The version of the operation when it took the seat.
    version: int
    # The instant of that.
    at: datetime


@dataclass(frozen=True, kw_only=True, slots=True)
class Seats:
    """Counts of a tenant's operations that run, and of some that have ended."""

    tenant: str
    taken: tuple[Seat, ...] = ()
    version: int = 0

    def changed(self, kept: Iterable[Seat], operation: Operation, now: datetime) -> "Seats":
        """The next version, with a seat for the operation."""
        own = Seat(operation=operation.id, version=operation.version, at=now)
        return replace(self, taken=(*kept, own), version=self.version + 1)


def sits(seat: Seat, operation: Operation | None, now: datetime) -> bool:
    """True while the operation runs, or may be about to."""
    if operation is None:
        return False
    return operation.state in ACTIVE or (operation.version == seat.version and now < seat.at + _SEATED_FOR)


def started(operation: Operation, *, run: int, now: datetime) -> Operation:
    """RUNNING under a new execution. An execution may itself be the first to say so: the API starts it beforehand. An
    operation whose execution was killed goes on where it was; after a stop its canary begins anew."""
    if operation.state not in (State.PLANNED, State.STOPPED, *ACTIVE):
        raise InvalidState(operation.state, f"an operation that is {operation.state} cannot be started")
    moved = _moved(operation, State.RUNNING, now=now, run=run, why=None)
    if operation.state in ACTIVE:
        return moved
    return replace(moved, started_at=operation.started_at or now, began_at=now, canary_passed=False)


def stopped(operation: Operation, *, now: datetime, why: str) -> Operation:
    return _moved(operation, State.STOPPED, now=now, why=why)


def stopped_by_hand(operation: Operation, *, now: datetime, why: str) -> Operation:
    """The number of an execution that was begun and has not said so yet is used up: it finds itself overtaken."""
    return replace(stopped(operation, now=now, why=why), run=operation.run + 1)


def recounted(operation: Operation, *, now: datetime, counts: Mapping[Outcome, int]) -> Operation:
    """The same state with the counts of its pages."""
    return _moved(operation, operation.state, now=now, counts=counts)


def paused(operation: Operation, *, now: datetime) -> Operation:
    return _moved(operation, State.PAUSED, now=now, why="waits for the ends of the canary")


def went_on(operation: Operation, *, now: datetime) -> Operation:
    return _moved(operation, State.RUNNING, now=now, why=None, canary_passed=True)


def done(operation: Operation, *, now: datetime) -> Operation:
    return replace(_moved(operation, State.DONE, now=now, why=None), finished_at=now)


def aborted(operation: Operation, *, now: datetime, why: str) -> Operation:
    return replace(_moved(operation, State.ABORTED, now=now, why=why), finished_at=now)


def progressed(operation: Operation, *, now: datetime, **changes: object) -> Operation:
    """A slice further, in the same state."""
    return _moved(operation, operation.state, now=now, **changes)


def _moved(operation: Operation, to: State, *, now: datetime, **changes: object) -> Operation:
    if to not in ALLOWED[operation.state]:
        raise InvalidState(operation.state, f"an operation that is {operation.state} cannot become {to}")
    return replace(operation, state=to, version=operation.version + 1, changed_at=now, **changes)  # type: ignore[arg-type]


def pages_of(operation: str, entries: Sequence[Entry]) -> list[Page]:
    return [
        Page(operation=operation, number=number, entries=tuple(entries[start : start + PAGE_ITEMS]))
        for number, start in enumerate(range(0, len(entries), PAGE_ITEMS))
    ]


def counted(pages: Iterable[Page]) -> dict[Outcome, int]:
    return dict(Counter(entry.outcome for page in pages for entry in page.entries))


def why_not(plan: Plan, item: Item, now: datetime) -> str | None:
    """The reason that excludes the item from the plan's action; None for an eligible item."""
    if isinstance(item, Payment):
        return _why_not_payment(plan, item)
    if isinstance(item, Definition):
        found, _ = _PLANS[plan.action]
        return None if item.state in found else f"is {item.state}, not {' or '.join(sorted(found))}"
    match plan.action:
        case Action.REDRIVE | Action.DISCARD if item.state is not tasks.State.DEAD:
            return f"is {item.state}, not DEAD"
        case Action.RETRY if item.state is not tasks.State.DEAD and not item.state.waits:
            return f"is {item.state}, neither DEAD nor waiting"
        case Action.CANCEL if item.state is not tasks.State.PENDING:
            return f"is {item.state}, not PENDING"
        case Action.CANCEL if item.recurs is not None and item.recurs.number:
            return "is a run of a plan: cancel its task"
        case Action.REDRIVE | Action.RETRY:
            return transitions.too_late(item, now)
        case Action.CANCEL | Action.DISCARD:
            return None
        case Action.PAUSE | Action.RESUME:
            return "is not a recurring task"
        case _:
            assert_never(plan.action)


def _why_not_payment(plan: Plan, payment: Payment) -> str | None:
    parked = payment.state is payments.State.EXECUTING and payment.phase is Phase.RESTS
    match plan.action:
        case Action.REDRIVE | Action.RETRY if not parked:
            return f"is {payment.state}, and not parked"
        case Action.CANCEL if payment.state is not payments.State.PENDING and not parked:
            return f"is {payment.state}, neither PENDING nor parked"
        case Action.CANCEL if parked and not plan.operates:
            # The books contradict the payment: to return its hold is a decision about money. Another attempt is not,
            # because its transaction checks the books again.
            return "is parked: only an operator may cancel it"
        case _:
            return None


def was_acted_on(operation: Operation, entry: Entry, item: Item) -> bool:
    """True if the operation signed the item's next version after the plan: a slice may have acted before a crash and
    not been recorded. The version of another author is the attempt of somebody else. A plan has no history; its next
    version counts if it is in the state that the action leaves behind."""
    if isinstance(item, Definition):
        _, left = _PLANS[operation.plan.action]
        return item.version == entry.version + 1 and item.state is left
    return any(line.version == entry.version + 1 and line.by == operation.author for line in item.history)


def outcome_of(operation: Operation, entry: Entry, item: Item | None) -> Outcome:
    """The outcome of an item, from the item as it is now. CHANGED if another author changed the item before the
    operation acted, or if it is gone."""
    match item:
        case None:
            return Outcome.CHANGED
        case _ if item.version != entry.version and not was_acted_on(operation, entry, item):
            return Outcome.CHANGED
        case Payment():
            return _outcome_of_payment(entry, item)
        case Task():
            return _outcome_of_task(entry, item)
        case Definition():
            return Outcome.SENT if item.version == entry.version else Outcome.DONE
        case _:
            assert_never(item)


def _outcome_of_payment(entry: Entry, payment: Payment) -> Outcome:
    if payment.version == entry.version:
        return Outcome.SENT
    match payment.state:
        case payments.State.COMPLETED:
            return Outcome.DONE
        case payments.State.EXECUTING | payments.State.FAILED:
            return Outcome.FAILED
        case payments.State.PENDING | payments.State.CANCELLED:
            return Outcome.CHANGED
        case _:
            assert_never(payment.state)


def _outcome_of_task(entry: Entry, task: Task) -> Outcome:
    begun: int | None = None
    for line in task.history:
        if line.version <= entry.version:
            continue
        match line.to.end:
            case tasks.End.DONE:
                return Outcome.DONE
            case tasks.End.FAILED:
                return Outcome.FAILED
            case tasks.End.MISSED | tasks.End.WITHDRAWN:
                return Outcome.CHANGED
            case None if line.to is tasks.State.RETRYING and begun is not None and line.attempt >= begun:
                return Outcome.FAILED
            case None:
                # A claim that was released, or a change before the attempt, began no attempt.
                begun = line.attempt if line.to is tasks.State.RUNNING else None
            case _:
                assert_never(line.to.end)
    return Outcome.SENT


def too_many_failed(rule: StopRule, entries: Iterable[Entry], *, now: datetime) -> bool:
    """True if the share of failed ones among the known ends of the newest attempts reaches the rule's."""
    known = [
        each.outcome
        for each in entries
        if each.outcome in (Outcome.DONE, Outcome.FAILED)
        and each.at is not None
        and each.at >= now - rule.within
    ]
    return len(known) >= SAMPLE_MIN and known.count(Outcome.FAILED) >= rule.failed_share * len(known)


def most_common(names: Iterable[str]) -> dict[str, int]:
    """Counts of the most common entries; all others are counted together."""
    counted = Counter(names).most_common()
    told = Counter(dict(counted[:_NAMES_MAX]))
    told.update({_OTHERS: sum(count for _, count in counted[_NAMES_MAX:])} if counted[_NAMES_MAX:] else {})
    return dict(told)


def fingerprint(error: str | None) -> str:
    """A failure without what differs from one item to the next: ids and long numbers."""
    return _IDS.sub("…", error or "no error was recorded")[:_FINGERPRINT_MAX]
