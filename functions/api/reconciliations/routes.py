"""Routes of reconciliations, for operators."""

from typing import Any, Final

from functions.api import listing, requests
from functions.api.accounts.money_routes import restater
from functions.api.caller import Caller
from functions.api.forms import parsed
from functions.api.listing import Span
from functions.api.operation import Routes
from functions.api.reconciliations import answers
from functions.api.reconciliations.approve import Approver
from functions.api.reconciliations.forms import ApprovalForm
from functions.api.wiring import wired
from postdate.domain.errors import NotFound
from postdate.domain.scopes import OPS

RECONCILIATIONS: Final = Routes("/api/v1/ops/reconciliations")
_EXAMPLE: Final[dict[str, Any]] = {
    "reconciliation_id": "rec_20261118T021700Z_1a2b3c4d",
    "ok": False,
    "started_at": "2026-11-18T02:17:00.000Z",
    "finished_at": "2026-11-18T02:18:41.112Z",
    "by_check": {"journal_gives_balances": 1},
    "looked_at": {"accounts": 1000, "rows_journal": 10000, "plans": 12, "letters_tasks": 3},
    "unjudged": 0,
    "events_filled": 0,
    "report": "reports/rec_20261118T021700Z_1a2b3c4d.json",
    "findings": [
        {
            "check": "journal_gives_balances",
            "tenant": "acme",
            "subject": "rent",
            "observed": ["rent: 105 there, 100 by its journal"],
            "expected": [],
            "repair": "set_to_journal",
        }
    ],
    "proposals": [
        {
            "tenant": "acme",
            "subject_id": "rent",
            "repair": "set_to_journal",
            "approved_by": None,
            "approved_at": None,
            "reason": None,
            "outcome": None,
        }
    ],
}


@RECONCILIATIONS.serves(
    "get",
    "",
    name="listReconciliations",
    summary="List reconciliations",
    text="The nightly checks of all tenants' rows against each other, the newest first. None repairs anything but "
    "gaps in events: a repair is a proposal, until a person approves it.",
    example={"reconciliations": [_EXAMPLE], "next_cursor": None},
    scope=OPS,
    parameters=("limit", "cursor"),
    codes=("validation_failed",),
)
def list_reconciliations(_: Caller) -> answers.ReconciliationList:
    given = requests.parameters(RECONCILIATIONS.router.current_event)
    listing.only_known(given)
    span = Span.of(given, "reconciliations", "")
    found = wired().tables.reconciliations.newest(before=span.after, limit=span.limit + 1)
    shown, cursor = span.cut(found, lambda each: each.id)
    return {"reconciliations": [answers.of(each) for each in shown], "next_cursor": cursor}


@RECONCILIATIONS.serves(
    "get",
    "/<reconciliation_id>",
    name="getReconciliation",
    summary="Get a reconciliation",
    text="The findings and the proposals of one night, with what came of the proposals that were approved.",
    example=_EXAMPLE,
    scope=OPS,
    codes=("not_found",),
)
def get(_: Caller, reconciliation_id: str) -> answers.Reconciliation:
    found = wired().tables.reconciliations.get(reconciliation_id)
    if found is None:
        raise NotFound(f"there is no reconciliation {reconciliation_id}")
    return answers.of(found)


@RECONCILIATIONS.serves(
    "post",
    "/<reconciliation_id>/approve",
    name="approveRepairs",
    summary="Approve repairs",
    text="Of the accounts and tasks in `subject_ids`, or of all proposals, and makes them. A `subject_id` that several "
    "tenants have needs its `tenant`. The repairs: an account is set to its "
    "journal under the rules of adjustments, a recurring task begins a new chain of runs. A proposal without an "
    "outcome was not reached in time: repeat the request.",
    body=ApprovalForm,
    examples={
        "one": {
            "summary": "One account",
            "value": {"reason": "a script wrote this balance", "tenant": "demo", "subject_ids": ["rent"]},
        }
    },
    example=_EXAMPLE,
    scope=OPS,
    codes=("malformed", "validation_failed", "not_found"),
)
def approve(caller: Caller, reconciliation_id: str) -> answers.Reconciliation:
    form = parsed(ApprovalForm, requests.body(RECONCILIATIONS.router.current_event))
    given = wired()
    approver = Approver(
        reconciliations=given.tables.reconciliations,
        restater=restater(),
        begin_chain=given.recurring.changer.begin_again,
        clock=given.clock,
    )
    return answers.of(
        approver.approve(
            reconciliation_id,
            tenant=form.tenant,
            subjects=form.subject_ids,
            by=caller.key_id,
            reason=form.reason,
        )
    )
