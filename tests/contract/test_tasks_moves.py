"""A task that moves to another minute leaves its home row where it is and a pointer where it went."""

from dataclasses import replace
from datetime import datetime, timedelta

from postdate.domain.due import Due
from postdate.domain.slots import Slot, unique_part
from postdate.domain.task import State, Task
from postdate.domain.transitions import Transition
from postdate.stores.tasks import Tasks, Written
from postdate.stores.timetable import Timetable, TimetableEntry
from tests.contract.conftest import OnAws
from tests.contract.examples import PLAN, Examples, cancel, claim, die, reschedule, retry
from tests.listing import ids_listed

FAR = timedelta(minutes=20)


def slot_of(task: Task) -> Slot:
    return PLAN.slot(task.due_at, unique_part(task.id))


def pointers(timetable: Timetable, task: Task) -> list[TimetableEntry]:
    return [entry for entry in timetable.due_in(slot_of(task)) if entry.phase is None]


def test_a_move_is_seen_at_home_and_in_the_new_slot(
    tasks: Tasks, timetable: Timetable, examples: Examples
) -> None:
    task = examples.task()
    tasks.add([task])
    moved = reschedule(task, task.due_at + FAR).after
    assert tasks.commit([reschedule(task, task.due_at + FAR)]) == [Written.DONE]
    assert tasks.get(task.id) == moved
    assert list(timetable.due_in(task.home)) == [TimetableEntry.of(moved)]
    assert list(timetable.due_in(slot_of(moved))) == [
        TimetableEntry(
            due=Due.of(moved), tenant="acme", moved_at=moved.moved_at, phase=None, lease_until=None
        )
    ]


def test_a_retry_far_away_leaves_a_pointer(tasks: Tasks, timetable: Timetable, examples: Examples) -> None:
    task = examples.task()
    tasks.add([task])
    tasks.commit([claim(task)])
    waits = retry(claim(task).after, after=FAR)
    assert tasks.commit([waits]) == [Written.DONE]
    assert tasks.get(task.id) == waits.after
    assert [entry.due for entry in pointers(timetable, waits.after)] == [Due.of(waits.after)]


def test_a_move_within_its_home_minute_needs_no_pointer(
    tasks: Tasks, timetable: Timetable, examples: Examples
) -> None:
    task = examples.task()
    tasks.add([task])
    away = reschedule(task, task.due_at + FAR).after
    back = reschedule(away, task.due_at + timedelta(seconds=30)).after
    within = reschedule(back, task.due_at + timedelta(seconds=31)).after
    for before, after in ((task, away), (away, back), (back, within)):
        tasks.commit([reschedule(before, after.due_at)])
    assert list(timetable.due_in(task.home)) == [TimetableEntry.of(within)]
    assert [entry.due.version for entry in pointers(timetable, away)] == [away.version]


def test_two_moves_into_one_slot_leave_two_pointers_and_only_one_fits_the_task(
    tasks: Tasks, timetable: Timetable, examples: Examples
) -> None:
    task = examples.task()
    tasks.add([task])
    first = reschedule(task, task.due_at + FAR).after
    second = reschedule(first, first.due_at + timedelta(seconds=2)).after
    tasks.commit([reschedule(task, first.due_at)])
    tasks.commit([reschedule(first, second.due_at)])
    assert slot_of(first) == slot_of(second)
    assert {entry.due for entry in pointers(timetable, second)} == {Due.of(first), Due.of(second)}


def test_a_refused_move_writes_neither_the_home_row_nor_the_pointer(
    tasks: Tasks, timetable: Timetable, examples: Examples
) -> None:
    task = examples.task()
    tasks.add([task])
    tasks.commit([cancel(task)])
    moved = reschedule(task, task.due_at + FAR)
    assert tasks.commit([moved]) == [Written.CONFLICT]
    assert tasks.get(task.id) == cancel(task).after
    assert list(timetable.due_in(slot_of(moved.after))) == []


def test_a_move_of_a_task_that_is_not_stored_is_refused(
    tasks: Tasks, timetable: Timetable, examples: Examples
) -> None:
    moved = reschedule(examples.task(), examples.now + FAR)
    assert tasks.commit([moved]) == [Written.CONFLICT]
    assert list(timetable.due_in(slot_of(moved.after))) == []


def test_a_move_that_is_stored_already_counts_as_done(
    tasks: Tasks, timetable: Timetable, examples: Examples
) -> None:
    task = examples.task()
    tasks.add([task])
    moved = reschedule(task, task.due_at + FAR)
    assert tasks.commit([moved]) == [Written.DONE]
    assert tasks.commit([moved]) == [Written.DONE]
    assert len(pointers(timetable, moved.after)) == 1


def test_another_ones_move_to_the_same_instant_is_no_own_change(tasks: Tasks, examples: Examples) -> None:
    task = examples.task()
    tasks.add([task])
    tasks.commit([claim(task)])
    mine = retry(claim(task).after, after=FAR)
    taken = claim(claim(task).after, holder="worker-2").after
    tasks.commit([claim(claim(task).after, holder="worker-2")])
    assert tasks.commit([mine]) == [Written.CONFLICT]
    assert tasks.get(task.id) == taken


def test_a_pointer_is_no_task_to_those_who_list_or_read(tasks: Tasks, examples: Examples) -> None:
    task = examples.task(tenant=f"tenant-{examples.now:%Y%m%d%H}")
    tasks.add([task])
    tasks.commit([reschedule(task, task.due_at + FAR)])
    assert ids_listed(tasks, task.tenant, limit=10) == [task.id]


def test_a_pointer_expires_after_the_instant_it_points_from(on_aws: OnAws, examples: Examples) -> None:
    task = examples.task()
    moved = reschedule(task, task.due_at + FAR)
    on_aws.tasks.add([task])
    on_aws.tasks.commit([moved])
    (row,) = on_aws.dynamodb.query(
        TableName=on_aws.names["items"],
        KeyConditionExpression="slot = :slot",
        ExpressionAttributeValues={":slot": {"S": slot_of(moved.after).key}},
    )["Items"]
    expires_in = int(row["expires_at"]["N"]) - moved.after.due_at.timestamp()
    assert timedelta(days=1).total_seconds() < expires_in <= timedelta(days=60).total_seconds()


def test_a_new_task_that_is_not_due_at_home_is_found_where_it_is_due(
    tasks: Tasks, timetable: Timetable, examples: Examples
) -> None:
    home, away = examples.task(), examples.task()
    away = replace(away, due_at=away.due_at + FAR, planned_at=away.planned_at + FAR)
    assert tasks.add([away, home]) == [Written.DONE] * 2
    assert (tasks.get(away.id), tasks.get(home.id)) == (away, home)
    assert [entry.due for entry in pointers(timetable, away)] == [Due.of(away)]
    assert TimetableEntry.of(home) in list(timetable.due_in(home.home))


def test_of_two_that_write_one_new_task_for_two_instants_the_first_is_stored_and_the_other_leaves_nothing(
    tasks: Tasks, timetable: Timetable, examples: Examples
) -> None:
    home = examples.task()
    away = replace(home, due_at=home.due_at + FAR, planned_at=home.planned_at + FAR)
    assert tasks.add([home]) == [Written.DONE]
    assert tasks.add([away]) == [Written.CONFLICT]
    assert tasks.get(home.id) == home
    assert pointers(timetable, away) == []


def redriven(dead: Task, *, after: timedelta) -> Transition:
    return claim(dead, at=dead.due_at + after)


def audited_at(task: Task, instant: datetime) -> Slot:
    return PLAN.slot(instant, unique_part(task.id))


def test_a_redriven_task_leaves_a_pointer_in_the_minute_of_its_redrive(
    tasks: Tasks, timetable: Timetable, examples: Examples
) -> None:
    task = examples.task()
    died = die(claim(task).after)
    tasks.add([task])
    tasks.commit([claim(task)])
    tasks.commit([died])
    change = redriven(died.after, after=FAR)
    assert tasks.commit([change, change]) == [Written.DONE, Written.DONE]
    assert tasks.get(task.id) == change.after
    (pointer,) = set(timetable.due_in(audited_at(task, task.due_at + FAR)))
    assert (pointer.due, pointer.phase) == (Due.of(change.after), None)


def test_a_redrive_that_is_refused_leaves_the_task_as_it_is(
    tasks: Tasks, timetable: Timetable, examples: Examples
) -> None:
    task = examples.task()
    died = die(claim(task).after)
    for change in (claim(task), died):
        tasks.add([task])
        tasks.commit([change])
    mine, others = redriven(died.after, after=FAR), redriven(died.after, after=2 * FAR)
    assert tasks.commit([others]) == [Written.DONE]
    assert tasks.commit([mine]) == [Written.CONFLICT]
    assert tasks.get(task.id) == others.after


def test_a_row_that_is_written_after_its_minute_has_a_pointer_in_the_minute_of_its_writing(
    tasks: Tasks, timetable: Timetable, examples: Examples
) -> None:
    task = examples.task()
    late = replace(task, moved_at=task.due_at + FAR)
    assert tasks.add([late]) == [Written.DONE]
    assert tasks.add([late]) == [Written.CONFLICT]
    slot = audited_at(task, late.moved_at)
    assert {(each.due, each.phase) for each in timetable.due_in(slot)} == {(Due.of(late), None)}
    assert list(timetable.due_in(task.home)) == [TimetableEntry.of(late)]


def test_a_row_that_is_written_after_its_minute_and_has_ended_needs_no_pointer(
    tasks: Tasks, timetable: Timetable, examples: Examples
) -> None:
    task = examples.task()
    late = replace(task, state=State.MISSED, moved_at=task.due_at + FAR, finished_at=task.due_at + FAR)
    assert tasks.add([late]) == [Written.DONE]
    assert list(timetable.due_in(audited_at(task, late.moved_at))) == []
