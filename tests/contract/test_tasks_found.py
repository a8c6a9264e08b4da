"""Due items of a slot, and items of a tenant."""

from datetime import timedelta

import pytest

from postdate.domain import transitions
from postdate.domain.item import Phase
from postdate.domain.slots import Slot
from postdate.domain.task import Payload
from postdate.stores.tasks import Listing, Tasks, TasksWanted, Written
from postdate.stores.timetable import Timetable, TimetableEntry
from tests.contract.examples import Examples, cancel, claim, die, reschedule, retry, succeed
from tests.contract.recurring import a_definition, runs_of
from tests.listing import ids_listed, walked


def test_a_slot_shows_all_that_lives_in_it_and_nothing_else(
    tasks: Tasks, timetable: Timetable, examples: Examples
) -> None:
    here = examples.tasks(3, shard=1)
    tasks.add([*here, examples.task(shard=2)])
    tasks.add(
        [examples.task(shard=1, due_at=examples.now + timedelta(minutes=minutes)) for minutes in (-1, 1)]
    )
    found = {entry.due.id: entry for entry in timetable.due_in(here[0].home)}
    assert found == {task.id: TimetableEntry.of(task) for task in here}
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
    assert found == {task.id: TimetableEntry.of(task) for task in changed}
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


def test_a_tenants_tasks_are_listed_in_the_order_of_their_planned_instants(
    tasks: Tasks, examples: Examples
) -> None:
    tenant = f"tenant-{examples.now:%Y%m%d%H}"
    due = [examples.now + timedelta(milliseconds=place * 7 % 11) for place in range(11)]
    mine = [examples.task(tenant=tenant, due_at=due_at) for due_at in due]
    tasks.add([*mine, *examples.tasks(5, tenant=f"{tenant}-2"), *examples.tasks(5, tenant=tenant[:-1])])
    listed = ids_listed(tasks, tenant, limit=100)
    assert listed == [task.id for task in sorted(mine, key=lambda task: task.planned_at)]
    assert ids_listed(tasks, tenant, newest_first=True) == listed[::-1]


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
    assert ids_listed(tasks, tenant, limit=8) == sorted(task.id for task in early)
    assert walked(tasks, tenant, limit=5) == sorted(task.id for task in [*early, *late])


def test_a_tenant_without_items_sees_an_empty_list(tasks: Tasks, examples: Examples) -> None:
    tasks.add(examples.tasks(3, tenant="acme"))
    assert ids_listed(tasks, "nobody", limit=10) == []
    assert ids_listed(tasks, "acme#0", limit=10) == []


def test_a_task_that_is_given_another_instant_changes_its_place_and_nothing_else_does(
    tasks: Tasks, examples: Examples
) -> None:
    tenant = f"tenant-{examples.now:%Y%m%d%H}"
    first, second, third = sorted(examples.tasks(3, tenant=tenant), key=lambda task: task.id)
    tasks.add([first, second, third])
    tasks.commit([reschedule(first, first.due_at + timedelta(days=9)), cancel(second), claim(third)])
    tasks.commit([succeed(claim(third).after)])
    assert ids_listed(tasks, tenant) == [second.id, third.id, first.id]
    assert ids_listed(tasks, tenant, since=examples.now + timedelta(days=9)) == [first.id]


@pytest.mark.parametrize("newest_first", [False, True])
@pytest.mark.parametrize("listing", [None, Listing.CANCELLED])
def test_a_list_is_cut_by_instants(
    tasks: Tasks, examples: Examples, newest_first: bool, listing: Listing | None
) -> None:
    """The first instant is in it and the last one is not, to the millisecond."""
    tenant = f"tenant-{examples.now:%Y%m%d%H}"
    due = [examples.now + timedelta(milliseconds=place) for place in range(6)]
    made = [examples.task(tenant=tenant, due_at=at, listed_under=place % 2) for place, at in enumerate(due)]
    tasks.add(made)
    tasks.commit([cancel(task) for task in made])
    for first, last in ((0, 6), (1, 4), (2, 2), (4, 1), (5, 9)):
        span = {"since": due[first], "until": examples.now + timedelta(milliseconds=last)}
        wanted = [task.id for task in made[first:last]]
        for limit in (1, 2, 20):
            found = walked(tasks, tenant, limit=limit, newest_first=newest_first, listing=listing, **span)
            assert found == (wanted[::-1] if newest_first else wanted)


def test_each_task_off_the_usual_path_is_in_one_list_by_state(tasks: Tasks, examples: Examples) -> None:
    """A run of a recurring task too, and whatever the task was before."""
    tenant = f"tenant-{examples.now:%Y%m%d%H}"
    waits, runs, done, dead, gone, late, retries, again, later = examples.tasks(9, tenant=tenant)
    definition = a_definition(examples, tenant=tenant)
    skipped, missed = runs_of(definition, 2)
    tasks.add([waits, runs, done, dead, gone, late, retries, again, later, skipped, missed])
    begun = {each.id: claim(each).after for each in (runs, done, dead, late, retries, again)}
    retried = retry(begun[again.id], after=timedelta(seconds=3)).after
    tasks.commit([claim(each) for each in (runs, done, dead, late, retries, again)])
    tasks.commit(
        [
            succeed(begun[done.id]),
            die(begun[dead.id]),
            cancel(gone),
            transitions.expire(begun[late.id], now=examples.now),
            retry(begun[retries.id], after=timedelta(seconds=3)),
            retry(begun[again.id], after=timedelta(seconds=3)),
            transitions.wait(
                later, now=examples.now, until=examples.now + timedelta(seconds=9), why="no place"
            ),
            transitions.skip(skipped, now=examples.now, why="another run was on"),
            transitions.miss(missed, now=examples.now, why="too late"),
        ]
    )
    tasks.commit([claim(retried)])

    def listed() -> dict[str, list[str]]:
        return {each.value: ids_listed(tasks, tenant, listing=each) for each in Listing}

    assert listed() == {
        "LINGERING": sorted([retries.id, again.id, later.id]),
        "DEAD": [dead.id],
        "CANCELLED": [gone.id],
        "EXPIRED": [late.id],
        "SKIPPED": [skipped.id],
        "MISSED": [missed.id],
    }
    tasks.commit([succeed(claim(retried).after)])
    assert listed()["LINGERING"] == sorted([retries.id, later.id])
    both = [TasksWanted(tenant=tenant), TasksWanted(tenant=tenant, listing=Listing.DEAD)]
    assert len(tasks.listed(both, after="", limit=20)) == 9
