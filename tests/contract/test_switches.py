"""Switches are read as they were turned, and never written over another turn."""

from collections.abc import Iterator
from datetime import datetime, timedelta

import pytest

from postdate.domain.switch import Switch, of_tenant, turned
from postdate.stores.switches import DynamoSwitches, Switches
from postdate.stores.switches_memory import MemorySwitches
from tests.boundary import Boundary, lost
from tests.contract.conftest import OnAws

MINUTE = timedelta(minutes=1)


@pytest.fixture(params=["memory", "aws"])
def switches(request: pytest.FixtureRequest) -> Iterator[Switches]:
    if request.param == "memory":
        yield MemorySwitches()
        return
    found: OnAws = request.getfixturevalue("on_aws")
    yield DynamoSwitches(table=found.names["switches"], client=found.dynamodb)
    for row in found.dynamodb.scan(TableName=found.names["switches"])["Items"]:
        found.dynamodb.delete_item(TableName=found.names["switches"], Key={"name": row["name"]})


def off(switches: Switches, name: str, now: datetime) -> Switch:
    after = turned(switches.get(name), on=False, now=now, by="key:1", why="a reason “quoted”")
    assert switches.change(switches.get(name), after)
    return after


def test_a_switch_that_was_never_turned_is_on(switches: Switches) -> None:
    assert switches.get("settlement") == Switch(name="settlement")
    assert switches.states(["settlement"]) == {"settlement": Switch(name="settlement")}
    assert switches.all() == []


def test_a_switch_is_read_as_it_was_turned(switches: Switches, now: datetime) -> None:
    stopped = off(switches, "settlement", now)
    assert switches.get("settlement") == stopped
    going = turned(stopped, on=True, now=now + MINUTE, by="key:2", why="b")
    assert switches.change(stopped, going)
    assert switches.get("settlement") == going
    state = switches.states(["settlement"])["settlement"]
    assert (state.on, state.off_at, state.on_at, state.version) == (True, now, now + MINUTE, 2)
    assert state.released_at(now) == going.released_at(now)


def test_of_two_turns_at_once_one_is_refused(switches: Switches, now: datetime) -> None:
    before = switches.get("settlement")
    off(switches, "settlement", now)
    late = turned(before, on=False, now=now + MINUTE, by="key:2", why="late")
    assert not switches.change(before, late)
    assert switches.get("settlement").history[-1].by == "key:1"


def test_many_switches_are_read_together(switches: Switches, now: datetime) -> None:
    names = [of_tenant(f"t-{number}") for number in range(120)]
    off(switches, names[7], now)
    found = switches.states([*names, *names])
    assert set(found) == set(names)
    assert [name for name, switch in found.items() if not switch.on] == [names[7]]
    assert [switch.name for switch in switches.all()] == [names[7]]


def test_a_turn_whose_answer_was_lost_counts_as_made(
    on_aws: OnAws, boundary: Boundary, now: datetime
) -> None:
    switches = DynamoSwitches(table=on_aws.names["switches"], client=on_aws.dynamodb)
    name = of_tenant(f"lost-{now:%H%M%S}")
    boundary.fail("PutItem", lost)
    off(switches, name, now)
    assert not switches.get(name).on
