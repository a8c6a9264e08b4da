"""Routes of dead letters, for operators."""

from typing import Final

from aws_lambda_powertools.event_handler import Response

from functions.api import listing, requests
from functions.api.caller import Caller
from functions.api.forms import parsed
from functions.api.letters import answers
from functions.api.letters.show import grouped
from functions.api.listing import Span
from functions.api.operation import Routes
from functions.api.operations import answers as operations
from functions.api.operations.forms import RedriveForm
from functions.api.wiring import wired
from postdate.domain.errors import NotFound, ValidationFailed
from postdate.domain.operation import Kind
from postdate.domain.scopes import OPS

LETTERS: Final = Routes("/api/v1/ops/dlq")
_KINDS: Final = {"tasks": Kind.TASKS, "payments": Kind.PAYMENTS}
# Groups are told of more letters than a list shows.
_GROUPED_MAX: Final = 1_000
_FAILURE: Final = "failure"


@LETTERS.serves(
    "get",
    "/<queue>",
    name="listDeadLetters",
    summary="List dead letters",
    text="Of the queue `tasks` or `payments`, with what is known of their items, the oldest first; with "
    "`group=failure` their numbers by failure and destination, of 1,000 letters at most. There is one page: a queue "
    "cannot be read from a place on, so `next_cursor` is always null. A letter whose items all went on is deleted. "
    "Plan an operation to redrive or discard them.",
    scope=OPS,
    parameters=("dlq_group", "limit"),
    codes=("validation_failed", "not_found"),
)
def list_letters(_: Caller, queue: str) -> answers.DeadLetterList:
    letters, given = (
        wired().operators.dead_letters.get(queue),
        requests.parameters(LETTERS.router.current_event),
    )
    if letters is None:
        raise NotFound(f"there is no queue {queue}")
    listing.only_known(given, "group")
    if "cursor" in given:
        raise ValidationFailed([("cursor", "is not a cursor of this list, which has one page")])
    if given.get("group", _FAILURE) != _FAILURE:
        raise ValidationFailed([("group", f"is {_FAILURE}")])
    if "group" in given:
        groups = [answers.group(each) for each in grouped(letters.shown(_GROUPED_MAX))]
        return {"queue": queue, "groups": groups, "next_cursor": None}
    shown = letters.shown(Span.of(given, "letters", queue).limit)
    return {
        "queue": queue,
        "letters": [answers.letter(each, letters) for each in shown],
        "next_cursor": None,
    }


@LETTERS.serves(
    "post",
    "/<queue>/redrive",
    name="redriveDeadLetters",
    summary="Redrive items of a queue of dead letters",
    text="Short for an operation `redrive` without a dry run, of the tenant that `Postdate-Tenant` names: it begins at "
    "once. The queue is `tasks` or `payments`. The scope `ops` suffices for items of either kind.",
    status=202,
    body=RedriveForm,
    examples={
        "failure": {
            "summary": "All that died of one failure",
            "value": {"filter": {"failure": "http 503"}, "max_per_second": 20},
        }
    },
    scope=OPS,
    headers=("Location", "ETag"),
    codes=("malformed", "validation_failed", "limit_exceeded", "invalid_state", "not_found"),
)
def redrive(_: Caller, queue: str) -> Response[operations.Operation]:
    event, planner = LETTERS.router.current_event, wired().operators.planner
    if queue not in _KINDS:
        raise NotFound(f"there is no queue {queue}")
    form, kind = parsed(RedriveForm, requests.body(event)), _KINDS[queue]
    try:
        form.check_filter(kind)
    except ValueError as error:
        raise ValidationFailed([("filter", str(error))]) from None
    caller = requests.caller(event, OPS)
    return operations.accepted(planner.redrive(caller, form.redrive(kind, caller), form.items))
