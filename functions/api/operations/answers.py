"""Answers about operations."""

from typing import Annotated, NotRequired

from aws_lambda_powertools.event_handler import Response
from typing_extensions import TypedDict

from functions.api import requests
from functions.api.answers import Count, Cursor, Instant, described, words
from functions.api.forms import text_of
from postdate.domain import operation, operation_pages
from postdate.domain.operation_pages import Outcome


class Eligible(TypedDict):
    count: Annotated[Count, described("Of a backfill: the runs that were planned in its time.")]
    amount: NotRequired[Annotated[Count | None, described("Of payments: the sum of their amounts.")]]
    evaluated: NotRequired[Annotated[Count, described("Items that were read to find these.")]]
    by_failure: NotRequired[
        Annotated[dict[str, Count], described("By the error of the items, without its ids.")]
    ]
    by_destination: NotRequired[Annotated[dict[str, Count], described("By where the items go.")]]


class NotEligible(TypedDict):
    reason: str
    count: Count


class StopWhen(TypedDict):
    failed_share: float
    within: Annotated[Count, described("Seconds.")]


_Bounds = TypedDict("_Bounds", {"from": NotRequired[Instant], "to": NotRequired[Instant]})


class Operation(_Bounds):
    """A backfill has `task_id`, `from` and `to`; every other operation has `kind` and what follows it."""

    operation_id: str
    action: Annotated[str, described("What is done to each item, or `backfill`.")]
    state: Annotated[
        str,
        words(operation.State),
        described(
            "PLANNED waits for its start, PAUSED for the ends of its canary. STOPPED can be resumed; of a backfill: "
            "goes on when the dead letter of its step is redriven. DONE and ABORTED are final."
        ),
    ]
    eligible: Eligible
    done: Annotated[
        Count, described("Items whose new attempt succeeded; of a backfill: runs that are written.")
    ]
    reason: Annotated[str | None, described("Why it was asked for; of a backfill: why it does not go on.")]
    created_at: Instant
    finished_at: Instant | None
    task_id: NotRequired[str]
    kind: NotRequired[Annotated[str, words(operation.Kind)]]
    actor: NotRequired[Annotated[str, described("The id of the key that asked.")]]
    not_eligible: NotRequired[
        Annotated[list[NotEligible], described("Items that it leaves alone, by reason.")]
    ]
    waiting: NotRequired[Annotated[Count, described("Items that it has yet to act on.")]]
    sent: NotRequired[Annotated[Count, described("Items acted on whose attempt has not ended.")]]
    failed: NotRequired[
        Annotated[Count, described("Items whose new attempt failed. Retries of their own may follow.")]
    ]
    changed: NotRequired[
        Annotated[Count, described("Items that changed after the plan, and that were left alone.")]
    ]
    missing: NotRequired[
        Annotated[
            Count,
            described("Of a discard: items whose letter was not in the queue. They stay DEAD as all others."),
        ]
    ]
    stopped_because: NotRequired[
        Annotated[str | None, described("Why it waits, was stopped or was aborted; else null.")]
    ]
    max_per_second: NotRequired[Count]
    canary: NotRequired[Count | None]
    stop_when: NotRequired[StopWhen | None]
    started_at: NotRequired[Instant | None]
    version: NotRequired[Annotated[int, described("One more with each change.")]]


class OperationItem(TypedDict):
    item_id: str
    version: Annotated[
        Count, described("The item's version that the plan saw. Another version is left alone.")
    ]
    outcome: Annotated[str, words(Outcome)]
    at: Annotated[Instant | None, described("When the operation acted on it.")]


class OperationList(TypedDict):
    operations: list[Operation]
    next_cursor: Cursor


class OperationItemList(TypedDict):
    items: list[OperationItem]
    next_cursor: Cursor


def of(given: operation.Operation) -> Operation:
    request, counts = given.request, given.counts
    rule = request.stop_when
    acted = sum(count for outcome, count in counts.items() if outcome is not Outcome.WAITING)
    return {
        "operation_id": given.id,
        "action": request.action.value,
        "kind": request.kind.value,
        "actor": request.actor,
        "reason": request.reason,
        "state": given.state.value,
        "stopped_because": given.why,
        "eligible": {
            "count": given.eligible,
            "amount": given.amount,
            "evaluated": given.evaluated,
            "by_failure": dict(given.by_failure),
            "by_destination": dict(given.by_destination),
        },
        "not_eligible": [{"reason": why, "count": count} for why, count in given.not_eligible.items()],
        "waiting": given.eligible - acted,
        "sent": counts.get(Outcome.SENT, 0),
        "done": counts.get(Outcome.DONE, 0),
        "failed": counts.get(Outcome.FAILED, 0),
        "changed": counts.get(Outcome.CHANGED, 0),
        "missing": counts.get(Outcome.MISSING, 0),
        "max_per_second": request.max_per_second,
        "canary": request.canary,
        "stop_when": None
        if rule is None
        else {"failed_share": rule.failed_share, "within": round(rule.within.total_seconds())},
        "created_at": text_of(given.created_at),
        "started_at": text_of(given.started_at),
        "finished_at": text_of(given.finished_at),
        "version": given.version,
    }


def accepted(given: operation.Operation) -> Response[Operation]:
    return requests.item(of(given), status=202, headers={"Location": f"/api/v1/operations/{given.id}"})


def item(entry: operation_pages.Entry) -> OperationItem:
    return {
        "item_id": entry.id,
        "version": entry.version,
        "outcome": entry.outcome.value,
        "at": text_of(entry.at),
    }
