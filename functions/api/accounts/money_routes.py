"""Routes of an account's money: deposits, adjustments, the journal and the forecast."""

from datetime import datetime, timedelta
from typing import Any, Final, TypeVar
from urllib.parse import unquote

from aws_lambda_powertools.event_handler import Response
from aws_lambda_powertools.utilities.data_classes.common import BaseProxyEvent

from functions.api import requests
from functions.api.accounts import answers, journal
from functions.api.accounts.deposit import DepositOrder, Moved
from functions.api.accounts.find import find
from functions.api.accounts.forecast import Forecast, begun, forecast, going_on
from functions.api.accounts.forms import (
    AdjustmentForm,
    DepositForm,
)
from functions.api.accounts.restate import Restater
from functions.api.accounts.routes import ADMIN, READ
from functions.api.caller import Caller
from functions.api.events import answers as events
from functions.api.events.own import own
from functions.api.forms import fingerprint, instant_of, parsed
from functions.api.listing import Span, within
from functions.api.operation import Routes
from functions.api.texts import pairs
from functions.api.wiring import wired
from postdate.domain.account import Account
from postdate.domain.errors import ValidationFailed
from postdate.domain.event import Subject
from postdate.domain.movement import Type
from postdate.use_cases.auditing import Auditor

MONEY: Final = Routes("/api/v1/accounts/<account_id>")
ReceiptT = TypeVar("ReceiptT", answers.Deposit, answers.Adjustment)
_FORECAST_USUAL = timedelta(days=30)
_OF_KEYS: Final = ("idempotency_key_missing", "idempotency_key_reused")


@MONEY.serves(
    "post",
    "/deposits",
    name="deposit",
    summary="Deposit money",
    text="The money comes from outside. A frozen or closed account takes no deposit.",
    status=201,
    body=DepositForm,
    examples={
        "one": {"summary": "A deposit", "value": {"amount": 5000}},
        "noted": {
            "summary": "With what it was for",
            "value": {"amount": 5000, "reference": "bank-2026-4711", "metadata": {"month": "2026-11"}},
        },
    },
    example=answers.Deposit(
        transaction_id="txn_1m7pzw3hr0a1b2c3d4e5f60718293",
        account_id="rent",
        type=Type.DEPOSIT.value,
        amount=5000,
        created_at="2026-11-18T09:30:12.408Z",
        reference="bank-2026-4711",
        description="Rent for November",
        metadata={"month": "2026-11"},
    ),
    scope=ADMIN,
    parameters=("IdempotencyKeyNeeded",),
    headers=("Idempotent-Replayed",),
    codes=("malformed", "validation_failed", "not_found", "invalid_state", "account_frozen", *_OF_KEYS),
)
def deposit(caller: Caller, account_id: str) -> Response[answers.Deposit]:
    account = unquote(account_id)
    tenant = caller.administers(account).tenant
    form = parsed(DepositForm, requests.body(_event()))
    note = {"reference": form.reference, "description": form.description, "metadata": pairs(form.metadata)}
    moved = _moved(tenant, account, form, type=Type.DEPOSIT, amount=form.amount, note=note)
    return _told(moved, answers.deposit(moved.movement, account))


@MONEY.serves(
    "post",
    "/adjustments",
    name="adjust",
    summary="Adjust a balance",
    text="Adds `amount` to the available money, or takes it from there; the available money never falls below 0. With "
    "`to_journal` the request instead sets the available and the reserved money from the account's journal and its "
    "open payments. That is possible for an account that the audit names and that has not changed for ten minutes. A "
    "frozen account can be adjusted.",
    status=201,
    body=AdjustmentForm,
    examples={
        "one": {"summary": "A correction", "value": {"amount": -12, "reason": "counted twice on 3 May"}},
        "journal": {
            "summary": "What the audit has named",
            "value": {"to_journal": True, "reason": "a table was restored from a backup"},
        },
    },
    example=answers.Adjustment(
        transaction_id="txn_1m7pzw3hr0a1b2c3d4e5f60718293",
        account_id="rent",
        type=Type.ADJUSTMENT.value,
        amount=-12,
        created_at="2026-11-18T09:30:12.408Z",
        reason="counted twice on 3 May",
    ),
    scope=ADMIN,
    parameters=("IdempotencyKeyNeeded",),
    headers=("Idempotent-Replayed",),
    codes=(
        *("malformed", "validation_failed", "not_found", "insufficient_funds"),
        *("invalid_state", *_OF_KEYS),
    ),
)
def adjust(caller: Caller, account_id: str) -> Response[answers.Adjustment]:
    account = unquote(account_id)
    tenant = caller.administers(account).tenant
    form = parsed(AdjustmentForm, requests.body(_event()))
    if form.amount is not None:
        reason, amount = form.reason, form.amount
        moved = _moved(tenant, account, form, type=Type.ADJUSTMENT, amount=amount, reason=reason)
    else:
        asked = fingerprint(form, account)
        moved = restater().restate(tenant, account, reason=form.reason, key=_key(), fingerprint=asked)
    return _told(moved, answers.adjustment(moved.movement, account))


@MONEY.serves(
    "get",
    "/transactions",
    name="listTransactions",
    summary="List the journal of an account",
    text="The rows are in the order in which they were written, and the list is a moment behind. To follow the "
    "journal, ask again with `follow_cursor`, also after the last page: no row is written before a place that was "
    "shown.",
    scope=READ,
    parameters=("since", "limit", "cursor"),
    codes=("validation_failed", "not_found"),
)
def list_transactions(caller: Caller, account_id: str) -> answers.TransactionList:
    account = unquote(account_id)
    shown = journal.page(caller.tenant, account, requests.parameters(_event()), wired().ledger)
    transactions = [answers.transaction(movement, account) for movement in shown.movements]
    return {
        "transactions": transactions,
        "next_cursor": shown.cursor,
        "follow_cursor": shown.follow,
    }


@MONEY.serves(
    "get",
    "/events",
    name="listAccountEvents",
    summary="List the events of an account",
    text="In order, from its opening: changes by administrators, deposits and adjustments. Payments have events of "
    "their own. An event is here a moment after its change.",
    scope=READ,
    parameters=("limit", "cursor"),
    codes=("validation_failed", "not_found"),
)
def list_events(caller: Caller, account_id: str) -> events.SubjectEvents:
    account = _account(caller, account_id)
    subject = Subject(tenant=caller.tenant, kind="account", id=account.id)
    found = own(subject, requests.parameters(_event()), wired().events)
    return {"events": [events.of(event) for event in found.events], "next_cursor": found.cursor}


@MONEY.serves(
    "get",
    "/forecast",
    name="forecast",
    summary="Forecast the balance of an account",
    text="The forecast holds if no payment is scheduled or changed and no deposit is made. Payments to the account "
    "count as "
    "certain. A forecast that takes more than some seconds is `partial`: its balances are those after the last payment "
    "that was read. `next_cursor` continues there, with the account as of the first page.",
    scope=READ,
    parameters=("until", "cursor"),
    codes=("validation_failed", "not_found"),
)
def get_forecast(caller: Caller, account_id: str) -> answers.Forecast:
    account, parameters = _account(caller, account_id), requests.parameters(_event())
    if unknown_names := sorted(parameters.keys() - {"until", "cursor"}):
        raise ValidationFailed([(name, "is not a known parameter") for name in unknown_names])
    span = Span.of(parameters, "forecast", caller.tenant, account.id, parameters.get("until"))
    found = forecast(
        _going_on(account, span.after) if span.after else begun(account, _until(parameters.get("until"))),
        wired().ledger,
        now=wired().clock.now(),
        has_time=within(wired().clock),
    )
    return answers.foreseen(found, None if found.place is None else span.cursor(found.mark))


def _going_on(account: Account, mark: str) -> Forecast:
    try:
        return going_on(account, mark)
    except ValueError:
        raise ValidationFailed([("cursor", "is none of ours")]) from None


def _moved(tenant: str, account: str, form: DepositForm | AdjustmentForm, **asked: Any) -> Moved:
    order = DepositOrder(
        account=account, idempotency_key=_key(), fingerprint=fingerprint(form, account), **asked
    )
    return wired().cashier.move(tenant, order)


def _key() -> str:
    return requests.idempotency_key_needed(_event())


def restater() -> Restater:
    given = wired()
    auditor = Auditor(ledger=given.ledger, clock=given.clock)
    return Restater(
        ledger=given.ledger,
        reservations=given.cashier.reservations,
        auditor=auditor,
        clock=given.clock,
        unique=given.cashier.unique,
    )


def _told(moved: Moved, answer: ReceiptT) -> Response[ReceiptT]:
    return Response(
        status_code=201,
        content_type="application/json",
        body=answer,
        headers={"Idempotent-Replayed": "true"} if moved.replayed else {},
    )


def _until(given: str | None) -> datetime:
    now = wired().clock.now()
    if given is None:
        return now + _FORECAST_USUAL
    until = instant_of("until", given)
    if until < now:
        raise ValidationFailed([("until", "is in the past")])
    return until


def _event() -> BaseProxyEvent:
    return MONEY.router.current_event


def _account(caller: Caller, id: str) -> Account:
    return find(wired().ledger, caller.tenant, unquote(id))
