"""The calendar of all tenants over both stores: numbers are added minute by minute, and read by minutes."""

from datetime import datetime, timedelta

import pytest

from postdate.domain import instants
from postdate.domain.calendar import DueCount
from postdate.runtime.metric import STANDARD, TIERS
from postdate.stores.calendar import Calendar, DynamoCalendar, MemoryCalendar
from tests.boundary import Boundary
from tests.contract.conftest import OnAws

ONE = DueCount(tasks=1, payments=2, amount=300)


@pytest.fixture
def dynamo(on_aws: OnAws) -> DynamoCalendar:
    return DynamoCalendar(table=on_aws.names["slots"], client=on_aws.dynamodb)


@pytest.fixture(params=["memory", "aws"])
def calendar(request: pytest.FixtureRequest) -> Calendar:
    return MemoryCalendar() if request.param == "memory" else request.getfixturevalue("dynamo")


@pytest.fixture
def minute(now: datetime) -> int:
    """The last minute of a day that no other test uses."""
    day = instants.minute_of(now.replace(hour=0, minute=0)) + 24 * 60
    return day + 24 * 60 - 1


def test_numbers_add_up_and_go_down_again(calendar: Calendar, minute: int) -> None:
    calendar.add({STANDARD: {minute: ONE, minute + 1: DueCount(tasks=4)}})
    calendar.add({STANDARD: {minute: ONE, minute + 1: DueCount(tasks=-1)}})
    assert calendar.between(minute, minute + 1) == {
        STANDARD: {minute: DueCount(tasks=2, payments=4, amount=600), minute + 1: DueCount(tasks=3)}
    }
    calendar.add({STANDARD: {minute: -(ONE + ONE), minute + 1: DueCount(tasks=-3)}})
    assert calendar.between(minute, minute + 1) == {}


def test_only_the_minutes_that_are_asked_for_are_told(calendar: Calendar, minute: int) -> None:
    far = minute + 10 * 24 * 60
    calendar.add({STANDARD: {far - 1: ONE, far: ONE, far + 1: ONE, far + 61: ONE}})
    assert calendar.between(far, far + 60) == {STANDARD: {far: ONE, far + 1: ONE}}
    found = calendar.between(far - 1, far + 3 * 24 * 60)
    assert found.keys() == {STANDARD}
    assert found[STANDARD].keys() == {far - 1, far, far + 1, far + 61}


def test_each_tier_has_numbers_of_its_own(calendar: Calendar, minute: int) -> None:
    far = minute + 30 * 24 * 60
    calendar.add({STANDARD: {far: ONE}, "gold": {far: ONE + ONE, far + 1: ONE}})
    calendar.add({"gold": {far + 1: -ONE}})
    assert calendar.between(far, far + 1) == {STANDARD: {far: ONE}, "gold": {far: ONE + ONE}}


@pytest.mark.parametrize(
    ("tiers", "kilobytes"), [((STANDARD,), 2), (TIERS, 4)], ids=["one tier", "all tiers"]
)
def test_an_hour_takes_one_request_a_tier_and_few_units(
    dynamo: DynamoCalendar,
    boundary: Boundary,
    on_aws: OnAws,
    minute: int,
    tiers: tuple[str, ...],
    kilobytes: int,
) -> None:
    hour = (minute - minute % 60) + (20 + kilobytes) * 24 * 60
    boundary.clear()
    full = {hour + each: DueCount(tasks=1, payments=1, amount=1_000_000) for each in range(60)}
    dynamo.add(dict.fromkeys(tiers, full))
    asked, *others = boundary.asked("UpdateItem")
    assert len(others) == len(tiers) - 1
    row = on_aws.dynamodb.get_item(TableName=asked["TableName"], Key=asked["Key"])["Item"]
    size = sum(len(name) + len(str(next(iter(value.values())))) for name, value in row.items())
    assert size < 1024 * kilobytes
    assert int(row["expires_at"]["N"]) == (instants.start_of(hour + 60) + timedelta(days=2)).timestamp()


def test_nothing_to_add_is_no_request(dynamo: DynamoCalendar, boundary: Boundary) -> None:
    boundary.clear()
    dynamo.add({})
    assert boundary.calls == []
