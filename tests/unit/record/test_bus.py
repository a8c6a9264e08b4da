"""Events on the bus: all of them, in chunks that EventBridge takes, and again when one is refused."""

import json
from dataclasses import replace
from typing import Any

import pytest

from functions.record.bus import Bus, published
from postdate.domain.errors import Unavailable
from postdate.domain.event import Event, Subject
from postdate.domain.rollouts import Flag
from tests.unit.doubles import START

EVENT = Event(
    subject=Subject(tenant="acme", kind="payment", id="pay_1"),
    type="payment.completed",
    sequence=1,
    occurred_at=START,
    recorded_at=START,
    data={"after": {"amount": 5}},
)


class Events:
    """EventBridge; it refuses the entries whose places are named."""

    def __init__(self, *refused: int) -> None:
        self.calls: list[list[dict[str, Any]]] = []
        self._refused = refused

    def put_events(self, *, Entries: list[dict[str, Any]]) -> dict[str, Any]:  # noqa: N803
        self.calls.append(Entries)
        told = [
            {"ErrorCode": "ThrottlingException"} if place in self._refused else {"EventId": "1"}
            for place in range(len(Entries))
        ]
        return {"FailedEntryCount": len(self._refused), "Entries": told}


def test_each_event_is_published_with_its_tenant_and_its_type() -> None:
    client = Events()
    Bus(name="postdate-dev-events", client=client).publish("acme", [EVENT])
    ((entry,),) = client.calls
    assert (entry["EventBusName"], entry["Source"], entry["DetailType"]) == (
        "postdate-dev-events",
        "postdate",
        "payment.completed",
    )
    detail = json.loads(entry["Detail"])
    assert (detail["tenant"], detail["event_id"], detail["data"]) == (
        "acme",
        EVENT.id,
        {"after": {"amount": 5}},
    )


def test_no_call_has_more_than_eventbridge_takes() -> None:
    client = Events()
    large = {"after": {"description": "x" * 100_000}}
    events = [replace(EVENT, sequence=number, data=large if number > 23 else {}) for number in range(1, 28)]
    Bus(name="b", client=client).publish("acme", events)
    assert [len(call) for call in client.calls] == [10, 10, 5, 2]
    sent = [json.loads(entry["Detail"])["sequence"] for call in client.calls for entry in call]
    assert sent == list(range(1, 28))


def test_an_event_that_is_refused_fails_the_batch() -> None:
    with pytest.raises(Unavailable, match="refused 1 events"):
        Bus(name="b", client=Events(1)).publish("acme", [EVENT, replace(EVENT, sequence=2)])


def test_an_environment_without_a_bus_publishes_nothing() -> None:
    assert published("", Events(), flag=Flag) is None


def test_events_of_a_tenant_are_left_out_while_its_flag_is_off() -> None:
    flags = [Flag(percent=100, off=("acme",)), Flag(percent=0, on=("acme",))]
    client = Events()
    publish = published("b", client, flag=lambda: flags[0])
    assert publish is not None
    publish("acme", [EVENT])
    assert client.calls == []
    flags.pop(0)
    publish("acme", [EVENT])
    assert [len(call) for call in client.calls] == [1]
