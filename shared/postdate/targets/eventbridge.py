"""Delivery as an event on a bus of the task's owner."""

import json
from collections.abc import Mapping, Sequence
from concurrent.futures import Executor
from typing import Any, Final, Protocol

from postdate.targets.base import Delivery
from postdate.targets.batches import BatchTarget
from postdate.targets.facts import instant_text
from postdate.targets.kind import Listed, Member, Parts, Service, Shape, TargetKind

SOURCE: Final = "postdate"
# The bytes of an event beside its payload: the facts, and a detail type of 128 characters of up to four bytes.
_FACTS_BYTES: Final = 1024
_LISTED: Final = Listed(noun="bus", metavar="NAME", help="an event bus its tasks may go to")


class EventsClient(Protocol):
    def put_events(self, *, Entries: list[dict[str, Any]]) -> Mapping[str, Any]: ...  # noqa: N803


class EventBridgeTarget(BatchTarget):
    """Delivered means taken: what rules make of an event is the bus's. One for a bus that does not exist is taken too,
    and dropped by EventBridge, which tells nobody; the tenant's list is what stands between."""

    name = "eventbridge"
    listed = _LISTED
    # The most that every region takes for all entries of a call. An event alone may be larger where EventBridge takes
    # 1 MB, so that what is too large is its to say.
    bytes_max = 256 * 1024
    final = frozenset({"InvalidArgument", "MalformedDetail", "RedactionFailure", "ValidationException"})

    def __init__(self, *, client: EventsClient, pool: Executor) -> None:
        super().__init__(pool=pool)
        self._client = client

    def size(self, delivery: Delivery) -> int:
        return len(delivery.body) + _FACTS_BYTES

    def call(self, batch: Sequence[Delivery]) -> Sequence[str | None]:
        """EventBridge answers entry by entry, in the order of the request."""
        answer = self._client.put_events(Entries=[_entry(delivery) for delivery in batch])
        told = answer.get("Entries", ())
        if len(told) != len(batch):
            return [""] * len(batch)
        return [None if entry.get("EventId") else entry.get("ErrorCode", "") for entry in told]


def _entry(delivery: Delivery) -> dict[str, Any]:
    facts = {
        "task_id": delivery.task_id,
        "run_id": delivery.run_id,
        "depth": delivery.depth_told,
        "attempt": delivery.attempt,
        "token": delivery.token,
        "planned_at": instant_text(delivery.planned_at),
        "idempotency_key": delivery.run_id,
    }
    # The payload's text as it is: read and written again, a large number would become another.
    detail = f'{{"payload":{delivery.body.decode()},"postdate":{json.dumps(facts, separators=(",", ":"))}}}'
    return {
        "Source": SOURCE,
        "DetailType": delivery.destination.detail_type,
        "Detail": detail,
        "EventBusName": delivery.destination.address,
    }


def _made(parts: Parts) -> EventBridgeTarget:
    return EventBridgeTarget(client=parts.client("events"), pool=parts.threads("events"))


EVENTBRIDGE: Final = TargetKind(
    name="eventbridge",
    title="EventBridge",
    members=(
        Member(
            name="bus",
            of="address",
            meaning="A bus on your tenant's list, as it is written there. Events have the source `postdate`; their "
            "detail holds the payload as `payload` and, as `postdate`, the task, the run, the attempt and its token.",
        ),
        Member(
            name="detail_type",
            of="detail_type",
            meaning="What the events are called, for the rules of the bus.",
            shape=Shape.NAME,
        ),
    ),
    listed=_LISTED,
    service=Service(name="events", operation="PutEvents", action="events:PutEvents", resource="event-bus/{}"),
    make=_made,
)
