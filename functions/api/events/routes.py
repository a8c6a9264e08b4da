"""Routes of events, under /api/v1/events."""

from typing import Final

from aws_lambda_powertools.utilities.data_classes.common import BaseProxyEvent

from functions.api import requests
from functions.api.caller import Caller
from functions.api.events import answers
from functions.api.events.feed import page
from functions.api.events.query import FeedQuery
from functions.api.operation import Routes
from functions.api.wiring import wired
from postdate.domain.errors import NotFound
from postdate.domain.event import SERVICE, parsed_id
from postdate.domain.scopes import OPS
from postdate.runtime import metric
from postdate.runtime.observability import emit

EVENTS: Final = Routes("/api/v1/events")
SERVICE_EVENTS: Final = Routes("/api/v1/ops/events")
READ: Final = "events:read"
_PARAMETERS: Final = (
    *("event_type", "subject_id", "event_account", "recorded_since", "recorded_until", "event_order"),
    *("wait_seconds", "limit", "cursor"),
)


@EVENTS.serves(
    "get",
    "",
    name="listEvents",
    summary="Follow events",
    text="In the order in which they were recorded. Whoever goes on with `follow_cursor`, now or later, misses none: "
    "no event is ever recorded before one that was shown. An event is here a moment after its change. With a filter a "
    "page may be short, or empty, and still have a `next_cursor`: then `partial` is true.",
    scope=READ,
    parameters=_PARAMETERS,
    codes=("validation_failed",),
)
def list_events(caller: Caller) -> answers.EventList:
    return _listed(caller.tenant, _event())


def _listed(tenant: str, asked: BaseProxyEvent) -> answers.EventList:
    query = FeedQuery.of(tenant, requests.parameters(asked))
    id = asked["requestContext"]["requestId"]
    is_long = wired().parameters.values.flags.long_waits.is_on("long_waits", tenant)
    seats = wired().guards.seats if is_long else None
    shown = page(query, wired().tables.events, clock=wired().clock, seats=seats, id=id)
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
    return _found(caller.tenant, event_id)


@SERVICE_EVENTS.serves(
    "get",
    "",
    name="listServiceEvents",
    summary="Follow the service's own events",
    text="Of what belongs to no tenant: operators' keys, switches, parameters and erased tenants. A turned switch and "
    "changed parameters tell who did it, and `reason`. Otherwise as a tenant's feed.",
    scope=OPS,
    parameters=_PARAMETERS,
    codes=("validation_failed",),
)
def list_service_events(_: Caller) -> answers.EventList:
    return _listed(SERVICE, SERVICE_EVENTS.router.current_event)


@SERVICE_EVENTS.serves(
    "get",
    "/<event_id>",
    name="getServiceEvent",
    summary="Get an event of the service",
    text="As it was recorded: an event never changes.",
    scope=OPS,
    codes=("not_found",),
)
def get_service_event(_: Caller, event_id: str) -> answers.Event:
    return _found(SERVICE, event_id)


def _found(tenant: str, event_id: str) -> answers.Event:
    known = parsed_id(tenant, event_id)
    found = wired().tables.events.of(known[0], after=known[1] - 1, limit=1) if known else []
    if known is None or not found or found[0].sequence != known[1]:
        raise NotFound(f"there is no event {event_id}")
    return answers.of(found[0])


def _event() -> BaseProxyEvent:
    return EVENTS.router.current_event
