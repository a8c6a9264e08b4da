"""The route of an account's forecast."""

from datetime import datetime, timedelta
from typing import Final
from urllib.parse import unquote

from aws_lambda_powertools.utilities.data_classes.common import BaseProxyEvent

from functions.api import requests
from functions.api.accounts import forecast_answers as answers
from functions.api.accounts.find import find
from functions.api.accounts.forecast import Forecast, begun, forecast, going_on
from functions.api.accounts.routes import READ
from functions.api.caller import Caller
from functions.api.forms import instant_of
from functions.api.listing import Span, within
from functions.api.operation import Routes
from functions.api.wiring import wired
from postdate.domain.account import Account
from postdate.domain.errors import ValidationFailed

FORECAST: Final = Routes("/api/v1/accounts/<account_id>")
_FORECAST_USUAL = timedelta(days=30)


@FORECAST.serves(
    "get",
    "/forecast",
    name="forecast",
    summary="Forecast the balance of an account",
    text="The forecast holds if no payment is scheduled or changed and no deposit is made. Payments to the account "
    "count as certain. A forecast that takes more than some seconds is `partial`: its balances are those after the "
    "last payment that was read. `next_cursor` continues there, with the account as of the first page.",
    scope=READ,
    parameters=("until", "cursor"),
    codes=("validation_failed", "not_found"),
)
def get_forecast(caller: Caller, account_id: str) -> answers.Forecast:
    account = find(wired().tables.ledger, caller.tenant, unquote(account_id))
    parameters = requests.parameters(_event())
    if unknown_names := sorted(parameters.keys() - {"until", "cursor"}):
        raise ValidationFailed([(name, "is not a known parameter") for name in unknown_names])
    span = Span.of(parameters, "forecast", caller.tenant, account.id, parameters.get("until"))
    found = forecast(
        _going_on(account, span.after) if span.after else begun(account, _until(parameters.get("until"))),
        wired().tables.ledger,
        now=wired().clock.now(),
        has_time=within(wired().clock),
    )
    return answers.foreseen(found, None if found.place is None else span.cursor(found.mark))


def _going_on(account: Account, mark: str) -> Forecast:
    try:
        return going_on(account, mark)
    except ValueError:
        raise ValidationFailed([("cursor", "is not a cursor of this API")]) from None


def _until(given: str | None) -> datetime:
    now = wired().clock.now()
    if given is None:
        return now + _FORECAST_USUAL
    until = instant_of("until", given)
    if until < now:
        raise ValidationFailed([("until", "is in the past")])
    return until


def _event() -> BaseProxyEvent:
    return FORECAST.router.current_event
