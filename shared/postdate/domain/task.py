"""A task: one call to a destination, due at an instant."""

from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from enum import Enum, StrEnum, auto
from typing import assert_never

from postdate.domain.flow import FlowControl
from postdate.domain.instants import minute_of
from postdate.domain.item import Phase
from postdate.domain.recurs import Recurs
from postdate.domain.retry import RetryPolicy
from postdate.domain.slots import Slot, home

KIND = "task"
RUN_KIND = "run"
OPERATION_KIND = "op"
# Deliveries of events to subscriptions.
DELIVERY_KIND = "dlv"
KINDS = frozenset({KIND, RUN_KIND, OPERATION_KIND, DELIVERY_KIND})
RECEIVER = "receiver"
# No attempt begins later after the task's instant. The payload's row and the run's definition may be gone by then.
LIFETIME = timedelta(days=60)
PAST_DEADLINE = "its deadline has passed"
# A delivery may register a task, whose delivery registers another. Chains longer than this are refused.
DEPTH_MAX = 5


class End(Enum):
    """The kinds of ends. DONE: the call was delivered. FAILED: the attempts or the time of the task were used up.
    MISSED: the occurrence passed before its run could begin. WITHDRAWN: the owner, or a rule of the recurring task,
    decided that the call is not made."""

    DONE = auto()
    FAILED = auto()
    MISSED = auto()
    WITHDRAWN = auto()


class State(StrEnum):
    PENDING = "PENDING"
    RUNNING = "RUNNING"
    RETRYING = "RETRYING"
    SUCCEEDED = "SUCCEEDED"
    DEAD = "DEAD"
    CANCELLED = "CANCELLED"
    EXPIRED = "EXPIRED"
    SKIPPED = "SKIPPED"
    MISSED = "MISSED"

    @property
    def phase(self) -> Phase:
        match self:
            case State.PENDING | State.RETRYING:
                return Phase.WAITS
            case State.RUNNING:
                return Phase.RUNS
            case (
                State.SUCCEEDED | State.DEAD | State.CANCELLED | State.EXPIRED | State.SKIPPED | State.MISSED
            ):
                return Phase.RESTS
            case _:
                assert_never(self)

    @property
    def waits(self) -> bool:
        return self.phase is Phase.WAITS

    @property
    def end(self) -> End | None:
        """The kind of the end that this state is. Counts, events and operations follow from it. None for a state that
        is no end."""
        match self:
            case State.PENDING | State.RUNNING | State.RETRYING:
                return None
            case State.SUCCEEDED:
                return End.DONE
            case State.DEAD | State.EXPIRED:
                return End.FAILED
            case State.MISSED:
                return End.MISSED
            case State.CANCELLED | State.SKIPPED:
                return End.WITHDRAWN
            case _:
                assert_never(self)

    @property
    def follows_failure(self) -> bool:
        """True for a state that a failed attempt leads to."""
        return self is State.RETRYING or self.end is End.FAILED


class Ack(StrEnum):
    """RESPONSE: the answer to the delivery ends a run. EXPLICIT: a request of the receiver, with the run's token, ends
    it."""

    RESPONSE = "response"
    EXPLICIT = "explicit"


@dataclass(frozen=True, kw_only=True, slots=True)
class Destination:
    """The receiver of the calls of a task."""

    # The kind of destination, a name in `targets.registry.KINDS`.
    type: str
    # The URL of a webhook, else the name or ARN that the service of this kind knows.
    address: str
    # The HTTP method of a webhook; unused for other kinds.
    method: str = "POST"
    # Headers with readable values, for webhooks only: of a request, of a delivery, and in rows of older releases.
    headers: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    # Headers with sealed values, as rows keep them; empty if the request named none.
    sealed: tuple[tuple[str, str], ...] = ()
    # The type of an event, for buses only; empty for other kinds.
    detail_type: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class Payload:
    """The content of a call. At most one of the three fields is set; none is set for a task without a payload."""

    # JSON text inside the task's own row.
    text: str | None = None
    # The key of a row of its own, set by the API for a text that would make the task's row expensive. For a delivery
    # to a subscription: the id of the event that it delivers.
    key: str | None = None
    # The address of an object that the tenant keeps, set by the request.
    ref: str | None = None

    def moved_to(self, key: str) -> "Payload":
        """The payload with its text in a row of its own."""
        return replace(self, text=None, key=key)


@dataclass(frozen=True, kw_only=True, slots=True)
class HistoryLine:
    """One version of a task, written by the transition that made the version."""

    # The version that this line describes. Version 1 is the registration.
    version: int
    # The instant of the decision, by the clock of the function that decided.
    at: datetime
    # The state after the transition.
    to: State
    # The reason; of a claim, the sender of the call; of a failure, the words of the target.
    why: str
    # The number of attempts so far, this one included.
    attempt: int
    # The worker of a claim; None for every other line.
    worker: str | None = None
    # The end of a claim's first lease; None for every other line.
    lease_until: datetime | None = None
    # The author, as `<type>:<id>`; empty for a worker's own changes. Equality leaves it out.
    by: str = field(default="", compare=False)


@dataclass(frozen=True, kw_only=True, slots=True)
class Template:
    """The call that a request describes. An order for a one-time task has a template; so has a definition, for all of
    its runs."""

    # The receiver of each call.
    destination: Destination
    # The content of each call.
    payload: Payload
    # The number of attempts and the pauses between them.
    retry: RetryPolicy = field(default_factory=RetryPolicy)
    # The longest wait for the answer, or for the receiver's own request.
    timeout_seconds: int = 30
    # The event that ends a run.
    ack: Ack = Ack.RESPONSE
    # The time from the instant of a run to its deadline; None for no deadline.
    expires_after: timedelta | None = None
    # The limits of the flow key; None without flow control.
    flow: FlowControl | None = None
    # The number of deliveries that led to the request, each of which registered the next; 0 if none did.
    depth: int = 0


@dataclass(frozen=True, kw_only=True, slots=True)
class Task:
    """One call at one instant: a one-time task, or a run of a recurring one. A step of a backfill is a task as well."""

    # The home slot and a unique part; set at registration, never changed.
    id: str
    # The owner, from the key of the request.
    tenant: str
    # The current state, a result of `transitions`.
    state: State
    # 1 at registration, one more with each transition. Conditional writes compare the version.
    version: int
    # The instant of the request. A change of the task may set another one.
    planned_at: datetime
    # The instant of the next attempt; equal to `planned_at` until a transition postpones the task.
    due_at: datetime
    # The instant of the registration.
    created_at: datetime
    # The instant at which `due_at` was last set.
    moved_at: datetime
    # The receiver of each call; from the template, as the next three fields.
    destination: Destination
    # The content of each call. The API may have moved a long text to a row of its own.
    payload: Payload
    # The number of attempts and the pauses between them.
    retry: RetryPolicy = field(default_factory=RetryPolicy)
    # The longest wait for the answer, or for the receiver's own request.
    timeout_seconds: int = 30
    # The owner's name for the task; None if the request gave none.
    name: str | None = None
    # The owner's words for the task; empty if the request gave none.
    tags: tuple[str, ...] = ()
    # Attempts since the registration or the last redrive, set by each claim.
    attempts: int = 0
    # The number of all claims so far, a fencing token: targets and conditional writes refuse a lower one.
    token: int = 0
    # The end of the lease of the newest claim; None unless the task is RUNNING.
    lease_until: datetime | None = None
    # The worker of the newest claim, or RECEIVER after an explicit acknowledgement began; None before the first claim.
    holder: str | None = None
    # The instant of the final state; None before.
    finished_at: datetime | None = None
    # The reason why the newest attempt failed; None if none failed, and after success.
    error: str | None = None
    # One line for each version, the oldest first. Long histories lose lines from the second one on.
    history: tuple[HistoryLine, ...] = ()
    # The event that ends a run; from the template.
    ack: Ack = Ack.RESPONSE
    # The deadline: no attempt begins at this instant or later; None without a deadline.
    expires_at: datetime | None = None
    # The position in a recurring task; None for a one-time task.
    recurs: Recurs | None = None
    # The limits of the flow key, from the template; None without flow control.
    flow: FlowControl | None = None
    # The instant for which flow control gave the task a place; None before, and after a change of flow control. A task
    # that is due at another instant has no place.
    placed_at: datetime | None = None
    # The Idempotency-Key of a registration through the job API; None for other tasks.
    job_key: str | None = None
    # The number of deliveries that led to the registration, from the template; 0 if none did.
    depth: int = 0

    def signed(self, by: str) -> "Task":
        """The task with the author of its newest version. An author that the version names already stays."""
        if not by or not self.history or self.history[-1].by:
            return self
        return replace(self, history=(*self.history[:-1], replace(self.history[-1], by=by)))

    @property
    def task_id(self) -> str:
        """The id that the owner registered: that of the definition for a run, that of the subscription for a delivery,
        else the task's own."""
        return self.id if self.recurs is None else self.recurs.definition

    @property
    def is_delivery(self) -> bool:
        """True for the delivery of an event to a subscription."""
        return self.id.startswith(f"{DELIVERY_KIND}_")

    @property
    def ends_at(self) -> datetime:
        """The deadline, or the end of the lifetime if that comes first. No attempt begins at this instant or later. The
        lifetime of a backfilled run begins when its row is written."""
        lifetime_ends_at = max(self.planned_at, self.created_at) + LIFETIME
        return lifetime_ends_at if self.expires_at is None else min(self.expires_at, lifetime_ends_at)

    def too_late(self, instant: datetime) -> str | None:
        """The reason why no attempt may begin at that instant; None if one may."""
        if self.expires_at is not None and instant >= self.expires_at:
            return PAST_DEADLINE
        return f"{LIFETIME.days} days have passed since its instant" if instant >= self.ends_at else None

    @property
    def home(self) -> Slot:
        return home(self.id)

    @property
    def phase(self) -> Phase:
        return self.state.phase

    @property
    def is_written_late(self) -> bool:
        """True for a new row whose minute was over when it was written, as of a run that is caught up: the audits of
        that minute may have ended."""
        home = self.home
        return self.state.waits and home.holds(self.due_at) and home.minute < minute_of(self.moved_at)

    @property
    def name_in_room(self) -> str:
        """The name of this claim in the room of its flow key. Workers that claim the same version at once have the same
        name; only one of them is written."""
        return f"{self.id}#{self.token}"

    @property
    def is_claimed_first(self) -> bool:
        """True right after the first claim. A redrive sets the attempts to 0, but its claim is a later one."""
        return sum(line.to is State.RUNNING for line in self.history) == 1

    @property
    def lateness_ms(self) -> int | None:
        """The time from the planned instant to the first attempt; None before that attempt. The lateness of a run
        beside the plan counts from its request."""
        out_of_turn = self.recurs is not None and self.recurs.number == 0
        since = self.created_at if out_of_turn else self.planned_at
        first = next((line.at for line in self.history if line.to is State.RUNNING), None)
        return None if first is None else round((first - since).total_seconds() * 1000)
