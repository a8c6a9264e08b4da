"""Routes that deposit money into an account and adjust its balance."""

from typing import Any, Final, TypeVar
from urllib.parse import unquote

from aws_lambda_powertools.event_handler import Response
from aws_lambda_powertools.utilities.data_classes.common import BaseProxyEvent

from functions.api import requests
from functions.api.accounts import answers
from functions.api.accounts.deposit import DepositOrder, Moved
from functions.api.accounts.forms import AdjustmentForm, DepositForm
from functions.api.accounts.restate import Restater
from functions.api.accounts.routes import ADMIN
from functions.api.caller import Caller
from functions.api.forms import fingerprint, parsed
from functions.api.operation import Routes
from functions.api.parts.base import unique
from functions.api.texts import pairs
from functions.api.wiring import wired
from postdate.domain.movement import Type
from postdate.use_cases.auditing import Auditor

MONEY: Final = Routes("/api/v1/accounts/<account_id>")
ReceiptT = TypeVar("ReceiptT", answers.Deposit, answers.Adjustment)
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
    return _answer(moved, answers.deposit(moved.movement, account))


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
    return _answer(moved, answers.adjustment(moved.movement, account))


def _moved(tenant: str, account: str, form: DepositForm | AdjustmentForm, **asked: Any) -> Moved:
    order = DepositOrder(
        account=account, idempotency_key=_key(), fingerprint=fingerprint(form, account), **asked
    )
    return wired().payments.cashier.move(tenant, order)


def _key() -> str:
    return requests.idempotency_key_needed(_event())


def restater() -> Restater:
    tables, clock = wired().tables, wired().clock
    return Restater(
        ledger=tables.ledger,
        reservations=tables.reservations,
        auditor=Auditor(ledger=tables.ledger, clock=clock),
        clock=clock,
        unique=unique,
    )


def _answer(moved: Moved, answer: ReceiptT) -> Response[ReceiptT]:
    return Response(
        status_code=201,
        content_type="application/json",
        body=answer,
        headers={"Idempotent-Replayed": "true"} if moved.replayed else {},
    )


def _event() -> BaseProxyEvent:
    return MONEY.router.current_event
