"""The answers about destinations."""

import base64
from datetime import datetime
from typing import Annotated, Literal

from typing_extensions import TypedDict

from functions.api.answers import Count, Cursor, Instant, described
from functions.api.forms import text_of
from postdate.domain.breaker import Breaker, State

Word = Literal["CLOSED", "OPEN", "HALF_OPEN", "PROBING", "RECOVERING"]


class Destination(TypedDict):
    id: str
    type: Annotated[str, described("As of a task's target.")]
    address: Annotated[str, described("The host of a webhook; otherwise the queue, the topic or the bus.")]
    state: Annotated[
        Word,
        described(
            "CLOSED: calls go out. OPEN: no call does. HALF_OPEN and PROBING: one call tries. RECOVERING: calls go "
            "out slowly."
        ),
    ]
    failures: Annotated[Count, described("In a row, up to the opening. Failed probes are not counted.")]
    since: Annotated[
        Instant | None, described("Of the first of these failures, or since when calls are held back.")
    ]
    next_probe_at: Annotated[
        Instant | None,
        described(
            "From when a call may try; in the past while HALF_OPEN or PROBING; null while calls go out."
        ),
    ]
    waiting: Annotated[
        Count,
        described("Calls that were put off since it opened, those that were cancelled meanwhile included."),
    ]
    slow: Annotated[bool, described("Whether calls go by the lane for slow destinations.")]
    last_error: str | None


class DestinationList(TypedDict):
    destinations: list[Destination]
    next_cursor: Cursor


def of(circuit: str, breaker: Breaker, now: datetime) -> Destination:
    """The answer about one destination. `circuit` is `<type>:<address>`, as `circuit_of` of the registry makes it."""
    type_, _, address = circuit.partition(":")
    return {
        "id": id_of(circuit),
        "type": type_,
        "address": address,
        "state": _WORDS[breaker.state(now)],
        "failures": breaker.failures,
        "since": text_of(breaker.down_since or breaker.since),
        "next_probe_at": text_of(breaker.open_until),
        "waiting": breaker.waiting,
        "slow": breaker.is_slow(now),
        "last_error": breaker.error,
    }


def id_of(circuit: str) -> str:
    return base64.urlsafe_b64encode(circuit.encode()).decode().rstrip("=")


def circuit_of(id: str) -> str | None:
    """The circuit that the id of a destination names; None for any other text."""
    try:
        circuit = base64.b64decode(id + "=" * (-len(id) % 4), altchars=b"-_", validate=True).decode()
    except ValueError:
        return None
    return circuit if id_of(circuit) == id else None


_WORDS: dict[State, Word] = {
    State.CLOSED: "CLOSED",
    State.OPEN: "OPEN",
    State.HALF_OPEN: "HALF_OPEN",
    State.PROBING: "PROBING",
    State.RECOVERING: "RECOVERING",
}
