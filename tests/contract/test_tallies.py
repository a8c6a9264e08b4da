"""Tallies over both stores: written by group, read by minute, of all tenants or of one."""

from datetime import datetime

import pytest

from postdate.domain import instants
from postdate.domain.errors import Unavailable
from postdate.domain.tally import MinuteTally
from postdate.stores import tallies as module
from postdate.stores.tallies import DynamoTallies, MemoryTallies, Tallies
from tests.boundary import Boundary
from tests.contract.conftest import OnAws

ONE = MinuteTally(due=1, done=1, amount=5, lateness={3: 1})


@pytest.fixture
def dynamo(on_aws: OnAws) -> DynamoTallies:
    return DynamoTallies(table=on_aws.names["slots"], client=on_aws.dynamodb)


@pytest.fixture(params=["memory", "aws"])
def tallies(request: pytest.FixtureRequest) -> Tallies:
    return MemoryTallies() if request.param == "memory" else request.getfixturevalue("dynamo")


@pytest.fixture
def minute(now: datetime) -> int:
    return instants.minute_of(now)


def test_groups_of_a_minute_add_up_for_all_tenants_and_for_each(tallies: Tallies, minute: int) -> None:
    tallies.record(minute, 0, {"acme": {"tasks": ONE, "payments": ONE}, "other": {"tasks": ONE}})
    tallies.record(minute, 1, {"acme": {"tasks": ONE}})
    tallies.record(minute + 1, 0, {"acme": {"tasks": ONE}})
    assert tallies.between(minute, minute) == {minute: {"tasks": ONE + ONE + ONE, "payments": ONE}}
    assert tallies.between(minute, minute, tenant="acme") == {minute: {"tasks": ONE + ONE, "payments": ONE}}
    assert tallies.between(minute, minute + 1, tenant="other") == {minute: {"tasks": ONE}}
    assert tallies.between(minute, minute + 1, tenant="nobody") == {}


def test_a_tally_that_is_made_again_replaces_the_one_before(tallies: Tallies, minute: int) -> None:
    for _ in range(2):
        tallies.record(minute + 10, 0, {"acme": {"tasks": ONE}})
    assert tallies.between(minute + 10, minute + 10) == {minute + 10: {"tasks": ONE}}


def test_a_minute_without_items_costs_no_write(
    dynamo: DynamoTallies, minute: int, boundary: Boundary
) -> None:
    dynamo.record(minute, 0, {})
    assert not boundary.calls


def test_a_write_names_25_rows_at_most(dynamo: DynamoTallies, minute: int, boundary: Boundary) -> None:
    dynamo.record(minute + 20, 0, {f"tenant-{number}": {"tasks": ONE} for number in range(30)})
    written = [
        len(rows) for asked in boundary.asked("BatchWriteItem") for rows in asked["RequestItems"].values()
    ]
    assert written == [25, 6]
    assert dynamo.between(minute + 20, minute + 20)[minute + 20]["tasks"].due == 30
    assert len(boundary.asked("Query")) == 1


class Leaving:
    """A client whose engine leaves these counts of rows unwritten, one after the other."""

    def __init__(self, *left: int) -> None:
        self.left = list(left)
        self.asked: list[int] = []

    def batch_write_item(self, RequestItems):  # noqa: N803
        ((table, requests),) = RequestItems.items()
        self.asked.append(len(requests))
        left = self.left.pop(0) if self.left else 0
        return {"UnprocessedItems": {table: requests[:left]} if left else {}}


def test_rows_that_are_left_unwritten_are_written_again_for_a_while(minute, monkeypatch):
    monkeypatch.setattr(module.time, "sleep", lambda seconds: None)
    client = Leaving(2, 1)
    DynamoTallies(table="slots", client=client).record(minute, 0, {"a": {"tasks": ONE}, "b": {"tasks": ONE}})
    assert client.asked == [3, 2, 1]
    with pytest.raises(Unavailable):
        DynamoTallies(table="slots", client=Leaving(*[1] * 9)).record(minute, 0, {"a": {"tasks": ONE}})
