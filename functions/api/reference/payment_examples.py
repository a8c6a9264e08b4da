"""Answers about payments and accounts, made by what makes them: a rent that was paid."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from functions.api.accounts import answers as accounts
from functions.api.accounts import forecast_answers
from functions.api.accounts.forecast import BalanceStep, Forecast
from functions.api.events import answers as events
from functions.api.forms import text_of
from functions.api.payments import answers as payments
from functions.api.payments import execution_answers
from postdate.domain import instants, money, payment_event, settlement
from postdate.domain.account import Account
from postdate.domain.event import Actor, Event, Subject
from postdate.domain.movement import Movement, Type, movement_id, place_at
from postdate.domain.payment import KIND, Payment, Terms
from postdate.domain.slots import Slot, item_id

_AT: Final = datetime(2026, 11, 18, 10, 5, tzinfo=UTC)
_CREATED: Final = datetime(2026, 11, 18, 9, 30, 12, 408_000, tzinfo=UTC)
_ID: Final = item_id(KIND, Slot(minute=instants.minute_of(_AT), shard=3), bytes(range(60, 70)))
_CURSOR: Final = "WyIxNzk1MDg5ODU2MTY5dHhuXzEiLCAiMDEyMyJd"
_KEY: Final = Actor(type="key", id="k1")
_SETTLE: Final = Actor(type="function", id="settle")
_ACCOUNT: Final = Account(
    id="rent",
    tenant="demo",
    created_at=_CREATED - timedelta(days=30),
    updated_at=_CREATED,
    available=4150,
    reserved=850,
    version=3,
)

_DEPOSIT: Final = Movement(
    id=movement_id(_CREATED, "0a1b2c3d4e5f60718293"),
    tenant="demo",
    type=Type.DEPOSIT,
    payer=None,
    payee="rent",
    amount=5000,
    at=_CREATED,
    reference="bank-2026-4711",
    description="Rent for November",
    metadata=(("month", "2026-11"),),
)
_OPENED: Final = Event(
    subject=Subject(tenant="demo", kind="account", id="rent"),
    type="account.opened",
    sequence=1,
    occurred_at=_CREATED,
    recorded_at=_CREATED,
    actor=Actor(type="key", id="0011223344556677"),
    accounts=("rent",),
    data={"after": {"status": "ACTIVE", "balance": 0, "available": 0, "reserved": 0}},
)
_AUDIT: Final[dict[str, Any]] = {
    "ok": True,
    "checks": [
        {
            "name": "conservation",
            "ok": True,
            "observed": 5000,
            "expected": 5000,
            "checked_at": text_of(_AT),
        }
    ],
    "accounts": 2,
    "moving": [],
    "unread": [],
    "goes_on_after": None,
}


def answers() -> dict[str, Any]:
    pending = _payment()
    settled = settlement.settle(pending, now=_AT + timedelta(milliseconds=9))
    cancelled = money.cancel(pending, now=_CREATED + timedelta(minutes=5))
    done, gone = settled.after or pending, (cancelled and cancelled.after) or pending
    recorded = _recorded(pending, done)
    trail = [payments.event(event) for event in recorded]
    feed = [events.of(event) for event in recorded]
    movements = [
        replace(each, place=place_at(instants.milliseconds(each.at), each.id))
        for each in (_DEPOSIT, settled.movement)
        if each is not None
    ]
    return {
        "Payment": payments.of(pending),
        "PaymentList": {"payments": [payments.of(done)], "next_cursor": None, "partial": False},
        "PaymentBatchAnswer": {"results": [{"index": 0, "payment": payments.of(pending)}]},
        "CancelledPayment": payments.cancelled(gone),
        "PaymentEvents": {"events": trail, "next_cursor": None},
        "EventList": {"events": feed, "next_cursor": None, "follow_cursor": _CURSOR, "partial": False},
        "Event": feed[-1],
        "SubjectEvents": {"events": [events.of(_OPENED)], "next_cursor": None},
        "PaymentExecutions": {
            "executions": execution_answers.executions(done),
            "next_cursor": None,
        },
        "Executed": execution_answers.executed(done.state, done.executions[-1].id, done.error_code),
        "Account": accounts.of(_ACCOUNT),
        "AccountBatchAnswer": {"results": [{"index": 0, "account": accounts.of(_ACCOUNT)}]},
        "AccountList": {"accounts": [accounts.of(_ACCOUNT)], "next_cursor": None, "partial": False},
        "TransactionList": {
            "transactions": [accounts.transaction(movement, "rent") for movement in movements],
            "next_cursor": None,
            "follow_cursor": _CURSOR,
        },
        "Audit": _AUDIT,
        "Forecast": forecast_answers.foreseen(_forecast(pending), None),
    }


def _payment() -> Payment:
    terms = Terms(payer="rent", payee="landlord", amount=850, description="November")
    registered = money.register(terms, id=_ID, tenant="demo", due_at=_AT, now=_CREATED)
    assert registered.after is not None  # noqa: S101 (it is what a registration makes)
    return registered.after


def _recorded(pending: Payment, done: Payment) -> list[Event]:
    """The events of a payment, each recorded a moment after its change."""
    made = payment_event.event_of(None, pending), payment_event.event_of(pending, done)
    moment = timedelta(milliseconds=120)
    return [
        replace(event, recorded_at=event.occurred_at + moment, actor=actor)
        for event, actor in zip(made, (_KEY, _SETTLE), strict=True)
        if event is not None
    ]


def _forecast(payment: Payment) -> Forecast:
    after = replace(_ACCOUNT, reserved=0)
    step = BalanceStep(payment_id=payment.id, at=_AT, amount=-payment.amount, balance=after.balance)
    until = _CREATED + timedelta(days=30)
    return Forecast(before=_ACCOUNT, after=after, until=until, falls_short_at=None, steps=(step,))
