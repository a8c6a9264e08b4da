"""The rows of an operation: one head, and one row for each page of its items."""

import json
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any, Final

from postdate.domain import instants
from postdate.domain.operation import Action, Kind, Operation, OperationRequest, State, StopRule
from postdate.domain.operation_moves import ACTIVE
from postdate.domain.operation_pages import Entry, Outcome, Page
from postdate.domain.slots import home
from postdate.stores.attributes import AttributeMap, compact, instant, milliseconds, typed

KEPT: Final = timedelta(days=95)
HEAD: Final = "head"
PAGE: Final = "page#"
# The only value of the attribute `active`, which puts an operation into an index while it runs or is paused.
ACTIVE_ROW: Final = "yes"
_SHORT: Final = {outcome: outcome.value[0] for outcome in Outcome}
_LONG: Final = {short: outcome for outcome, short in _SHORT.items()}


def of_tenant(tenant: str) -> str:
    return f"tenant {tenant}"


def place_of_page(number: int) -> str:
    return f"{PAGE}{number:04d}"


def head_row(operation: Operation) -> AttributeMap:
    request, rule = operation.request, operation.request.stop_when
    asked = {
        "action": request.action.value,
        "kind": request.kind.value,
        "actor": request.actor,
        "reason": request.reason,
        "operates": request.operates,
        "max_per_second": request.max_per_second,
        "canary": request.canary,
        "stop_when": None if rule is None else [rule.failed_share, rule.within.total_seconds()],
    }
    # The plan and the items found never change. Progress has attributes of its own.
    found = {
        "eligible": operation.eligible,
        "amount": operation.amount,
        "evaluated": operation.evaluated,
        "not_eligible": dict(operation.not_eligible),
        "by_failure": dict(operation.by_failure),
        "by_destination": dict(operation.by_destination),
    }
    texts = {
        "operation": operation.id,
        "place": HEAD,
        "tenant": operation.tenant,
        "status": operation.state.value,
        "plan": compact(asked),
        "found": compact(found),
        "counts": compact({outcome.value: count for outcome, count in operation.counts.items()}),
        "why": operation.why,
        "active": ACTIVE_ROW if operation.state in ACTIVE else None,
    }
    numbers = {
        "version": operation.version,
        "run": operation.run,
        "next_page": operation.next_page,
        "canary_passed": int(operation.canary_passed),
        "created": instants.milliseconds(operation.created_at),
        "changed": instants.milliseconds(operation.changed_at),
        "next_at": milliseconds(operation.next_at),
        "started": milliseconds(operation.started_at),
        "began": milliseconds(operation.began_at),
        "finished": milliseconds(operation.finished_at),
        "expires_at": expiry(operation.id),
    }
    return typed(texts, numbers)


def operation_of(row: AttributeMap) -> Operation:
    asked, found = json.loads(row["plan"]["S"]), json.loads(row["found"]["S"])
    rule = asked["stop_when"]
    return Operation(
        id=row["operation"]["S"],
        tenant=row["tenant"]["S"],
        request=OperationRequest(
            action=Action(asked["action"]),
            kind=Kind(asked["kind"]),
            actor=asked["actor"],
            reason=asked["reason"],
            operates=asked["operates"],
            max_per_second=asked["max_per_second"],
            canary=asked["canary"],
            stop_when=rule and StopRule(failed_share=rule[0], within=timedelta(seconds=rule[1])),
        ),
        state=State(row["status"]["S"]),
        version=int(row["version"]["N"]),
        created_at=instants.from_milliseconds(int(row["created"]["N"])),
        changed_at=instants.from_milliseconds(int(row["changed"]["N"])),
        eligible=found["eligible"],
        amount=found["amount"],
        evaluated=found["evaluated"],
        not_eligible=found["not_eligible"],
        by_failure=found["by_failure"],
        by_destination=found["by_destination"],
        counts={Outcome(name): count for name, count in json.loads(row["counts"]["S"]).items()},
        run=int(row["run"]["N"]),
        next_page=int(row["next_page"]["N"]),
        next_at=_instant(row, "next_at"),
        canary_passed=row["canary_passed"]["N"] != "0",
        started_at=_instant(row, "started"),
        began_at=_instant(row, "began"),
        finished_at=_instant(row, "finished"),
        why=row["why"]["S"] if "why" in row else None,
    )


def _instant(row: Mapping[str, Any], name: str) -> datetime | None:
    return instant(float(row[name]["N"])) if name in row else None


def expiry(operation: str) -> int:
    """The same for all rows of an operation: its id begins with the minute in which it was planned."""
    return int((instants.end_of(home(operation).minute) + KEPT).timestamp())


def page_row(page: Page) -> AttributeMap:
    entries = [
        [each.id, each.version, _SHORT[each.outcome], *([] if each.at is None else [milliseconds(each.at)])]
        for each in page.entries
    ]
    texts = {"operation": page.operation, "place": place_of_page(page.number), "entries": compact(entries)}
    return typed(texts, {"version": page.version, "expires_at": expiry(page.operation)})


def page_of(row: AttributeMap) -> Page:
    return Page(
        operation=row["operation"]["S"],
        number=int(row["place"]["S"].removeprefix(PAGE)),
        entries=tuple(
            Entry(id=id, version=version, outcome=_LONG[short], at=instant(at[0]) if at else None)
            for id, version, short, *at in json.loads(row["entries"]["S"])
        ),
        version=int(row["version"]["N"]),
    )
