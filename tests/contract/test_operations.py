"""Operations and their items are read as they were written, and never written over another version."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime, timedelta

import pytest

from postdate.domain.operation import Action, Kind, Operation, OperationRequest, State, StopRule
from postdate.domain.operation_moves import started, stopped
from postdate.domain.operation_pages import Entry, Outcome, pages_of
from postdate.domain.operation_seats import Seats
from postdate.domain.slots import item_id
from postdate.domain.task import KIND, OPERATION_KIND
from postdate.stores.operations import MemoryOperations, Operations
from postdate.stores.operations_dynamo import DynamoOperations
from tests.contract.conftest import OnAws
from tests.contract.examples import PLAN


@pytest.fixture(params=["memory", "aws"])
def operations(request: pytest.FixtureRequest) -> Iterator[Operations]:
    if request.param == "memory":
        yield MemoryOperations()
        return
    found: OnAws = request.getfixturevalue("on_aws")
    yield DynamoOperations(table=found.names["operations"], client=found.dynamodb)


def operation(now: datetime, *, number: int = 1, eligible: int = 60, tenant: str = "acme") -> Operation:
    unique = number.to_bytes(10)
    return Operation(
        id=item_id(OPERATION_KIND, PLAN.slot(now, unique), unique),
        tenant=f"{tenant} {now}",
        request=OperationRequest(
            action=Action.REDRIVE,
            kind=Kind.TASKS,
            actor="0123abcd",
            reason="the receiver is back",
            max_per_second=7,
            canary=3,
            stop_when=StopRule(failed_share=0.3, within=timedelta(seconds=90)),
        ),
        state=State.PLANNED,
        version=1,
        created_at=now,
        changed_at=now,
        eligible=eligible,
        not_eligible={"does not exist": 2},
        by_failure={"http 503": eligible},
        by_destination={"https://a.example.com": eligible},
        counts={Outcome.WAITING: eligible},
    )


def entries(now: datetime, count: int) -> list[Entry]:
    ids = [item_id(KIND, PLAN.slot(now, n.to_bytes(10)), n.to_bytes(10)) for n in range(count)]
    return [Entry(id=id, version=number + 3) for number, id in enumerate(ids)]


def added(operations: Operations, now: datetime, **fields: int) -> Operation:
    made = operation(now, **fields)
    operations.add(made, pages_of(made.id, entries(now, made.eligible)))
    return made


def test_an_operation_and_its_items_are_read_back(operations: Operations, now: datetime) -> None:
    made = added(operations, now)
    assert operations.get(made.id) == made
    pages = operations.pages(made, first=0, limit=10)
    assert [entry for page in pages for entry in page.entries] == entries(now, 60)
    assert [page.number for page in operations.pages(made, first=1, limit=1)] == [1]
    assert operations.pages(made, first=3, limit=5) == []


def test_one_that_began_and_stopped_is_read_back(operations: Operations, now: datetime) -> None:
    made = added(operations, now)
    running = replace(started(made, run=1, now=now), next_at=now, next_page=2, canary_passed=True)
    assert operations.change(running)
    assert operations.get(made.id) == running
    over = replace(stopped(running, now=now, why="a key"), finished_at=now, counts={Outcome.SENT: 60})
    assert operations.change(over)
    assert operations.get(made.id) == over


def test_a_change_of_an_old_version_is_refused_and_one_that_is_stored_counts(
    operations: Operations, now: datetime
) -> None:
    made = added(operations, now)
    first, other = stopped(made, now=now, why="one"), stopped(made, now=now, why="another")
    assert operations.change(first)
    assert operations.change(first)
    assert not operations.change(other)
    assert operations.get(made.id) == first


def test_a_page_is_changed_in_the_same_way(operations: Operations, now: datetime) -> None:
    made = added(operations, now)
    (page,) = operations.pages(made, first=1, limit=1)
    sent = page.changed([replace(page.entries[4], outcome=Outcome.SENT, at=now)])
    other = page.changed([replace(page.entries[5], outcome=Outcome.SENT, at=now)])
    assert operations.change_page(sent)
    assert operations.change_page(sent)
    assert not operations.change_page(other)
    assert operations.pages(made, first=1, limit=1) == [sent]


def test_a_second_plan_under_the_same_id_changes_nothing(operations: Operations, now: datetime) -> None:
    made = added(operations, now)
    running = started(made, run=1, now=now)
    assert operations.change(running)
    operations.add(made, pages_of(made.id, entries(now, made.eligible)))
    assert operations.get(made.id) == running


def test_a_tenants_operations_are_listed_from_the_newest(operations: Operations, now: datetime) -> None:
    made = [
        added(operations, now, number=1),
        added(operations, now, number=2),
    ]
    later = operation(now + timedelta(minutes=3), number=3)
    operations.add(replace(later, tenant=made[0].tenant), [])
    ids = sorted([later.id, *(each.id for each in made)], reverse=True)
    assert operations.listed(made[0].tenant, before="", limit=10) == ids
    assert operations.listed(made[0].tenant, before="", limit=2) == ids[:2]
    assert operations.listed(made[0].tenant, before=ids[0], limit=10) == ids[1:]
    assert operations.listed("another", before="", limit=10) == []


def test_operations_under_way_are_listed_whoever_owns_them(operations: Operations, now: datetime) -> None:
    planned = added(operations, now, number=1)
    others = [added(operations, now, number=2), added(operations, now + timedelta(minutes=1), number=3)]
    running = [started(each, run=1, now=now) for each in others]
    assert all(operations.change(each) for each in running)
    own = {planned.id, *(each.id for each in running)}
    assert [id for id in operations.active() if id in own] == sorted(each.id for each in running)
    assert operations.change(stopped(running[0], now=now, why="a key"))
    assert own & set(operations.active()) == {running[1].id}


def test_one_that_is_unknown_is_none(operations: Operations, now: datetime) -> None:
    assert operations.get(operation(now, number=9).id) is None


def test_seats_are_of_one_tenant_and_not_written_over_another_version(
    operations: Operations, now: datetime
) -> None:
    made, other = operation(now), operation(now, number=2)
    none = operations.seats(made.tenant)
    assert none == Seats(tenant=made.tenant)
    first = none.changed((), made, now)
    assert operations.change_seats(first)
    assert operations.change_seats(first)
    assert not operations.change_seats(none.changed((), other, now))
    assert operations.seats(made.tenant) == first
    second = first.changed(first.taken, other, now)
    assert operations.change_seats(second)
    assert [seat.operation for seat in operations.seats(made.tenant).taken] == [made.id, other.id]
    assert operations.seats("another").taken == ()
