"""Routes of accounts, under /api/v1/accounts."""

from collections.abc import Sequence
from typing import Final
from urllib.parse import unquote

from aws_lambda_powertools.event_handler import Response
from aws_lambda_powertools.utilities.data_classes.common import BaseProxyEvent
from pydantic import JsonValue

from functions.api import requests
from functions.api.accounts import answers
from functions.api.accounts.change import AccountChanger
from functions.api.accounts.find import find
from functions.api.accounts.forms import AccountBatchForm, AccountChangeForm, AccountForm
from functions.api.accounts.listing import AccountQuery, page
from functions.api.accounts.open import Opened, open_accounts
from functions.api.caller import Caller
from functions.api.forms import parsed, part_of_batch
from functions.api.operation import Routes
from functions.api.wiring import wired
from postdate.domain.account import Account, Limits
from postdate.domain.errors import PostdateError

ACCOUNTS: Final = Routes("/api/v1/accounts")
READ, ADMIN = "accounts:read", "admin"


@ACCOUNTS.serves(
    "post",
    "",
    name="openAccount",
    summary="Open an account",
    text="The account begins with a balance of 0. To open it again with the same limits is no error, unless it was "
    "closed.",
    status=201,
    body=AccountForm,
    examples={
        "usual": {"summary": "With the default limits", "value": {"account_id": "rent"}},
        "narrow": {
            "summary": "With limits of its own",
            "value": {"account_id": "pocket-money", "limits": {"amount_max": 50}},
        },
    },
    scope=ADMIN,
    headers=("Location", "ETag", "Idempotent-Replayed"),
    codes=("malformed", "validation_failed", "limit_exceeded", "invalid_state"),
)
def create(caller: Caller) -> Response[answers.Account]:
    form = parsed(AccountForm, requests.body(_event()))
    caller.administers(form.account_id)
    (opened,) = _opened(caller.tenant, [(form.account_id, form.limits.limits())])
    if isinstance(opened, PostdateError):
        raise opened
    headers = {"Location": f"/api/v1/accounts/{opened.account.id}"}
    if opened.replayed:
        headers["Idempotent-Replayed"] = "true"
    return requests.item(answers.of(opened.account), status=201, headers=headers)


@ACCOUNTS.serves(
    "post",
    "/batch",
    name="openAccounts",
    summary="Open up to 100 accounts",
    text="Each account is opened or refused by itself; the result at its index says which. The status is 200 even if "
    "every account is refused.",
    body=AccountBatchForm,
    examples={
        "two": {
            "summary": "Two accounts",
            "value": {
                "accounts": [
                    {"account_id": "rent"},
                    {"account_id": "pocket-money", "limits": {"amount_max": 50}},
                ]
            },
        }
    },
    scope=ADMIN,
    codes=("malformed", "validation_failed"),
)
def create_batch(caller: Caller) -> answers.AccountBatchAnswer:
    asked = [_asked(caller, given) for given in parsed(AccountBatchForm, requests.batch(_event())).accounts]
    request_id, found = requests.request_id(_event()), _opened(caller.tenant, asked)
    told = [each if isinstance(each, PostdateError) else each.account for each in found]
    return {"results": [answers.result(index, each, request_id) for index, each in enumerate(told)]}


@ACCOUNTS.serves(
    "get",
    "",
    name="listAccounts",
    summary="List accounts",
    text="In the order of the ids. An account that was opened just now may be missing. With a `status` a page "
    "may be short, or empty, and still have a `next_cursor`.",
    scope=READ,
    parameters=("account_status", "prefix", "limit", "cursor"),
    codes=("validation_failed",),
)
def list_accounts(caller: Caller) -> answers.AccountList:
    query = AccountQuery.of(caller.tenant, requests.parameters(_event()))
    shown = page(query, wired().tables.ledger, clock=wired().clock)
    accounts = [answers.of(account) for account in shown.items]
    return {"accounts": accounts, "next_cursor": shown.cursor, "partial": shown.partial}


@ACCOUNTS.serves(
    "get",
    "/<account_id>",
    name="getAccount",
    summary="Get an account",
    text="The current state of the account.",
    scope=READ,
    headers=("ETag",),
    codes=("not_found",),
)
def get(caller: Caller, account_id: str) -> Response[answers.Account]:
    return requests.item(answers.of(_account(caller, account_id)))


@ACCOUNTS.serves(
    "patch",
    "/<account_id>",
    name="changeAccount",
    summary="Change the limits of an account",
    text="A limit that is left out, or null, stays unchanged. `amount_max` may be above the default, up to what the "
    "environment allows. Scheduled payments keep their amounts and instants.",
    body=AccountChangeForm,
    examples={"wide": {"summary": "Above the default", "value": {"limits": {"amount_max": 5_000_000}}}},
    scope=ADMIN,
    parameters=("IfMatch",),
    headers=("ETag",),
    codes=(
        *("malformed", "validation_failed", "limit_exceeded"),
        *("not_found", "invalid_state", "version_conflict"),
    ),
)
def change(caller: Caller, account_id: str) -> Response[answers.Account]:
    account = unquote(account_id)
    tenant = caller.administers(account).tenant
    given = parsed(AccountChangeForm, requests.body(_event())).limits.given()
    version = requests.version_wanted(_event())
    return requests.item(answers.of(changer().limit(tenant, account, given, version=version)))


def _event() -> BaseProxyEvent:
    return ACCOUNTS.router.current_event


def _account(caller: Caller, id: str) -> Account:
    return find(wired().tables.ledger, caller.tenant, unquote(id))


def _asked(caller: Caller, given: JsonValue) -> tuple[str, Limits] | PostdateError:
    """Reads one account of a batch."""
    try:
        form = part_of_batch(AccountForm, given)
        caller.administers(form.account_id)
    except PostdateError as error:
        return error
    return form.account_id, form.limits.limits()


def _opened(tenant: str, asked: Sequence[tuple[str, Limits] | PostdateError]) -> list[Opened | PostdateError]:
    given = wired()
    return open_accounts(
        tenant, asked, amount_cap=given.amount_cap, ledger=given.tables.ledger, clock=given.clock
    )


def changer() -> AccountChanger:
    given = wired()
    return AccountChanger(ledger=given.tables.ledger, clock=given.clock, amount_cap=given.amount_cap)
