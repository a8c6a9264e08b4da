"""Routes of events, under /api/v1/events."""

from typing import Final

from aws_lambda_powertools.utilities.data_classes.common import BaseProxyEvent

from functions.api import requests
from functions.api.caller import Caller
from functions.api.events import answers
from functions.api.events.feed import Query, page
from functions.api.operation import Routes
from functions.api.wiring import wired
from postdate.domain.errors import NotFound
from postdate.domain.event import named
from postdate.runtime import metric
from postdate.runtime.observability import emit

EVENTS: Final = Routes("/api/v1/events")
READ: Final = "events:read"


@EVENTS.serves(
    "get",
    "",
    name="listEvents",
    summary="Follow events",
    text="In the order in which they were recorded. Whoever goes on with `follow_cursor`, now or later, misses none: "
    "no event is ever recorded before one that was shown. An event is here a moment after its change. With a filter a "
    "page may be short, or empty, and still have a `next_cursor`: then `partial` is true.",
    scope=READ,
    parameters=(
        *("event_type", "subject_id", "event_account", "recorded_since", "recorded_until", "event_order"),
        *("wait_seconds", "limit", "cursor"),
    ),
    codes=("validation_failed",),
)
def list_events(caller: Caller) -> answers.EventList:
    query = Query.of(caller.tenant, requests.parameters(_event()))
    id = _event()["requestContext"]["requestId"]
    is_long = wired().parameters.values.flags.long_waits.is_on("long_waits", caller.tenant)
    seats = wired().seats if is_long else None
    shown = page(query, wired().events, clock=wired().clock, seats=seats, id=id)
    if query.wait:
        emit(metric.LONG_WAITS[is_long, bool(shown.events)])
    return {
        "events": [answers.of(event) for event in shown.events],
        "next_cursor": shown.cursor,
        "follow_cursor": shown.follow,
        "partial": shown.partial,
    }


@EVENTS.serves(
    "get",
    "/<event_id>",
    name="getEvent",
    summary="Get an event",
    text="As it was recorded: an event never changes.",
    scope=READ,
    codes=("not_found",),
)
def get(caller: Caller, event_id: str) -> answers.Event:
    known = named(caller.tenant, event_id)
    found = wired().events.of(known[0], after=known[1] - 1, limit=1) if known else []
    if known is None or not found or found[0].sequence != known[1]:
        raise NotFound(f"there is no event {event_id}")
    return answers.of(found[0])


def _event() -> BaseProxyEvent:
    return EVENTS.router.current_event
