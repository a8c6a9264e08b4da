"""Routes that close, freeze and unfreeze an account."""

from typing import Final
from urllib.parse import unquote

from aws_lambda_powertools.event_handler import Response
from aws_lambda_powertools.utilities.data_classes.common import BaseProxyEvent

from functions.api import requests
from functions.api.accounts import answers
from functions.api.accounts.routes import ADMIN, changer
from functions.api.caller import Caller
from functions.api.operation import Routes
from postdate.domain.account import Status

STATUS: Final = Routes("/api/v1/accounts/<account_id>")


@STATUS.serves(
    "post",
    "/close",
    name="closeAccount",
    summary="Close an account",
    text="An account can be closed if its balance is 0. It is never opened again. A closed account stays readable. It "
    "takes no deposits and no payments: a later payment to it fails, and the money returns to the payer. To close an "
    "account twice is no error.",
    scope=ADMIN,
    parameters=("IfMatch",),
    headers=("ETag",),
    codes=("validation_failed", "not_found", "invalid_state", "version_conflict"),
)
def close(caller: Caller, account_id: str) -> Response[answers.Account]:
    account = unquote(account_id)
    tenant, version = caller.administers(account).tenant, requests.version_wanted(_event())
    return requests.item(answers.of(changer().close(tenant, account, version=version)))


@STATUS.serves(
    "post",
    "/freeze",
    name="freezeAccount",
    summary="Freeze an account",
    text="A frozen account neither pays nor is paid: payments that are due meanwhile fail. The held amount of a "
    "payment "
    "that fails or is cancelled returns to the account all the same.",
    scope=ADMIN,
    parameters=("IfMatch",),
    headers=("ETag",),
    codes=("validation_failed", "not_found", "invalid_state", "version_conflict"),
)
def freeze(caller: Caller, account_id: str) -> Response[answers.Account]:
    return _set(caller, account_id, Status.FROZEN)


@STATUS.serves(
    "post",
    "/unfreeze",
    name="unfreezeAccount",
    summary="Unfreeze an account",
    text="The account pays and is paid again.",
    scope=ADMIN,
    parameters=("IfMatch",),
    headers=("ETag",),
    codes=("validation_failed", "not_found", "invalid_state", "version_conflict"),
)
def unfreeze(caller: Caller, account_id: str) -> Response[answers.Account]:
    return _set(caller, account_id, Status.ACTIVE)


def _set(caller: Caller, account_id: str, status: Status) -> Response[answers.Account]:
    account = unquote(account_id)
    tenant, version = caller.administers(account).tenant, requests.version_wanted(_event())
    return requests.item(answers.of(changer().set_status(tenant, account, status, version=version)))


def _event() -> BaseProxyEvent:
    return STATUS.router.current_event
