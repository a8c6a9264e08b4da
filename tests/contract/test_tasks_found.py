"""What is due in a slot, and what a tenant has."""

from datetime import timedelta

import pytest

from postdate.domain.item import Phase
from postdate.domain.slots import Slot
from postdate.domain.task import Payload
from postdate.stores.tasks import Tasks, Written
from postdate.stores.timetable import Entry, Timetable
from tests.contract.examples import Examples, cancel, claim, reschedule, succeed


def walked(tasks: Tasks, tenant: str, *, limit: int) -> list[str]:
    """Page after page, each going on where the last one ended; one that never ends is cut off."""
    found: list[str] = []
    for _ in range(30):
        page = tasks.listed(tenant, after=found[-1] if found else "", limit=limit)
        assert len(page) <= limit
        found += page
    return found


def test_a_slot_shows_all_that_lives_in_it_and_nothing_else(
    tasks: Tasks, timetable: Timetable, examples: Examples
) -> None:
    here = examples.tasks(3, shard=1)
    tasks.add([*here, examples.task(shard=2)])
    tasks.add(
        [examples.task(shard=1, due_at=examples.now + timedelta(minutes=minutes)) for minutes in (-1, 1)]
    )
    found = {entry.due.id: entry for entry in timetable.due_in(here[0].home)}
    assert found == {task.id: Entry.of(task) for task in here}
    assert list(timetable.due_in(Slot(minute=here[0].home.minute, shard=3))) == []


def test_a_slot_shows_how_each_of_its_tasks_fares(
    tasks: Tasks, timetable: Timetable, examples: Examples
) -> None:
    waiting, running, done, gone, moved = examples.tasks(5, shard=0)
    tasks.add([waiting, running, done, gone, moved])
    claimed = claim(running).after
    finished = succeed(claim(done).after).after
    away = reschedule(moved, moved.due_at + timedelta(hours=1)).after
    tasks.commit([claim(running), claim(done), cancel(gone), reschedule(moved, away.due_at)])
    tasks.commit([succeed(claim(done).after)])
    found = {entry.due.id: entry for entry in timetable.due_in(waiting.home)}
    changed = (waiting, claimed, finished, cancel(gone).after, away)
    assert found == {task.id: Entry.of(task) for task in changed}
    assert found[running.id].lease_until == claimed.lease_until
    assert found[done.id].phase is Phase.RESTS


def test_a_slot_of_more_than_one_page_is_read_to_its_end(
    tasks: Tasks, timetable: Timetable, examples: Examples
) -> None:
    """DynamoDB ends a page at 1 MB."""
    large = examples.tasks(9, shard=0, payload=Payload(text="x" * 150_000))
    assert tasks.add(large) == [Written.DONE] * 9
    found = list(timetable.due_in(large[0].home))
    assert sorted(entry.due.id for entry in found) == sorted(task.id for task in large)


def test_a_tenants_tasks_are_listed_in_the_order_of_their_home_minutes(
    tasks: Tasks, examples: Examples
) -> None:
    tenant = f"tenant-{examples.now:%Y%m%d%H}"
    due = [examples.now + timedelta(minutes=place * 7 % 11) for place in range(11)]
    mine = [examples.task(tenant=tenant, due_at=due_at) for due_at in due]
    tasks.add([*mine, *examples.tasks(5, tenant=f"{tenant}-2"), *examples.tasks(5, tenant=tenant[:-1])])
    listed = tasks.listed(tenant, after="", limit=100)
    assert listed == [task.id for task in sorted(mine, key=lambda task: task.home.minute)]


@pytest.mark.parametrize("limit", [1, 3, 100])
def test_pages_follow_each_other_without_gap_or_repeat(tasks: Tasks, examples: Examples, limit: int) -> None:
    tenant = f"tenant-{examples.now:%Y%m%d%H}"
    mine = examples.tasks(10, tenant=tenant)
    tasks.add(mine)
    assert walked(tasks, tenant, limit=limit) == sorted(task.id for task in mine)


def test_a_page_may_be_full_of_the_tasks_of_one_key_of_the_listing(tasks: Tasks, examples: Examples) -> None:
    tenant = f"tenant-{examples.now:%Y%m%d%H}"
    early = examples.tasks(8, tenant=tenant, listed_under=1, due_at=examples.now - timedelta(minutes=1))
    late = examples.tasks(8, tenant=tenant, listed_under=0)
    tasks.add([*late, *early])
    assert tasks.listed(tenant, after="", limit=8) == sorted(task.id for task in early)
    assert walked(tasks, tenant, limit=5) == sorted(task.id for task in [*early, *late])


def test_whoever_has_nothing_sees_an_empty_list(tasks: Tasks, examples: Examples) -> None:
    tasks.add(examples.tasks(3, tenant="acme"))
    assert tasks.listed("nobody", after="", limit=10) == []
    assert tasks.listed("acme#0", after="", limit=10) == []


def test_a_task_stays_listed_where_it_was_registered_whatever_becomes_of_it(
    tasks: Tasks, examples: Examples
) -> None:
    tenant = f"tenant-{examples.now:%Y%m%d%H}"
    first, second, third = sorted(examples.tasks(3, tenant=tenant), key=lambda task: task.id)
    tasks.add([first, second, third])
    tasks.commit([reschedule(first, first.due_at + timedelta(days=9)), cancel(second), claim(third)])
    tasks.commit([succeed(claim(third).after)])
    assert tasks.listed(tenant, after="", limit=10) == [first.id, second.id, third.id]
