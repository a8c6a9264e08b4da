"""The answers about payments."""

from typing import Annotated, Any, Final, Literal, NotRequired

from pydantic import Field
from typing_extensions import TypedDict

from functions.api.answers import Count, Cursor, Instant, Partial, Version, described, words
from functions.api.errors import Problem, problem
from functions.api.events import answers as events
from functions.api.events.answers import Event
from functions.api.forms import text_of
from functions.api.payments.terms import TermsAnswer, answer_of
from postdate.domain import event as domain_event
from postdate.domain import payment, payment_event
from postdate.domain.errors import PostdateError
from postdate.domain.payment import State

_TYPES: Final = [name.upper() for name in payment_event.NAMES]


class Payment(TermsAnswer):
    payment_id: Annotated[
        str, described("The id contains the minute that the payment was registered for, so ids sort by time.")
    ]
    scheduled_time: Annotated[Instant, described("The instant of the request.")]
    status: Annotated[
        str,
        words(State),
        described(
            "PENDING waits for its instant. EXECUTING is what an attempt could not finish; another one comes, or an "
            "operator decides. COMPLETED, FAILED and CANCELLED are final."
        ),
    ]
    created_at: Instant
    executed_at: Annotated[
        Instant | None, described("The instant of the decision to settle, just before the commit.")
    ]
    cancelled_at: Instant | None
    error_code: Annotated[str | None, described("The error of a FAILED payment, for programs.")]
    error_message: Annotated[str | None, described("The reason why the newest attempt failed, for people.")]
    lateness_ms: Annotated[
        int | None, described("The milliseconds from the scheduled instant to `executed_at`.")
    ]
    attempts: Count
    version: Version


class PaymentList(TypedDict):
    payments: list[Payment]
    next_cursor: Cursor
    partial: Partial


class PaymentResult(TypedDict):
    index: Count
    payment: NotRequired[Annotated[Payment, described("The payment, unless it was refused.")]]
    error: NotRequired[Annotated[Problem, described("The reason for the refusal.")]]


class PaymentBatchAnswer(TypedDict):
    results: Annotated[
        list[PaymentResult], described("One result for each payment, in the order of the request.")
    ]


class CancelledPayment(TypedDict):
    success: Literal[True]
    status: Annotated[str, Field(json_schema_extra={"const": State.CANCELLED.value})]
    payment_id: str
    version: Version


class PaymentEvent(Event):
    """An event of the feed, with the names of the audit trail beside it."""

    event_type: Annotated[str, Field(json_schema_extra={"enum": _TYPES})]
    event_data: Annotated[dict[str, Any], described("The same as `data`.")]
    timestamp: Annotated[Instant, described("The same as `occurred_at`.")]


class PaymentEvents(TypedDict):
    events: Annotated[
        list[PaymentEvent],
        described(
            "One a version, in order. What is not recorded yet, or was changed by a release without events, comes from "
            "the payment's own history and is `reconstructed`."
        ),
    ]
    next_cursor: Cursor


def of(given: payment.Payment) -> Payment:
    return {
        "payment_id": given.id,
        **answer_of(given),
        "scheduled_time": text_of(given.planned_at),
        "status": given.state.value,
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
    """The result of one payment of a batch."""
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


def event(given: domain_event.Event) -> PaymentEvent:
    """A line of the audit trail."""
    common = events.of(given)
    return {
        **common,
        "event_type": given.type.rpartition(".")[2].upper(),
        "event_data": common["data"],
        "timestamp": common["occurred_at"],
    }
