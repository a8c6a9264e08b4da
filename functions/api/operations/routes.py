"""Routes of operations: one action on many items, and backfills."""

import re
from typing import Final

from aws_lambda_powertools.event_handler import Response
from aws_lambda_powertools.utilities.data_classes.common import BaseProxyEvent

from functions.api import listing, requests
from functions.api.caller import Caller
from functions.api.forms import parsed
from functions.api.listing import Span
from functions.api.operation import Routes
from functions.api.operations import answers
from functions.api.operations.forms import OperationForm
from functions.api.operations.view import view
from functions.api.wiring import wired
from postdate.domain.errors import NotFound, ValidationFailed
from postdate.domain.operation_pages import PAGE_ITEMS

OPERATIONS: Final = Routes("/api/v1/operations")
READ, WRITE = "tasks:read", "operations:write"
# The number of the first item of a page; nothing for the first page.
_NUMBER: Final = re.compile(r"[0-9]{0,9}")
_EXAMPLES: Final = {
    "dry_run": {
        "summary": "A plan, to be looked at before its start",
        "value": {
            "action": "redrive",
            "kind": "tasks",
            "ids": ["task_0w8qk4r00000000000000000"],
            "reason": "the receiver is back",
        },
    },
    "filter": {
        "summary": "All that died at one destination in an outage",
        "value": {
            "action": "redrive",
            "kind": "tasks",
            "filter": {
                "destination": "https://hooks.example.com/",
                "failure": "http 503",
                "from": "2026-11-18T10:00:00Z",
                "until": "2026-11-18T11:00:00Z",
            },
            "reason": "the receiver is back",
        },
    },
    "careful": {
        "summary": "At once, slowly, and not to the end if it fails",
        "value": {
            "action": "redrive",
            "kind": "tasks",
            "ids": ["task_0w8qk4r00000000000000000"],
            "dry_run": False,
            "reason": "the receiver is back",
            "max_per_second": 5,
            "canary": 1,
            "stop_when": {"failed_share": 0.3, "within": 60},
        },
    },
}


@OPERATIONS.serves(
    "post",
    "",
    name="planOperation",
    summary="Plan one action on many items",
    text="The answer says which items it is for, and which not, and why. With `dry_run`, the default, it waits for its "
    "start; otherwise it begins at once. An item that changes after the plan is left alone. Only an operator's "
    "key cancels a parked payment. `plans` are recurring tasks: they are paused, resumed or cancelled, each as by "
    "a request of its own.",
    status=202,
    body=OperationForm,
    examples=_EXAMPLES,
    scope=WRITE,
    headers=("Location", "ETag"),
    codes=("malformed", "validation_failed", "limit_exceeded", "invalid_state"),
)
def plan(caller: Caller) -> Response[answers.Operation]:
    form, planner = parsed(OperationForm, requests.body(_event())), wired().operators.planner
    planned = planner.plan(caller, form.plan(caller), form.items)
    return answers.accepted(planned if form.dry_run else planner.start(caller, planned.id))


@OPERATIONS.serves(
    "get",
    "",
    name="listOperations",
    summary="List operations",
    text="The newest first; backfills are not among them, and operations on payments only for a key with "
    "`payments:read`: a page may hold fewer than its `limit`. A new one may be missing for a moment.",
    scope=READ,
    parameters=("limit", "cursor"),
    codes=("validation_failed",),
)
def list_operations(caller: Caller) -> answers.OperationList:
    given = requests.parameters(_event())
    listing.only_known(given)
    span, operations = Span.of(given, "operations", caller.tenant), wired().tables.operations
    shows = wired().operators.planner.shows
    ids = operations.listed(caller.tenant, before=span.after, limit=span.limit + 1)
    shown, cursor = span.cut(ids, str)
    read = [each for each in map(operations.get, shown) if each is not None]
    found = [answers.of(each) for each in read if shows(caller, each)]
    return {"operations": found, "next_cursor": cursor}


@OPERATIONS.serves(
    "get",
    "/<operation_id>",
    name="getOperation",
    summary="How far an operation is",
    text="Of work that goes on by itself after it was asked for. A backfill is kept for 35 days after its end, every "
    "other operation for 95 days after its plan. One on payments needs `payments:read` too.",
    scope=READ,
    headers=("ETag",),
    codes=("not_found",),
)
def get(caller: Caller, operation_id: str) -> Response[answers.Operation]:
    try:
        return requests.item(answers.of(wired().operators.planner.shown(caller, operation_id)))
    except NotFound:
        backfill = wired().recurring.backfills.load(caller.tenant, operation_id)
        # A backfill has no version of its own. The ETag is that of the text.
        return Response(status_code=200, content_type="application/json", body=view(backfill))


@OPERATIONS.serves(
    "get",
    "/<operation_id>/items",
    name="listOperationItems",
    summary="What became of each item",
    text="In the order in which they are acted on. Those of an operation on payments need `payments:read` too.",
    scope=READ,
    parameters=("limit", "cursor"),
    codes=("validation_failed", "not_found"),
)
def list_items(caller: Caller, operation_id: str) -> answers.OperationItemList:
    operation = wired().operators.planner.shown(caller, operation_id)
    given = requests.parameters(_event())
    listing.only_known(given)
    span = Span.of(given, "items by number", caller.tenant, operation.id)
    if not _NUMBER.fullmatch(span.after):
        raise ValidationFailed([("cursor", "is not a cursor of this API")])
    first = int(span.after or 0)
    page, skipped = divmod(first, PAGE_ITEMS)
    pages = -(-(skipped + span.limit) // PAGE_ITEMS)
    read = wired().tables.operations.pages(operation, first=page, limit=pages)
    found = [entry for each in read for entry in each.entries][skipped : skipped + span.limit]
    after = first + len(found)
    return {
        "items": [answers.item(entry) for entry in found],
        "next_cursor": span.cursor(str(after)) if found and after < operation.eligible else None,
    }


@OPERATIONS.serves(
    "post",
    "/<operation_id>/start",
    name="startOperation",
    summary="Start a planned operation",
    text="It needs the scope that the plan needed, an operator's key if an operator planned it, and the very key that "
    "planned it if the key is bound to accounts. At most 5 operations of a tenant run: another one is refused with "
    "`invalid_state`. Starting it again while it runs is no error.",
    status=202,
    scope=WRITE,
    headers=("Location", "ETag"),
    codes=("not_found", "invalid_state"),
)
def start(caller: Caller, operation_id: str) -> Response[answers.Operation]:
    return answers.accepted(wired().operators.planner.start(caller, operation_id))


@OPERATIONS.serves(
    "post",
    "/<operation_id>/stop",
    name="stopOperation",
    summary="Stop an operation",
    text="Before its next slice of at most 25 items. What was sent is not taken back. It needs the "
    "scope that the plan needed, and an operator's key if an operator planned it.",
    status=202,
    scope=WRITE,
    headers=("Location", "ETag"),
    codes=("not_found", "invalid_state"),
)
def stop(caller: Caller, operation_id: str) -> Response[answers.Operation]:
    return answers.accepted(wired().operators.planner.stop(caller, operation_id))


@OPERATIONS.serves(
    "post",
    "/<operation_id>/resume",
    name="resumeOperation",
    summary="Resume an operation",
    text="After a stop its canary begins anew. An operation that says RUNNING but whose execution was killed goes on "
    "where it was; no item is acted on twice. Its key and the number of operations are limited as at a start.",
    status=202,
    scope=WRITE,
    headers=("Location", "ETag"),
    codes=("not_found", "invalid_state"),
)
def resume(caller: Caller, operation_id: str) -> Response[answers.Operation]:
    return answers.accepted(wired().operators.planner.resume(caller, operation_id))


def _event() -> BaseProxyEvent:
    return OPERATIONS.router.current_event
