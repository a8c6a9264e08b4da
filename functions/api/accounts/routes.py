"""Routes of /api/v1/accounts."""

from datetime import datetime, timedelta
from typing import Any
from urllib.parse import unquote

from aws_lambda_powertools.event_handler import Response
from aws_lambda_powertools.event_handler.api_gateway import Router

from functions.api import listing, requests
from functions.api.accounts import journal
from functions.api.accounts.change import AccountChanger
from functions.api.accounts.deposit import Moved, Order
from functions.api.accounts.find import find
from functions.api.accounts.forecast import forecast
from functions.api.accounts.forms import (
    AccountChangeForm,
    AccountForm,
    AdjustmentForm,
    DepositForm,
    forecast_view,
    receipt,
    transaction,
    view,
)
from functions.api.accounts.open import open_account
from functions.api.accounts.restate import Restater
from functions.api.audit import Auditor
from functions.api.forms import fingerprint, instant_of, parsed
from functions.api.listing import Span
from functions.api.wiring import wired
from postdate.domain.account import Account, Status
from postdate.domain.errors import ValidationFailed
from postdate.domain.movement import Type

router = Router()
READ, ADMIN = "accounts:read", "admin"
_FORECAST_USUAL = timedelta(days=30)


@router.post("/api/v1/accounts")
def create() -> Response[Any]:
    event = router.current_event
    caller = requests.caller(event, ADMIN)
    form = parsed(AccountForm, requests.body(event))
    opened = open_account(
        caller.administers(form.account_id).tenant,
        form.account_id,
        form.limits.limits(),
        amount_cap=wired().amount_cap,
        ledger=wired().ledger,
        clock=wired().clock,
    )
    headers = {"Location": f"/api/v1/accounts/{opened.account.id}"}
    if opened.replayed:
        headers["Idempotent-Replayed"] = "true"
    return requests.item(view(opened.account), status=201, headers=headers)


@router.get("/api/v1/accounts")
def list_accounts() -> dict[str, Any]:
    event = router.current_event
    tenant, parameters = requests.caller(event, READ).tenant, requests.parameters(event)
    listing.only_known(parameters)
    span, ledger = Span.of(parameters, "accounts", tenant), wired().ledger
    ids = ledger.accounts_listed(tenant, after=span.after, limit=span.limit + 1)
    shown, cursor = span.cut(ids, str)
    accounts = ledger.accounts(tenant, shown)
    return {"accounts": [view(accounts[id]) for id in shown if id in accounts], "next_cursor": cursor}


@router.get("/api/v1/accounts/<account_id>")
def get(account_id: str) -> Response[Any]:
    return requests.item(view(_account(account_id)))


@router.patch("/api/v1/accounts/<account_id>")
def change(account_id: str) -> Response[Any]:
    event, account = router.current_event, unquote(account_id)
    tenant = _administrator_of(account)
    given = parsed(AccountChangeForm, requests.body(event)).limits.given()
    version = requests.version_wanted(event)
    return requests.item(view(_changer().limit(tenant, account, given, version=version)))


@router.post("/api/v1/accounts/<account_id>/close")
def close(account_id: str) -> Response[Any]:
    account, version = unquote(account_id), requests.version_wanted(router.current_event)
    return requests.item(view(_changer().close(_administrator_of(account), account, version=version)))


@router.post("/api/v1/accounts/<account_id>/deposits")
def deposit(account_id: str) -> Response[Any]:
    account = unquote(account_id)
    tenant = _administrator_of(account)
    form = parsed(DepositForm, requests.body(router.current_event))
    return _moved(tenant, account, Type.DEPOSIT, form, form.amount, None)


@router.post("/api/v1/accounts/<account_id>/adjustments")
def adjust(account_id: str) -> Response[Any]:
    account = unquote(account_id)
    tenant = _administrator_of(account)
    form = parsed(AdjustmentForm, requests.body(router.current_event))
    if form.amount is not None:
        return _moved(tenant, account, Type.ADJUSTMENT, form, form.amount, form.reason)
    return _told(
        _restater().restate(
            tenant, account, reason=form.reason, key=_key(), fingerprint=fingerprint(form, account)
        ),
        account,
    )


@router.post("/api/v1/accounts/<account_id>/freeze")
def freeze(account_id: str) -> Response[Any]:
    return _set(account_id, Status.FROZEN)


@router.post("/api/v1/accounts/<account_id>/unfreeze")
def unfreeze(account_id: str) -> Response[Any]:
    return _set(account_id, Status.ACTIVE)


@router.get("/api/v1/accounts/<account_id>/transactions")
def list_transactions(account_id: str) -> dict[str, Any]:
    event = router.current_event
    tenant, account = requests.caller(event, READ).tenant, unquote(account_id)
    found, cursor = journal.page(tenant, account, requests.parameters(event), wired().ledger)
    return {"transactions": [transaction(movement, account) for movement in found], "next_cursor": cursor}


@router.get("/api/v1/accounts/<account_id>/forecast")
def get_forecast(account_id: str) -> dict[str, Any]:
    account, parameters = _account(account_id), requests.parameters(router.current_event)
    if unknown_names := sorted(parameters.keys() - {"until"}):
        raise ValidationFailed([(name, "is not a known parameter") for name in unknown_names])
    return forecast_view(forecast(account, _until(parameters.get("until")), wired().ledger))


def _administrator_of(account: str) -> str:
    """The tenant of a caller who may administer that account."""
    return requests.caller(router.current_event, ADMIN).administers(account).tenant


def _account(id: str) -> Account:
    return find(wired().ledger, requests.caller(router.current_event, READ).tenant, unquote(id))


def _moved(
    tenant: str,
    account: str,
    type: Type,
    form: DepositForm | AdjustmentForm,
    amount: int,
    reason: str | None,
) -> Response[Any]:
    order = Order(
        type=type,
        account=account,
        amount=amount,
        reason=reason,
        idempotency_key=_key(),
        fingerprint=fingerprint(form, account),
    )
    return _told(wired().cashier.move(tenant, order), account)


def _key() -> str:
    return requests.idempotency_key_needed(router.current_event)


def _restater() -> Restater:
    given = wired()
    auditor = Auditor(ledger=given.ledger, clock=given.clock)
    return Restater(
        ledger=given.ledger,
        reservations=given.cashier.reservations,
        auditor=auditor,
        clock=given.clock,
        unique=given.cashier.unique,
    )


def _told(moved: Moved, account: str) -> Response[Any]:
    return Response(
        status_code=201,
        content_type="application/json",
        body=receipt(moved.movement, account),
        headers={"Idempotent-Replayed": "true"} if moved.replayed else {},
    )


def _set(account_id: str, status: Status) -> Response[Any]:
    account = unquote(account_id)
    return requests.item(view(_changer().set_status(_administrator_of(account), account, status)))


def _changer() -> AccountChanger:
    given = wired()
    return AccountChanger(ledger=given.ledger, clock=given.clock, amount_cap=given.amount_cap)


def _until(given: str | None) -> datetime:
    now = wired().clock.now()
    if given is None:
        return now + _FORECAST_USUAL
    until = instant_of("until", given)
    if until < now:
        raise ValidationFailed([("until", "is in the past")])
    return until
