"""Delivery as an event on a bus of the task's owner."""

import json
from collections.abc import Collection, Mapping, Sequence
from concurrent.futures import Executor
from typing import Any, Final, Protocol

from postdate.domain.errors import DestinationNotAllowed
from postdate.targets.base import Delivery
from postdate.targets.batches import BatchTarget
from postdate.targets.facts import instant_text

SOURCE: Final = "postdate"
# What an event may hold beside its payload: the facts, and a detail type of 128 characters of up to four bytes.
_FACTS_BYTES: Final = 1024


class EventsClient(Protocol):
    def put_events(self, *, Entries: list[dict[str, Any]]) -> Mapping[str, Any]: ...  # noqa: N803


def check_bus(bus: str, allowed: Collection[str]) -> None:
    """Raises DestinationNotAllowed unless the tenant's list names this bus to the letter: our role may send to more."""
    if bus not in allowed:
        raise DestinationNotAllowed("the bus is not on the tenant's list")


class EventBridgeTarget(BatchTarget):
    """Delivered means taken: what rules make of an event is the bus's. One for a bus that does not exist is taken too,
    and dropped by EventBridge, which tells nobody; the tenant's list is what stands between."""

    name = "eventbridge"
    # The most that every region takes for all entries of a call. An event alone may be larger where EventBridge takes
    # 1 MB, so that what is too large is its to say.
    bytes_max = 256 * 1024
    final = frozenset({"InvalidArgument", "MalformedDetail", "RedactionFailure", "ValidationException"})

    def __init__(self, *, client: EventsClient, pool: Executor) -> None:
        super().__init__(pool=pool)
        self._client = client

    def check(self, delivery: Delivery) -> None:
        check_bus(delivery.destination.address, delivery.buses_allowed)

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
