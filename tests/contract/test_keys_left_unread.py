"""BatchGetItem may leave keys unread: they are asked for again, with pauses and until a deadline."""

from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import TypeAlias

import pytest
from botocore.awsrequest import AWSPreparedRequest, AWSResponse

from postdate.domain.errors import Unavailable
from postdate.stores import batch_get
from tests.boundary import Boundary, Send, unread
from tests.contract.conftest import OnAws
from tests.contract.examples import LEASE, Examples
from tests.contract.money import Money
from tests.contract.recurring import a_definition

Read: TypeAlias = Callable[[], Collection[object]]
_ROWS = 3


@dataclass(slots=True)
class _Clock:
    """Moves only while somebody sleeps."""

    now: float = 1000.0
    pauses: list[float] = field(default_factory=list)

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.pauses.append(seconds)
        self.now += seconds


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> _Clock:
    clock = _Clock()
    monkeypatch.setattr(batch_get, "time", clock)
    return clock


@pytest.fixture(params=["tasks", "definitions", "payloads", "timetable", "accounts", "payments"])
def read(request: pytest.FixtureRequest, on_aws: OnAws, examples: Examples, now: datetime) -> Read:
    """Each place that reads rows by their keys, with three rows of its own."""
    match request.param:
        case "tasks" | "timetable":
            stored = examples.tasks(_ROWS)
            on_aws.tasks.add(stored)
            ids = [task.id for task in stored]
            by_id = on_aws.tasks.get_many if request.param == "tasks" else on_aws.timetable.entries
            return lambda: by_id(ids)
        case "definitions":
            given = [a_definition(examples) for _ in range(_ROWS)]
            for definition in given:
                on_aws.definitions.add(definition)
            return lambda: on_aws.definitions.get_many(definition.id for definition in given)
        case "payloads":
            keys = [f"unread-{now:%Y%m%d%H}-{number}" for number in range(_ROWS)]
            for key in keys:
                on_aws.payloads.put(key, "1", keep_until=now + timedelta(days=1))
            return lambda: on_aws.payloads.get_many(keys)
        case "accounts":
            money = Money(ledger=on_aws.ledger, now=now)
            money.accounts(alice=0, bob=0, carol=0)
            return lambda: on_aws.ledger.accounts(money.tenant, ["alice", "bob", "carol"])
        case _:
            money = Money(ledger=on_aws.ledger, now=now)
            money.accounts(alice=100, bob=0)
            payments = [money.payment("alice", "bob", 10) for _ in range(_ROWS)]
            on_aws.ledger.post(payments)
            return lambda: on_aws.ledger.payments(each.after.id for each in payments if each.after)


def test_keys_left_unread_are_asked_for_again_after_a_pause(
    read: Read, boundary: Boundary, clock: _Clock
) -> None:
    boundary.calls.clear()
    boundary.fail("BatchGetItem", unread(), unread(answered=1), unread(answered=1))
    assert len(read()) == _ROWS
    asked = boundary.asked("BatchGetItem")
    assert [len(keys["Keys"]) for each in asked for keys in each["RequestItems"].values()] == [3, 3, 2, 1]
    assert len(clock.pauses) == 3
    assert all(0 < pause <= 0.5 for pause in clock.pauses)


def test_each_repeat_asks_for_the_same_attributes_as_consistently(
    read: Read, boundary: Boundary, clock: _Clock
) -> None:
    boundary.calls.clear()
    boundary.fail("BatchGetItem", unread(answered=1))
    read()
    first, second = (each["RequestItems"].values() for each in boundary.asked("BatchGetItem"))
    assert [{**wanted, "Keys": []} for wanted in first] == [{**wanted, "Keys": []} for wanted in second]


def test_keys_that_stay_unread_are_unavailable_within_a_deadline(
    read: Read, boundary: Boundary, clock: _Clock
) -> None:
    boundary.calls.clear()
    began = clock.now
    boundary.fail("BatchGetItem", *[unread()] * 1000)
    with pytest.raises(Unavailable):
        read()
    # Half to whole of 0.1 + 0.2 + 0.4 + 0.5 + 0.5 seconds.
    assert 0.85 <= clock.now - began <= 1.7
    assert len(boundary.asked("BatchGetItem")) == 6


def test_keys_that_are_read_too_slowly_are_unavailable_before_a_worker_renews_its_messages(
    on_aws: OnAws, boundary: Boundary, clock: _Clock, examples: Examples
) -> None:
    """A worker renews them after half a lease, and reads three times before its first claim."""
    ids = [task.id for task in examples.tasks(99)]
    began = clock.now

    def slow(request: AWSPreparedRequest, send: Send) -> AWSResponse:
        clock.now += 0.5
        return unread(answered=1)(request, send)

    boundary.fail("BatchGetItem", *[slow] * 1000)
    with pytest.raises(Unavailable):
        on_aws.tasks.get_many(ids)
    assert 4 <= clock.now - began <= LEASE.total_seconds() / 2 / 3


def test_pauses_differ_from_worker_to_worker(read: Read, boundary: Boundary, clock: _Clock) -> None:
    boundary.fail("BatchGetItem", *[unread(answered=1)] * 2)
    read()
    boundary.fail("BatchGetItem", *[unread(answered=1)] * 2)
    read()
    assert len(set(clock.pauses)) == 4
