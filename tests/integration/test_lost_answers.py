"""A committed change counts, even if its answer is lost.

botocore repeats by itself a call whose answer was lost or broken, so a conditional write may meet its own result.
"""

from dataclasses import replace
from datetime import timedelta

import pytest

from postdate.domain.sweeping import Watermark
from postdate.domain.task import Task
from postdate.stores.idempotency import Reservation
from postdate.stores.tasks import Written
from tests.boundary import Boundary, Fault, done_but_500, lost
from tests.contract.examples import Examples, claim, reschedule, retry, succeed
from tests.integration.stores import FAR, NOW, TRANSACTIONS, TRIES, Stores, cancelled, pointers, row
from tests.integration.world import World

pytestmark = pytest.mark.usefixtures("refusal")
committed = pytest.mark.parametrize("fault", [lost, done_but_500], ids=["lost", "broken"])


@committed
def test_a_new_task_is_stored_once(stores: Stores, boundary: Boundary, fault: Fault) -> None:
    task = Examples(now=NOW).task()
    boundary.fail("BatchExecuteStatement", fault)
    assert stores.tasks.add([task]) == [Written.CONFLICT]
    assert stores.tasks.get(task.id) == task


@committed
def test_ones_own_change_is_recognised_and_anothers_is_not(
    stores: Stores, boundary: Boundary, task: Task, fault: Fault
) -> None:
    taken = Examples(now=NOW).task()
    stores.tasks.add([taken])
    stores.tasks.commit([claim(taken, holder="worker-2")])
    boundary.fail("BatchExecuteStatement", fault)
    assert stores.tasks.commit([claim(task), claim(taken)]) == [Written.DONE, Written.CONFLICT]
    assert stores.tasks.get(task.id) == claim(task).after


@committed
def test_a_move_leaves_one_pointer(stores: Stores, boundary: Boundary, task: Task, fault: Fault) -> None:
    moved = reschedule(task, task.due_at + FAR)
    boundary.fail(TRANSACTIONS, fault)
    assert stores.tasks.commit([moved]) == [Written.DONE]
    assert stores.tasks.get(task.id) == moved.after
    assert pointers(stores, moved.after) == 1


@committed
def test_a_lease_that_was_made_longer_is_ones_own(
    stores: Stores, boundary: Boundary, task: Task, fault: Fault
) -> None:
    stores.tasks.commit([claim(task)])
    boundary.fail("BatchExecuteStatement", fault)
    assert stores.tasks.extend([claim(task).after], NOW + timedelta(minutes=2)) == [Written.DONE]


@committed
def test_a_key_that_was_taken_or_given_another_instant_is_ones_own(
    stores: Stores, boundary: Boundary, reservation: Reservation, fault: Fault
) -> None:
    boundary.fail("PutItem", fault)
    assert stores.reservations.reserve(reservation, now=NOW) == reservation
    boundary.fail("PutItem", fault)
    later = timedelta(minutes=5, milliseconds=1)
    newer = reservation.anew(replace(reservation, due_at=NOW + later, created_at=NOW + later))
    assert stores.reservations.redate(reservation, newer)
    assert not stores.reservations.redate(reservation, replace(newer, due_at=NOW))


@committed
def test_a_task_away_from_home_and_its_pointer_are_written_once(
    stores: Stores, boundary: Boundary, fault: Fault
) -> None:
    task = replace(Examples(now=NOW).task(), due_at=NOW + FAR + timedelta(hours=1))
    boundary.fail(TRANSACTIONS, fault)
    assert stores.tasks.add([task])[0] in (Written.DONE, Written.CONFLICT)
    assert stores.tasks.get(task.id) == task
    assert pointers(stores, task) == 1


@committed
def test_a_heartbeat_that_was_counted_on_goes_on(stores: Stores, boundary: Boundary, fault: Fault) -> None:
    boundary.fail("UpdateItem", fault)
    assert stores.passes.next_beat(0, NOW)
    assert stores.passes.beat() == (1, NOW)
    assert not stores.passes.next_beat(0, NOW + timedelta(seconds=1))


@committed
def test_a_payload_and_a_watermark_are_written(stores: Stores, boundary: Boundary, fault: Fault) -> None:
    boundary.fail("PutItem", fault, fault)
    stores.payloads.put("lost", '"text"', keep_until=NOW)
    stores.passes.raise_watermark(Watermark(minute=29_000_000))
    assert stores.payloads.get("lost") == '"text"'
    assert stores.passes.watermark() == Watermark(minute=29_000_000)


@pytest.mark.parametrize(
    ("change", "left"),
    [("claim", 0), ("edit", 0), ("move", 1), ("far retry", 1)],
    ids=lambda value: str(value),
)
@committed
def test_a_change_whose_answer_stays_lost_is_unavailable_and_done_when_tried_again(
    stores: Stores, boundary: Boundary, task: Task, change: str, left: int, fault: Fault
) -> None:
    if change == "far retry":
        stores.tasks.commit([claim(task)])
    transition = {
        "claim": lambda: claim(task),
        "edit": lambda: reschedule(task, task.due_at + timedelta(seconds=1)),
        "move": lambda: reschedule(task, task.due_at + FAR),
        "far retry": lambda: retry(claim(task).after, after=FAR),
    }[change]()
    boundary.fail(["BatchExecuteStatement", *TRANSACTIONS], *[fault] * TRIES)
    assert stores.tasks.commit([transition]) == [Written.UNAVAILABLE]
    assert boundary.faults_left == 0
    assert stores.tasks.commit([transition]) == [Written.DONE]
    assert stores.tasks.get(task.id) == transition.after
    assert pointers(stores, transition.after) == left


def test_a_move_refused_because_of_its_own_result_is_done_and_of_anothers_is_not(
    stores: Stores, boundary: Boundary, world: World, task: Task
) -> None:
    """Both as AWS words it: the row that stood in the way comes with the reason."""
    moved = reschedule(task, task.due_at + FAR)
    stores.tasks.commit([moved])
    mine = row(world, task)
    theirs = mine | {"due": {"N": "1"}}
    newer = mine | {"weather": {"S": "only newer code knows of it"}}
    for stood_in_the_way, written in (
        (mine, Written.DONE),
        (newer, Written.DONE),
        (theirs, Written.CONFLICT),
    ):
        reason = {"Code": "ConditionalCheckFailed", "Message": "no", "Item": stood_in_the_way}
        boundary.fail(TRANSACTIONS, cancelled(reason, {"Code": "None"}))
        assert stores.tasks.commit([moved]) == [written]


def test_an_outcome_is_stored_although_every_other_answer_is_lost(
    stores: Stores, boundary: Boundary, task: Task
) -> None:
    boundary.fail("BatchExecuteStatement", lost, done_but_500, lost, done_but_500)
    running = claim(task)
    assert stores.tasks.commit([running]) == [Written.DONE]
    assert stores.tasks.commit([succeed(running.after)]) == [Written.DONE]
    assert stores.tasks.get(task.id) == succeed(running.after).after


def test_a_refusal_whose_row_can_neither_be_had_nor_read_is_unavailable_alone(
    stores: Stores, boundary: Boundary, task: Task
) -> None:
    boundary.rowless = True
    other = Examples(now=NOW).task()
    stores.tasks.add([other])
    stores.tasks.commit([claim(task)])
    boundary.fail("BatchGetItem", *[done_but_500] * TRIES)
    assert stores.tasks.commit([claim(task), claim(other)]) == [Written.UNAVAILABLE, Written.DONE]
    assert stores.tasks.commit([claim(task), claim(other)]) == [Written.DONE, Written.DONE]


def test_a_refusal_that_comes_with_its_row_is_judged_without_a_read(
    stores: Stores, boundary: Boundary, task: Task
) -> None:
    boundary.rowless = False
    boundary.fail("BatchExecuteStatement", lost)
    boundary.calls.clear()
    assert stores.tasks.commit([claim(task)]) == [Written.DONE]
    assert boundary.asked("BatchGetItem") == []


@pytest.mark.parametrize(
    ("reason", "written"),
    [
        ({"Code": "DuplicateItem", "Message": "exists"}, Written.CONFLICT),
        ({"Code": "ValidationError", "Message": "Duplicate primary key exists in table"}, Written.CONFLICT),
        ({"Code": "ValidationError", "Message": "Number overflow"}, Written.REFUSED),
    ],
    ids=["duplicate item", "duplicate key", "invalid"],
)
def test_a_row_that_exists_is_known_in_both_of_awss_words_and_no_other(
    stores: Stores, boundary: Boundary, reason: dict[str, str], written: Written
) -> None:
    away = replace(Examples(now=NOW).task(), due_at=NOW + FAR)
    boundary.fail("ExecuteTransaction", cancelled({"Code": "None"}, reason))
    assert stores.tasks.add([away]) == [written]
