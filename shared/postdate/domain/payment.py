"""A payment: money that moves from one account to another at an instant."""

from dataclasses import dataclass, field, fields
from datetime import datetime
from enum import StrEnum
from typing import Any, assert_never

from postdate.domain.item import Phase
from postdate.domain.slots import Slot, home

KIND = "pay"


class State(StrEnum):
    PENDING = "PENDING"
    EXECUTING = "EXECUTING"
    COMPLETED = "COMPLETED"
    FAILED = "FAILED"
    CANCELLED = "CANCELLED"

    @property
    def is_final(self) -> bool:
        match self:
            case State.PENDING | State.EXECUTING:
                return False
            case State.COMPLETED | State.FAILED | State.CANCELLED:
                return True
            case _:
                assert_never(self)


class Funding(StrEnum):
    """RESERVE holds the amount from the registration on. With AT_EXECUTION the balance at the instant decides."""

    RESERVE = "reserve"
    AT_EXECUTION = "at_execution"


@dataclass(frozen=True, kw_only=True, slots=True)
class HistoryLine:
    """One version of a payment, written by the change that made the version."""

    # The version that this line describes. Version 1 is the registration.
    version: int
    # The instant of the decision, by the clock of the function that decided.
    at: datetime
    # The state after the change.
    to: State
    # The reason for the change.
    why: str
    # The number of attempts so far, this one included.
    attempt: int
    # The author, as `<type>:<id>`; empty for a change of a release that noted none. Equality leaves it out.
    by: str = field(default="", compare=False)


class ExecutionStatus(StrEnum):
    IN_PROGRESS = "IN_PROGRESS"
    SUCCESS = "SUCCESS"
    FAILED = "FAILED"


@dataclass(frozen=True, kw_only=True, slots=True)
class Execution:
    """One attempt to settle a payment. An attempt that failed for a passing reason stays IN_PROGRESS until the next
    attempt ends it."""

    # The id from the request of the internal route, else made from the payment's id.
    id: str
    # The outcome.
    status: ExecutionStatus
    # The instant of the attempt.
    started_at: datetime
    # The end; None while IN_PROGRESS.
    completed_at: datetime | None = None
    # The reason for a failure; None without one.
    error: str | None = None
    # The number of attempts before this one.
    retry_count: int = 0


@dataclass(frozen=True, kw_only=True, slots=True)
class Terms:
    """The part of a payment that its owner asks for, except for the instant. All fields come from the request."""

    # The account that pays.
    payer: str
    # The account that is paid.
    payee: str
    # Whole units of the currency, above 0.
    amount: int
    # The time at which the payer needs the money.
    funding: Funding = Funding.RESERVE
    # The owner's text; None if the request gave none.
    description: str | None = None
    # The owner's pairs, sorted by name; empty if the request gave none.
    metadata: tuple[tuple[str, str], ...] = ()

    @property
    def terms(self) -> dict[str, Any]:
        """The fields of the request by their names."""
        return {each.name: getattr(self, each.name) for each in fields(Terms)}


@dataclass(frozen=True, kw_only=True, slots=True)
class Payment(Terms):
    """One transfer of money between two accounts of a tenant, at one instant."""

    # The home slot and a unique part; set at registration, never changed.
    id: str
    # The owner of both accounts, from the key of the request.
    tenant: str
    # The current state, a result of `money`.
    state: State
    # 1 at registration, one more with each change. Conditional writes compare the version.
    version: int
    # The instant of the request. A change of the payment may set another one.
    planned_at: datetime
    # The instant of the next attempt; equal to `planned_at` until an attempt fails for a passing reason.
    due_at: datetime
    # The instant of the registration.
    created_at: datetime
    # The instant at which `due_at` was last set.
    moved_at: datetime
    # The number of attempts to settle so far.
    attempts: int = 0
    # The instant of the next attempt while EXECUTING; None in other states, and when no attempt is left. An EXECUTING
    # payment without it waits for a person.
    lease_until: datetime | None = None
    # The instant of the final state; None before.
    finished_at: datetime | None = None
    # The wire name of the error that ended a FAILED payment; None in other states.
    error_code: str | None = None
    # The reason why the newest attempt failed; None if none failed, and after success.
    error: str | None = None
    # One line for each version, the oldest first.
    history: tuple[HistoryLine, ...] = ()
    # The newest attempts to settle, the oldest first; empty before the first one.
    executions: tuple[Execution, ...] = ()

    @property
    def home(self) -> Slot:
        return home(self.id)

    @property
    def phase(self) -> Phase:
        return phase(self.state, retries=self.lease_until is not None)

    @property
    def held(self) -> int:
        """The amount of the payer's money that is reserved for the payment."""
        return 0 if self.state.is_final or self.funding is Funding.AT_EXECUTION else self.amount

    @property
    def lateness_ms(self) -> int | None:
        if self.state is not State.COMPLETED or self.finished_at is None:
            return None
        return round((self.finished_at - self.planned_at).total_seconds() * 1000)


def phase(state: State, *, retries: bool) -> Phase:
    match state:
        case State.PENDING:
            return Phase.WAITS
        case State.EXECUTING if retries:
            return Phase.RUNS
        case State.EXECUTING | State.COMPLETED | State.FAILED | State.CANCELLED:
            return Phase.RESTS
        case _:
            assert_never(state)
