"""Events of switches through the real functions, with the operator who turned them and the reason."""

from collections.abc import Mapping
from typing import Any

from postdate.domain.event import SERVICE, Subject
from postdate.stores.event_row import event_of
from tests.integration.test_api_switches import operator as operator
from tests.integration.test_api_switches import turn
from tests.integration.test_events import Stream, recorded
from tests.integration.world import Client, World


class Switches(Stream):
    """Rows of switches belong to no tenant."""

    def is_ours(self, row: Mapping[str, Any]) -> bool:
        return True


def stored(world: World, subject: Subject) -> list[Any]:
    rows = world.rows(world.tables["events"])
    found = [event_of(row) for row in rows if not row["subject"]["S"].endswith("#feed")]
    return sorted((each for each in found if each.subject == subject), key=lambda each: each.sequence)


def test_each_turn_of_a_switch_is_an_event_with_its_author_and_reason(world: World, operator: Client) -> None:
    stream = Switches(world, operator, "switches")
    turn(operator, "target:sqs", on=False, reason="the queues are full")
    assert recorded(stream.records()) == []
    turn(operator, "target:sqs", on=False, reason="again")
    turn(operator, "target:sqs", on=True, reason="emptied")
    assert recorded(stream.records()) == []
    off, on = stored(world, Subject(tenant=SERVICE, kind="switch", id="target:sqs"))
    assert [(each.type, each.sequence) for each in (off, on)] == [
        ("switch.changed", 1),
        ("switch.changed", 2),
    ]
    assert [each.data["reason"] for each in (off, on)] == ["the queues are full", "emptied"]
    assert {(each.actor.type, each.actor.id) for each in (off, on)} == {("key", operator.key_id)}
    assert (off.data["after"]["on"], off.data["before"]) == (False, {"on": True})
    assert (on.data["after"]["on"], on.data["before"]["on"]) == (True, False)


def test_a_tenant_follows_its_own_switch(world: World, operator: Client, client: Client) -> None:
    stream = Switches(world, operator, "switches")
    turn(operator, f"tenant:{client.tenant}", on=False, reason="unpaid")
    assert recorded(stream.records()) == []
    (event,) = client.get("/api/v1/events", query="type=switch.changed").body["events"]
    assert (event["subject"]["id"], event["data"]["reason"]) == (f"tenant:{client.tenant}", "unpaid")
    assert client.get(f"/api/v1/events/{event['event_id']}").body == event


def test_a_record_that_comes_again_makes_no_second_event(world: World, operator: Client) -> None:
    stream = Switches(world, operator, "switches")
    turn(operator, "target:sns", on=False)
    records = stream.records()
    assert recorded(records) == recorded(records) == []
    assert len(stored(world, Subject(tenant=SERVICE, kind="switch", id="target:sns"))) == 1
