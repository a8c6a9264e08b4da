"""Publishes events on the bus of the environment, for what runs in the same account."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

from postdate.domain.errors import Unavailable
from postdate.domain.event import Event
from postdate.domain.event_body import body_of
from postdate.domain.rollouts import Flag
from postdate.stores.faults import translated

SOURCE: Final = "postdate"
FLAG: Final = "bus"
# PutEvents takes ten entries.
_AT_ONCE: Final = 10
# PutEvents takes 256 KB, attributes included.
_BYTES_MAX: Final = 240_000


def published(
    name: str, client: Any, *, flag: Callable[[], Flag]
) -> Callable[[str, Sequence[Event]], None] | None:
    """The function that puts a tenant's events on the bus; None in an environment without a bus. Events of tenants for
    which the flag is off are left out, and are not sent later either."""
    if not name:
        return None
    bus = Bus(name=name, client=client)

    def publish(tenant: str, events: Sequence[Event]) -> None:
        if flag().is_on(FLAG, tenant):
            bus.publish(tenant, events)

    return publish


class Bus:
    def __init__(self, *, name: str, client: Any) -> None:
        self._name = name
        self._client = client

    def publish(self, tenant: str, events: Sequence[Event]) -> None:
        """Puts events on the bus in the order of each subject, as far as EventBridge keeps it. Raises Unavailable
        unless each event was taken. The caller repeats all, so rules see an event once or more."""
        entries = [_entry(event, tenant, self._name) for event in events]
        for chunk in _chunks(entries):
            with translated():
                answer = self._client.put_events(Entries=chunk)
            refused = [each.get("ErrorCode") for each in answer["Entries"] if not each.get("EventId")]
            if refused:
                raise Unavailable(f"the bus refused {len(refused)} events: {refused[0]}")


def _entry(event: Event, tenant: str, bus: str) -> dict[str, Any]:
    """The detail is the event as everywhere else, and its tenant: the bus is shared by all tenants."""
    detail: Mapping[str, Any] = {"tenant": tenant, **body_of(event)}
    return {
        "Source": SOURCE,
        "DetailType": event.type,
        "Detail": json.dumps(detail, separators=(",", ":"), ensure_ascii=False),
        "EventBusName": bus,
        "Time": event.occurred_at,
    }


def _chunks(entries: Sequence[dict[str, Any]]) -> Iterator[list[dict[str, Any]]]:
    chunk: list[dict[str, Any]] = []
    size = 0
    for entry in entries:
        bytes_more = len(entry["Detail"].encode()) + len(entry["DetailType"]) + 64
        if chunk and (len(chunk) == _AT_ONCE or size + bytes_more > _BYTES_MAX):
            yield chunk
            chunk, size = [], 0
        chunk.append(entry)
        size += bytes_more
    if chunk:
        yield chunk
