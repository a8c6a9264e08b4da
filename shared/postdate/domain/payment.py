"""A payment: money that moves from one account to another at an instant."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import assert_never

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
    """RESERVE holds the amount from registration on; with AT_EXECUTION the balance decides at the instant."""

    RESERVE = "reserve"
    AT_EXECUTION = "at_execution"


@dataclass(frozen=True, kw_only=True, slots=True)
class HistoryLine:
    """One line for each version: what the payment became, when and why."""

    version: int
    at: datetime
    to: State
    why: str
    attempt: int


class ExecutionStatus(StrEnum):
    IN_PROGRESS = "IN_PROGRESS"
    SUCCESS = "SUCCESS"
    FAILED = "FAILED"


@dataclass(frozen=True, kw_only=True, slots=True)
class Execution:
    """One attempt to settle. One that did not get through is IN_PROGRESS until the next one ends it."""

    id: str
    status: ExecutionStatus
    started_at: datetime
    completed_at: datetime | None = None
    error: str | None = None
    retry_count: int = 0


@dataclass(frozen=True, kw_only=True, slots=True)
class Payment:
    """`planned_at` is what its owner asked for; `due_at` is when the next attempt is due, set at `moved_at`.

    While it is EXECUTING, `lease_until` says when the next attempt comes; without one it waits for a person.
    """

    id: str
    tenant: str
    payer: str
    payee: str
    amount: int
    funding: Funding
    state: State
    version: int
    planned_at: datetime
    due_at: datetime
    created_at: datetime
    moved_at: datetime
    description: str | None = None
    metadata: tuple[tuple[str, str], ...] = ()
    attempts: int = 0
    lease_until: datetime | None = None
    finished_at: datetime | None = None
    error_code: str | None = None
    error: str | None = None
    history: tuple[HistoryLine, ...] = ()
    executions: tuple[Execution, ...] = ()

    @property
    def home(self) -> Slot:
        return home(self.id)

    @property
    def phase(self) -> Phase:
        return phase(self.state, retries=self.lease_until is not None)

    @property
    def held(self) -> int:
        """What of the payer's money is reserved for it."""
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
