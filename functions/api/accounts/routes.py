"""Routes of /api/v1/accounts."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any
from urllib.parse import unquote

from aws_lambda_powertools.event_handler import Response
from aws_lambda_powertools.event_handler.api_gateway import Router
from pydantic import JsonValue

from functions.api import requests
from functions.api.accounts import journal
from functions.api.accounts.change import AccountChanger
from functions.api.accounts.deposit import Moved, Order
from functions.api.accounts.find import find
from functions.api.accounts.forecast import forecast
from functions.api.accounts.forms import (
    AccountBatchForm,
    AccountChangeForm,
    AccountForm,
    AdjustmentForm,
    DepositForm,
    forecast_view,
    receipt,
    transaction,
    view,
)
from functions.api.accounts.listing import Query, page
from functions.api.accounts.open import Opened, open_accounts
from functions.api.accounts.restate import Restater
from functions.api.audit import Auditor
from functions.api.caller import Caller
from functions.api.errors import problem
from functions.api.forms import fingerprint, instant_of, parsed, part_of_batch
from functions.api.texts import pairs
from functions.api.wiring import wired
from postdate.domain.account import Account, Limits, Status
from postdate.domain.errors import PostdateError, ValidationFailed
from postdate.domain.movement import Type

router = Router()
READ, ADMIN = "accounts:read", "admin"
_FORECAST_USUAL = timedelta(days=30)


@router.post("/api/v1/accounts")
def create() -> Response[Any]:
    event = router.current_event
    caller = requests.caller(event, ADMIN)
    form = parsed(AccountForm, requests.body(event))
    caller.administers(form.account_id)
    (opened,) = _opened(caller.tenant, [(form.account_id, form.limits.limits())])
    if isinstance(opened, PostdateError):
        raise opened
    headers = {"Location": f"/api/v1/accounts/{opened.account.id}"}
    if opened.replayed:
        headers["Idempotent-Replayed"] = "true"
    return requests.item(view(opened.account), status=201, headers=headers)


@router.post("/api/v1/accounts/batch")
def create_batch() -> dict[str, Any]:
    event = router.current_event
    caller = requests.caller(event, ADMIN)
    asked = [_asked(caller, given) for given in parsed(AccountBatchForm, requests.batch(event)).accounts]
    request_id = requests.request_id(event)
    answers = _opened(caller.tenant, asked)
    return {"results": [_result(index, answer, request_id) for index, answer in enumerate(answers)]}


@router.get("/api/v1/accounts")
def list_accounts() -> dict[str, Any]:
    event = router.current_event
    query = Query.of(requests.caller(event, READ).tenant, requests.parameters(event))
    found, cursor = page(query, wired().ledger)
    return {"accounts": [view(account) for account in found], "next_cursor": cursor}


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
    note = {"reference": form.reference, "description": form.description, "metadata": pairs(form.metadata)}
    return _moved(tenant, account, form, type=Type.DEPOSIT, amount=form.amount, note=note)


@router.post("/api/v1/accounts/<account_id>/adjustments")
def adjust(account_id: str) -> Response[Any]:
    account = unquote(account_id)
    tenant = _administrator_of(account)
    form = parsed(AdjustmentForm, requests.body(router.current_event))
    if form.amount is not None:
        reason, amount = form.reason, form.amount
        return _moved(tenant, account, form, type=Type.ADJUSTMENT, amount=amount, reason=reason)
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


def _asked(caller: Caller, given: JsonValue) -> tuple[str, Limits] | PostdateError:
    """One of a batch."""
    try:
        form = part_of_batch(AccountForm, given)
        caller.administers(form.account_id)
    except PostdateError as error:
        return error
    return form.account_id, form.limits.limits()


def _opened(tenant: str, asked: Sequence[tuple[str, Limits] | PostdateError]) -> list[Opened | PostdateError]:
    given = wired()
    return open_accounts(tenant, asked, amount_cap=given.amount_cap, ledger=given.ledger, clock=given.clock)


def _result(index: int, answer: Opened | PostdateError, request_id: str) -> dict[str, Any]:
    if isinstance(answer, PostdateError):
        return {"index": index, "error": problem(answer, request_id)}
    return {"index": index, "account": view(answer.account)}


def _account(id: str) -> Account:
    return find(wired().ledger, requests.caller(router.current_event, READ).tenant, unquote(id))


def _moved(tenant: str, account: str, form: DepositForm | AdjustmentForm, **asked: Any) -> Response[Any]:
    order = Order(account=account, idempotency_key=_key(), fingerprint=fingerprint(form, account), **asked)
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
