"""The answers about the attempts to make a payment."""

from typing import Annotated, NotRequired

from pydantic import Field
from typing_extensions import TypedDict

from functions.api.answers import Count, Instant, described, words
from functions.api.forms import text_of
from postdate.domain import payment
from postdate.domain.executions import EXECUTIONS_MAX
from postdate.domain.payment import ExecutionStatus, State


class PaymentExecution(TypedDict):
    execution_id: str
    payment_id: str
    status: Annotated[str, words(ExecutionStatus)]
    started_at: Instant
    completed_at: Instant | None
    executed_at: Annotated[
        Instant | None,
        described("The instant of the decision to settle; null for an attempt that moved no money."),
    ]
    error_message: str | None
    retry_count: Annotated[Count, described("The number of attempts before this one.")]


class PaymentExecutions(TypedDict):
    executions: Annotated[list[PaymentExecution], described(f"The newest {EXECUTIONS_MAX}, in order.")]
    next_cursor: Annotated[
        str | None, described("Null, unless a smaller `limit` was asked for: by default all are on one page.")
    ]


class Executed(TypedDict):
    """The result of an execution, with `error_code` if the payment failed."""

    success: Annotated[bool, described("True if the money moved.")]
    execution_id: Annotated[
        str | None,
        described(
            "The execution that ended the payment. An earlier request may have made it. Null for a payment that only "
            "the archive has."
        ),
    ]
    status: Annotated[str, Field(json_schema_extra={"enum": [State.COMPLETED.value, State.FAILED.value]})]
    error_code: NotRequired[str | None]


def executed(state: State, execution_id: str | None, error_code: str | None) -> Executed:
    """The end of a payment, and the execution that ended it."""
    done = state is State.COMPLETED
    ended: Executed = {"success": done, "execution_id": execution_id, "status": state.value}
    return ended if done else {**ended, "error_code": error_code}


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
