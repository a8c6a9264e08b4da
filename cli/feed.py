"""A tenant's events as they are recorded, from the feed of the API: so it works against AWS as well."""

import json
import urllib.error
import urllib.request
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final
from urllib.parse import urlencode

PATH: Final = "/api/v1/events"
WAIT_SECONDS: Final = 20
_AT_ONCE: Final = 100
_ANSWER_SECONDS: Final = 30
Event = dict[str, Any]


def matches(event: Event, types: Iterable[str]) -> bool:
    """A type, or all of a kind: `payment.*`. Without types each event matches."""
    wanted = list(types)
    kind = event["type"].partition(".")[0]
    return not wanted or bool({"*", event["type"], f"{kind}.*"} & set(wanted))


def live(get: Callable[[str], Any], types: Iterable[str] = ()) -> Iterator[Event]:
    """The events that are recorded from now on, without an end. `get` answers a path of the API."""
    wanted = list(types)
    before = get(_path(order="desc", limit=str(_AT_ONCE)))["events"]
    known = {event["event_id"] for event in before}
    asked = {"limit": str(_AT_ONCE), "wait_seconds": str(WAIT_SECONDS)}
    if before:
        asked["since"] = before[0]["recorded_at"]
    while True:
        page = get(_path(**asked))
        for event in page["events"]:
            if event["event_id"] not in known and matches(event, wanted):
                yield event
        if page["follow_cursor"] is not None:
            asked["cursor"] = page["follow_cursor"]


def forward(event: Event, url: str) -> str:
    """Posts the event, and tells the answer's status or why there is none. Nothing is signed or repeated."""
    request = urllib.request.Request(  # noqa: S310 - the caller's own address
        url,
        data=json.dumps(event).encode(),
        headers={"Content-Type": "application/json", "webhook-id": event["event_id"]},
        method="POST",
    )
    try:
        with urllib.request.urlopen(request, timeout=_ANSWER_SECONDS) as response:  # noqa: S310
            return str(response.status)
    except urllib.error.HTTPError as refused:
        with refused:
            return str(refused.code)
    except OSError as error:
        return f"no answer: {error}"


def _path(**asked: str) -> str:
    return f"{PATH}?{urlencode(asked)}"
