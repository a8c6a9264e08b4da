"""Answers about reconciliations."""

from typing import Annotated, Any

from typing_extensions import TypedDict

from functions.api.answers import Count, Instant, described
from functions.api.forms import text_of
from postdate.domain.reconciling import Proposal
from postdate.domain.reconciling import Reconciliation as Found


class RepairProposal(TypedDict):
    tenant: str
    subject_id: Annotated[str, described("An account or a recurring task.")]
    repair: Annotated[
        str,
        described(
            "`set_to_journal` sets an account to its journal; `begin_chain` begins a task's runs anew."
        ),
    ]
    approved_by: Annotated[str | None, described("The key that approved it; null before.")]
    approved_at: Instant | None
    reason: str | None
    outcome: Annotated[
        str | None, described("`done`, or why it was refused; null while it was not approved or not tried.")
    ]


class Reconciliation(TypedDict):
    reconciliation_id: str
    ok: Annotated[bool, described("True if nothing contradicts anything.")]
    started_at: Instant
    finished_at: Instant
    by_check: Annotated[dict[str, Count], described("The number of findings by check.")]
    looked_at: Annotated[dict[str, Count], described("What was looked at, in numbers.")]
    unjudged: Annotated[
        Count,
        described(
            "Accounts that never stood still, checks that failed, and queues whose letters were not all seen."
        ),
    ]
    events_filled: Annotated[Count, described("Missing events that were made from histories.")]
    report: Annotated[str, described("The object in the bucket of reports that names all findings.")]
    findings: Annotated[
        list[dict[str, Any]],
        described("The first hundred: check, tenant, subject, observed, expected, repair."),
    ]
    proposals: list[RepairProposal]


class ReconciliationList(TypedDict):
    reconciliations: list[Reconciliation]
    next_cursor: str | None


def of(found: Found) -> Reconciliation:
    return {
        "reconciliation_id": found.id,
        "ok": found.ok,
        "started_at": text_of(found.started_at),
        "finished_at": text_of(found.finished_at),
        "by_check": dict(found.by_check),
        "looked_at": dict(found.looked_at),
        "unjudged": found.unjudged,
        "events_filled": found.events_filled,
        "report": found.report,
        "findings": [dict(each) for each in found.findings],
        "proposals": [_proposal(each) for each in found.proposals],
    }


def _proposal(each: Proposal) -> RepairProposal:
    return {
        "tenant": each.tenant,
        "subject_id": each.subject,
        "repair": each.repair,
        "approved_by": each.approved_by or None,
        "approved_at": None if each.approved_at is None else text_of(each.approved_at),
        "reason": each.reason or None,
        "outcome": each.outcome or None,
    }
