"""Events of payments: one a version, from the payment before and after."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from enum import Enum
from typing import Any, Final, assert_never

from postdate.domain.event import Actor, Event, Subject, differences
from postdate.domain.payment import HistoryLine, Payment, State

KIND: Final = "payment"
NAMES: Final = (
    *("scheduled", "changed", "rescheduled", "executing", "parked"),
    *("completed", "failed", "cancelled"),
)
_ENDS: Final[Mapping[State, str]] = {
    State.COMPLETED: "completed",
    State.FAILED: "failed",
    State.CANCELLED: "cancelled",
}
# Terms of a payment that have another name in the API.
_API_NAMES: Final = {"payer": "from_account_id", "payee": "to_account_id"}


def subject_of(payment: Payment) -> Subject:
    return Subject(tenant=payment.tenant, kind=KIND, id=payment.id)


def event_of(before: Payment | None, after: Payment) -> Event | None:
    """The event of a payment's change; None for a change that makes no version."""
    if before is not None and before.version == after.version:
        return None
    line, now = after.history[-1], fields_of(after)
    data: dict[str, Any] = {"after": now, "reason": line.why}
    if before is not None:
        data["before"] = differences(fields_of(before), now)
    return _event(after, line, f"{KIND}.{_named(before, after)}", data)


def events_of_history(payment: Payment, *, after: int) -> list[Event]:
    """The events behind a sequence, as far as the payment's own history tells them. The newest one has the fields as
    they are now."""
    lines = [line for line in payment.history if line.version > after]
    return [_of_line(payment, line) for line in lines]


def _of_line(payment: Payment, line: HistoryLine) -> Event:
    data: dict[str, Any] = {"reason": line.why}
    if line.version == payment.version:
        data["after"] = fields_of(payment)
    else:
        data["status"] = line.to.value
        # The history has no metadata. Filters of subscriptions read it, so the event has that of now.
        if payment.metadata:
            data["after"] = {"metadata": dict(payment.metadata)}
    event = _event(payment, line, f"{KIND}.{_of_state(line)}", data)
    return replace(event, reconstructed=True)


def fields_of(payment: Payment) -> dict[str, Any]:
    """The fields that an event tells, under the names of the API. Those without a value are left out."""
    fields: dict[str, Any] = {
        "status": payment.state.value,
        **{_API_NAMES.get(name, name): _value(value) for name, value in payment.terms.items()},
        "scheduled_time": _text(payment.planned_at),
        "attempts": payment.attempts or None,
        "next_attempt_at": _text(payment.lease_until),
        "executed_at": _text(payment.finished_at) if payment.state is State.COMPLETED else None,
        "error_code": payment.error_code,
        "error_message": payment.error,
    }
    return {name: value for name, value in fields.items() if value is not None}


def _value(term: Any) -> Any:
    """A term as JSON: pairs become an object, and no pairs are no value."""
    match term:
        case Enum():
            return term.value
        case tuple():
            return dict(term) or None
        case _:
            return term


def _event(payment: Payment, line: HistoryLine, type: str, data: Mapping[str, Any]) -> Event:
    return Event(
        subject=subject_of(payment),
        type=type,
        sequence=line.version,
        occurred_at=line.at,
        actor=Actor.parse(line.by),
        accounts=(payment.payer, payment.payee),
        data=data,
    )


def _named(before: Payment | None, after: Payment) -> str:
    if before is None:
        return "scheduled"
    match after.state:
        case State.PENDING:
            return "changed" if before.planned_at == after.planned_at else "rescheduled"
        # Without a lease no attempt follows: a person decides.
        case State.EXECUTING:
            return "parked" if after.lease_until is None else "executing"
        case State.COMPLETED | State.FAILED | State.CANCELLED:
            return _ENDS[after.state]
        case _:
            assert_never(after.state)


def _of_state(line: HistoryLine) -> str:
    """The event's name from a line of history alone. The line names a change of the instant only in its reason, and
    does not show parking."""
    match line.to:
        case State.PENDING if line.version == 1:
            return "scheduled"
        case State.PENDING:
            return "rescheduled" if "scheduled_time" in line.why else "changed"
        case State.EXECUTING:
            return "executing"
        case State.COMPLETED | State.FAILED | State.CANCELLED:
            return _ENDS[line.to]
        case _:
            assert_never(line.to)


def _text(instant: datetime | None) -> str | None:
    return None if instant is None else instant.isoformat(timespec="milliseconds").replace("+00:00", "Z")
