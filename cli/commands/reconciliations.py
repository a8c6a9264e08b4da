"""Show what the nightly reconciliations found, and approve the repairs that they propose, as an operator.

Speaks to the API of POSTDATE_URL with the key of POSTDATE_KEY, or to the local stack.
"""

import argparse
from typing import Any, Final
from urllib.parse import quote

from cli.actions import action
from cli.service import service

PATH: Final = "/api/v1/ops/reconciliations"
_SHOWN: Final = 20


def arguments(parser: argparse.ArgumentParser) -> None:
    chosen = parser.add_subparsers(dest="action", required=True, metavar="action")
    action(chosen, "list", "list the newest nights")
    _one(action(chosen, "show", "show one with its findings and proposals"))
    approve = action(
        chosen,
        "approve",
        "make the repairs that one proposes; with --tenant, those of one tenant",
        changes=True,
    )
    _one(approve)
    approve.add_argument("--subject", action="append", help="an account or a task; without it, all")
    approve.add_argument("--reason", required=True, help="kept with the repair")


def run(options: argparse.Namespace) -> dict[str, Any]:
    with service(options, local_key="operator_key") as api:
        if options.action == "list":
            nights: dict[str, Any] = api.get(f"{PATH}?limit={_SHOWN}")
            return nights
        path = f"{PATH}/{quote(options.reconciliation_id, safe='')}"
        if options.action == "show":
            return {"reconciliation": api.get(path)}
        api.sure(f"Repair {', '.join(options.subject or ['all that it proposes'])}?")
        form = {"reason": options.reason, "tenant": options.tenant, "subject_ids": options.subject}
        return {"reconciliation": api.post(f"{path}/approve", form)}


def show(answer: dict[str, Any]) -> str:
    if "reconciliations" in answer:
        return "\n".join(map(_line, answer["reconciliations"])) or "There was no reconciliation yet."
    night = answer["reconciliation"]
    lines = [_line(night)]
    lines += [
        f"  {each['check']}  {each['tenant']} {each['subject']}: {each['observed']}, expected {each['expected']}"
        for each in night["findings"]
    ]
    lines += [
        f"  {each['repair']}  {each['tenant']} {each['subject_id']}: {_state(each)}"
        for each in night["proposals"]
    ]
    return "\n".join([*lines, f"  all findings: {night['report']}"])


def _line(night: dict[str, Any]) -> str:
    told = ", ".join(f"{check} {count}" for check, count in night["by_check"].items())
    return f"{night['reconciliation_id']}  {night['finished_at']}  {told or 'right'}"


def _state(proposal: dict[str, Any]) -> str:
    if proposal["approved_by"] is None:
        return "to be approved"
    return f"{proposal['outcome'] or 'not made yet'}, approved by {proposal['approved_by']}: {proposal['reason']}"


def _one(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("reconciliation_id")
