"""Operators follow what belongs to no tenant: parameters and switches, with who changed them and why."""

import json
from typing import Any

from cli.parameter_events import Teller
from cli.parameter_store import ParameterStore
from functions.record import handler as record
from postdate.domain.event import SERVICE
from tests.integration.test_api_switches import operator as operator
from tests.integration.test_api_switches import turn
from tests.integration.test_events import recorded
from tests.integration.test_events_of_switches import Switches
from tests.integration.test_parameters import store as store
from tests.integration.world import Client, Context, World

EVENTS = "/api/v1/ops/events"


class InProcess:
    def invoke(self, *, FunctionName: str, Payload: bytes) -> dict[str, Any]:  # noqa: N803 - boto3's names
        assert record.handler(json.loads(Payload), Context())["event_ids"]
        return {}


def changed(store: ParameterStore, reason: str, **registering: int) -> None:
    store.deploy({"registering": registering} if registering else {}, why=reason, at_once=True)
    Teller(store=store, lambdas=InProcess(), function="record").tell()


def listed(operator: Client, query: str = "") -> list[dict[str, Any]]:
    events: list[dict[str, Any]] = operator.get(EVENTS, query=f"limit=100{query}").body["events"]
    return events


def test_a_change_of_parameters_is_an_event_for_operators(
    world: World, operator: Client, store: ParameterStore
) -> None:
    changed(store, "a busy day", batch_max=50)
    changed(store, "the usual")
    busy, usual = listed(operator, "&type=config.changed")
    assert [each["data"]["reason"] for each in (busy, usual)] == ["a busy day", "the usual"]
    assert (busy["data"]["before"], usual["data"]["before"]) == (
        {"registering.batch_max": 100},
        {"registering.batch_max": 50},
    )
    assert busy["actor"]["type"] == "aws"
    assert busy["actor"]["id"] == store.author
    assert busy["subject"] == {"kind": "config", "id": "parameters-1"}
    assert operator.get(f"{EVENTS}/{busy['event_id']}").body == busy
    Teller(store=store, lambdas=InProcess(), function="record").tell()
    assert listed(operator, "&type=config.changed") == [busy, usual]


def test_a_turned_switch_is_in_the_feed_of_the_service(world: World, operator: Client) -> None:
    stream = Switches(world, operator, "switches")
    turn(operator, "target:eventbridge", on=False, reason="the bus is full")
    turn(operator, "target:eventbridge", on=True, reason="emptied")
    assert recorded(stream.records()) == []
    found = listed(operator, "&type=switch.changed&subject_id=target:eventbridge")
    assert found[-1]["data"]["reason"] == "emptied"
    assert found[-1]["actor"] == {"type": "key", "id": operator.key_id}


def test_the_service_has_a_feed_of_its_own(world: World, operator: Client, client: Client) -> None:
    assert client.get(EVENTS).status == 403
    assert client.get(f"{EVENTS}/evt_1_config_x").status == 403
    assert operator.get(f"{EVENTS}/evt_1_config_x").status == 404
    assert operator.get(EVENTS, query="type=!").status == 422


def test_no_key_acts_for_the_service_as_for_a_tenant(world: World) -> None:
    acting = Client(tenant=SERVICE, scopes="ops events:read", operates=True)
    assert acting.get("/api/v1/events").status == 403
