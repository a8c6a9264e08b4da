"""Routes of an account's journal and of its events."""

from typing import Final
from urllib.parse import unquote

from aws_lambda_powertools.utilities.data_classes.common import BaseProxyEvent

from functions.api import requests
from functions.api.accounts import answers, journal
from functions.api.accounts.find import find
from functions.api.accounts.routes import READ
from functions.api.caller import Caller
from functions.api.events import answers as events
from functions.api.events.own import own
from functions.api.operation import Routes
from functions.api.wiring import wired
from postdate.domain.event import Subject

JOURNAL: Final = Routes("/api/v1/accounts/<account_id>")


@JOURNAL.serves(
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
    shown = journal.page(caller.tenant, account, requests.parameters(_event()), wired().tables.ledger)
    transactions = [answers.transaction(movement, account) for movement in shown.movements]
    return {
        "transactions": transactions,
        "next_cursor": shown.cursor,
        "follow_cursor": shown.follow,
    }


@JOURNAL.serves(
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
    account = find(wired().tables.ledger, caller.tenant, unquote(account_id))
    subject = Subject(tenant=caller.tenant, kind="account", id=account.id)
    found = own(subject, requests.parameters(_event()), wired().tables.events)
    return {"events": [events.of(event) for event in found.events], "next_cursor": found.cursor}


def _event() -> BaseProxyEvent:
    return JOURNAL.router.current_event
