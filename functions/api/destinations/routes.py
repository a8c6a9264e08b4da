"""Routes of destinations, under /api/v1/destinations: the breakers of a tenant's own calls."""

import hashlib
from collections.abc import Callable
from datetime import datetime
from functools import partial
from typing import Final

from functions.api import listing, requests
from functions.api.caller import Caller
from functions.api.destinations import answers
from functions.api.listing import Span
from functions.api.operation import Routes
from functions.api.wiring import wired
from postdate.domain import breaker as rules
from postdate.domain.breaker import Breaker
from postdate.domain.errors import Conflict, NotFound
from postdate.stores.flow import Flow

DESTINATIONS: Final = Routes("/api/v1/destinations")
_READ, _WRITE = "tasks:read", "tasks:write"
_TRIES: Final = 5
_PLACE_BYTES: Final = 200


@DESTINATIONS.serves(
    "get",
    "",
    name="listDestinations",
    summary="List destinations that something is held against",
    text="A destination that is well is not in the list. They are in the order of their addresses.",
    scope=_READ,
    parameters=("limit", "cursor"),
    codes=("validation_failed",),
)
def list_destinations(caller: Caller) -> answers.DestinationList:
    parameters = requests.parameters(DESTINATIONS.router.current_event)
    listing.only_known(parameters)
    span = Span.of(parameters, "destinations", caller.tenant)
    now, found = wired().clock.now(), wired().tables.flow.states(caller.tenant)
    behind = sorted((each for each in found if _place(each) > span.after), key=_place)
    shown, cursor = span.cut(behind, _place)
    return {"destinations": [answers.of(each, found[each], now) for each in shown], "next_cursor": cursor}


@DESTINATIONS.serves(
    "post",
    "/<destination_id>/probe",
    name="probeDestination",
    summary="Let the next call to a destination try",
    text="The next call that asks is a probe, instead of waiting for `next_probe_at`. Calls that wait ask again at "
    "their own turns; a new task asks at once.",
    scope=_WRITE,
    codes=("not_found",),
)
def probe(caller: Caller, destination_id: str) -> answers.Destination:
    now = wired().clock.now()
    return _changed(caller.tenant, destination_id, partial(rules.tried_at_once, now=now), now)


@DESTINATIONS.serves(
    "post",
    "/<destination_id>/reset",
    name="resetDestination",
    summary="Hold nothing against a destination any more",
    text="Failures and slowness are forgotten. Calls to one that was left alone begin slowly, as after a probe that "
    "got through.",
    scope=_WRITE,
    codes=("not_found",),
)
def reset(caller: Caller, destination_id: str) -> answers.Destination:
    now = wired().clock.now()
    return _changed(caller.tenant, destination_id, partial(rules.reset, now=now), now)


def _place(circuit: str) -> str:
    """The place of a destination in the list: its address, or the beginning of a long one and a hash. A cursor has room
    for no more."""
    whole = circuit.encode()
    if len(whole) <= _PLACE_BYTES:
        return circuit
    return f"{whole[:_PLACE_BYTES].decode(errors='ignore')} {hashlib.sha256(whole).hexdigest()[:32]}"


def _changed(
    tenant: str, id: str, decided: Callable[[Breaker], Breaker], now: datetime
) -> answers.Destination:
    """Changes the breaker of a destination, decided again if a worker changed it first. The answer shows the result."""
    circuit, flow = answers.circuit_of(id), wired().tables.flow
    if circuit is None:
        raise _unknown()
    for _ in range(_TRIES):
        before = _breaker(flow, tenant, circuit)
        after = decided(before)
        if after == before or flow.change_breaker((tenant, circuit), before, after):
            return answers.of(circuit, after, now)
    raise Conflict


def _breaker(flow: Flow, tenant: str, circuit: str) -> Breaker:
    found = flow.breakers([(tenant, circuit)])[tenant, circuit]
    if not found.version:
        raise _unknown()
    return found


def _unknown() -> NotFound:
    return NotFound("nothing was ever held against such a destination")
