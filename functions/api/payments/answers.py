"""What is answered about payments."""

from typing import Annotated, Final, Literal, NotRequired

from pydantic import Field
from typing_extensions import TypedDict

from functions.api.answers import Count, Cursor, Instant, Partial, Version, told, words
from functions.api.errors import Problem, problem
from functions.api.forms import text_of
from postdate.domain import payment
from postdate.domain.errors import PostdateError
from postdate.domain.money import EXECUTIONS_MAX, HISTORY_LINES_MAX
from postdate.domain.payment import ExecutionStatus, Funding, State

_TYPES: Final = ["SCHEDULED", "RESCHEDULED", *(each.value for each in State if each is not State.PENDING)]


class Payment(TypedDict):
    payment_id: Annotated[
        str, told("It holds the minute that the payment was registered for, so ids sort by time.")
    ]
    from_account_id: str
    to_account_id: str
    amount: int
    scheduled_time: Annotated[Instant, told("The instant asked for.")]
    status: Annotated[
        str,
        words(State),
        told(
            "PENDING waits for its instant. EXECUTING is what an attempt could not finish; another one comes, or an "
            "operator decides. COMPLETED, FAILED and CANCELLED are final."
        ),
    ]
    funding: Annotated[str, words(Funding)]
    description: str | None
    metadata: dict[str, str]
    created_at: Instant
    executed_at: Annotated[Instant | None, told("When the money was moved.")]
    cancelled_at: Instant | None
    error_code: Annotated[str | None, told("Why it failed, for programs.")]
    error_message: Annotated[str | None, told("Why the last attempt failed, for people.")]
    lateness_ms: Annotated[int | None, told("From the instant asked for until the money was moved.")]
    attempts: Count
    version: Version


class PaymentList(TypedDict):
    payments: list[Payment]
    next_cursor: Cursor
    partial: Partial


class PaymentResult(TypedDict):
    index: Count
    payment: NotRequired[Annotated[Payment, told("The payment, unless it was refused.")]]
    error: NotRequired[Annotated[Problem, told("Why it was refused.")]]


class PaymentBatchAnswer(TypedDict):
    results: Annotated[list[PaymentResult], told("In the order of what was sent.")]


class CancelledPayment(TypedDict):
    success: Literal[True]
    status: Annotated[str, Field(json_schema_extra={"const": State.CANCELLED.value})]
    payment_id: str
    version: Version


class PaymentEvent(TypedDict):
    type: Annotated[
        str,
        Field(json_schema_extra={"enum": _TYPES}),
        told("Any change before the instant is RESCHEDULED."),
    ]
    at: Instant
    version: Count
    status: Annotated[str, words(State)]
    attempt: Count
    reason: str


class PaymentEvents(TypedDict):
    events: Annotated[
        list[PaymentEvent],
        told(f"One a version: the first, and the newest {HISTORY_LINES_MAX - 1} after it."),
    ]


class PaymentExecution(TypedDict):
    execution_id: str
    payment_id: str
    status: Annotated[str, words(ExecutionStatus)]
    started_at: Instant
    completed_at: Instant | None
    executed_at: Annotated[
        Instant | None, told("When the money moved; null for an attempt that did not move it.")
    ]
    error_message: str | None
    retry_count: Annotated[Count, told("How many attempts there were before it.")]


class PaymentExecutions(TypedDict):
    executions: Annotated[list[PaymentExecution], told(f"The newest {EXECUTIONS_MAX}, in order.")]


class Executed(TypedDict):
    """With `error_code` if it failed."""

    success: Annotated[bool, told("Whether the money was moved.")]
    execution_id: Annotated[str, told("Of the execution that ended it, whoever asked.")]
    status: Annotated[str, Field(json_schema_extra={"enum": [State.COMPLETED.value, State.FAILED.value]})]
    error_code: NotRequired[str | None]


def of(given: payment.Payment) -> Payment:
    return {
        "payment_id": given.id,
        "from_account_id": given.payer,
        "to_account_id": given.payee,
        "amount": given.amount,
        "scheduled_time": text_of(given.planned_at),
        "status": given.state.value,
        "funding": given.funding.value,
        "description": given.description,
        "metadata": dict(given.metadata),
        "created_at": text_of(given.created_at),
        "executed_at": text_of(given.finished_at) if given.state is State.COMPLETED else None,
        "cancelled_at": text_of(given.finished_at) if given.state is State.CANCELLED else None,
        "error_code": given.error_code,
        "error_message": given.error,
        "lateness_ms": given.lateness_ms,
        "attempts": given.attempts,
        "version": given.version,
    }


def result(index: int, answer: payment.Payment | PostdateError, request_id: str) -> PaymentResult:
    """What became of one payment of a batch."""
    if isinstance(answer, PostdateError):
        return {"index": index, "error": problem(answer, request_id)}
    return {"index": index, "payment": of(answer)}


def cancelled(given: payment.Payment) -> CancelledPayment:
    return {
        "success": True,
        "status": given.state.value,
        "payment_id": given.id,
        "version": given.version,
    }


def executed(given: payment.Payment) -> Executed:
    """How a payment ended, and which execution ended it."""
    done = given.state is State.COMPLETED
    ended: Executed = {
        "success": done,
        "execution_id": given.executions[-1].id,
        "status": given.state.value,
    }
    return ended if done else {**ended, "error_code": given.error_code}


def events(given: payment.Payment) -> list[PaymentEvent]:
    """The audit trail: one line a version."""
    return [
        {
            "type": _event(line.version, line.to),
            "at": text_of(line.at),
            "version": line.version,
            "status": line.to.value,
            "attempt": line.attempt,
            "reason": line.why,
        }
        for line in given.history
    ]


def executions(given: payment.Payment) -> list[PaymentExecution]:
    return [
        {
            "execution_id": execution.id,
            "payment_id": given.id,
            "status": execution.status.value,
            "started_at": text_of(execution.started_at),
            "completed_at": text_of(execution.completed_at),
            "executed_at": text_of(execution.completed_at)
            if execution.status is ExecutionStatus.SUCCESS
            else None,
            "error_message": execution.error,
            "retry_count": execution.retry_count,
        }
        for execution in given.executions
    ]


def _event(version: int, to: State) -> str:
    if to is not State.PENDING:
        return to.value
    return "SCHEDULED" if version == 1 else "RESCHEDULED"
