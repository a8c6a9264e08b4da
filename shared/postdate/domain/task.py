"""A task: a call to somebody else's endpoint, due at an instant."""

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from typing import assert_never

from postdate.domain.flow import FlowControl
from postdate.domain.instants import minute_of
from postdate.domain.item import Phase
from postdate.domain.retry import RetryPolicy
from postdate.domain.slots import Slot, home

KIND = "task"
RUN_KIND = "run"
OPERATION_KIND = "op"
KINDS = frozenset({KIND, RUN_KIND, OPERATION_KIND})
RECEIVER = "receiver"
# No attempt begins later after the task's instant: the row of its payload, and the definition of its run, may be gone.
LIFETIME = timedelta(days=60)
# A delivery may register a task, whose delivery registers another, and so on: up to this depth.
DEPTH_MAX = 5


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


class Ack(StrEnum):
    """What ends a run: the answer to its delivery, or, EXPLICIT, the receiver's own word under the run's token."""

    RESPONSE = "response"
    EXPLICIT = "explicit"


@dataclass(frozen=True, kw_only=True, slots=True)
class Destination:
    """Where a task goes. `address` is a URL, or what the service of the destination's type calls it by; `method` and
    `headers` are for webhooks, `detail_type` is for buses."""

    type: str
    address: str
    method: str = "POST"
    headers: tuple[tuple[str, str], ...] = ()
    detail_type: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class Payload:
    """JSON text: in the task's own row, or, when it would make that row expensive, in one of its own under `key`; or an
    object that its tenant keeps, by its address `ref`."""

    text: str | None = None
    key: str | None = None
    ref: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class HistoryLine:
    """One line for each version: what the task became, when and why. A claim names its `worker`, and until when that
    worker had the task at first; other lines have neither."""

    version: int
    at: datetime
    to: State
    why: str
    attempt: int
    worker: str | None = None
    lease_until: datetime | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Recurs:
    """Which run of which definition a task is. `plan` is the version of the definition's plan that made it, `at` the
    occurrence's instant before any jitter.

    `number` counts the runs of a definition, from 1; 0 is a run out of turn, after which none follows. `before` are
    the runs that have to be over before this one, if the definition lets none overlap. `passed` is one that was not to
    run when this one was written; a slower worker may have begun it after all. `wall` is the occurrence's wall time,
    which names it; None out of turn and in rows of older code.
    """

    definition: str
    plan: int
    at: datetime
    number: int
    before: tuple[str, ...] = ()
    passed: str | None = None
    wall: datetime | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Task:
    """`planned_at` is what its owner asked for; `due_at` is when the next attempt is due, set at `moved_at`.

    `attempts` counts since it was registered or brought back from the dead; `token` counts every claim ever made and
    fences off a worker that was thought dead; `holder` names the worker that made the newest claim, or RECEIVER once
    an explicit acknowledgement is waited for. After `expires_at` no attempt begins. `placed_at` is the instant for
    which its flow control has given it a place: one that is due at another instant has none. `job_key` is the
    Idempotency-Key that the job API has told; other tasks keep none. `depth` counts the deliveries that led to its
    registration, each of which registered the next; 0 if none did.
    """

    id: str
    tenant: str
    state: State
    version: int
    planned_at: datetime
    due_at: datetime
    created_at: datetime
    moved_at: datetime
    destination: Destination
    payload: Payload
    retry: RetryPolicy = field(default_factory=RetryPolicy)
    timeout_seconds: int = 30
    name: str | None = None
    tags: tuple[str, ...] = ()
    attempts: int = 0
    token: int = 0
    lease_until: datetime | None = None
    holder: str | None = None
    finished_at: datetime | None = None
    error: str | None = None
    history: tuple[HistoryLine, ...] = ()
    ack: Ack = Ack.RESPONSE
    expires_at: datetime | None = None
    recurs: Recurs | None = None
    flow: FlowControl | None = None
    placed_at: datetime | None = None
    job_key: str | None = None
    depth: int = 0

    @property
    def task_id(self) -> str:
        """What its owner registered: the definition, where there is one."""
        return self.id if self.recurs is None else self.recurs.definition

    @property
    def ends_at(self) -> datetime:
        """No attempt begins at this instant or later: its deadline, or the end of its lifetime if that comes first. The
        lifetime of a run that is backfilled begins when the run is written."""
        lifetime_ends_at = max(self.planned_at, self.created_at) + LIFETIME
        return lifetime_ends_at if self.expires_at is None else min(self.expires_at, lifetime_ends_at)

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
        """Under which its key's room has it: that of one claim, whoever else wants to make the same."""
        return f"{self.id}#{self.token}"

    @property
    def lateness_ms(self) -> int | None:
        """How long after its planned instant the first attempt began; a run out of turn can be late only from the
        moment it was asked for."""
        out_of_turn = self.recurs is not None and self.recurs.number == 0
        since = self.created_at if out_of_turn else self.planned_at
        first = next((line.at for line in self.history if line.to is State.RUNNING), None)
        return None if first is None else round((first - since).total_seconds() * 1000)
