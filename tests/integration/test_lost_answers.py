"""What is committed counts, however its answer fares; what is not committed is said not to be.

botocore repeats by itself a call whose answer was lost or broken, so a conditional write may meet its own result.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from itertools import count
from typing import Any, Final

import pytest
from botocore.exceptions import ConnectionClosedError, EndpointConnectionError, ReadTimeoutError

from postdate.domain.errors import Unavailable
from postdate.domain.slots import unique_part
from postdate.domain.sweeping import Progress, Stage
from postdate.domain.task import Task
from postdate.stores.idempotency import DynamoReservations, Reservation
from postdate.stores.passes import DynamoPasses
from postdate.stores.payloads import DynamoPayloads
from postdate.stores.tasks import Written
from postdate.stores.tasks_dynamo import DynamoTasks
from tests.boundary import (
    Boundary,
    Fault,
    answered,
    done_but_500,
    lost,
    raising,
    refused,
    unreachable,
)
from tests.contract.examples import PLAN, Examples, cancel, claim, reschedule, retry, succeed
from tests.integration.world import World

NOW: Final = datetime(2026, 11, 18, 10, 5, 12, tzinfo=UTC)
FAR: Final = timedelta(hours=3)
TRANSACTIONS: Final = ("ExecuteTransaction", "TransactWriteItems")
EVERYTHING: Final = (
    *("GetItem", "PutItem", "UpdateItem", "Query", "BatchGetItem", "BatchExecuteStatement"),
    *TRANSACTIONS,
)
TRIES: Final = 5
_keys = count()
committed = pytest.mark.parametrize("fault", [lost, done_but_500], ids=["lost", "broken"])


@dataclass(frozen=True, kw_only=True, slots=True)
class Stores:
    tasks: DynamoTasks
    payloads: DynamoPayloads
    reservations: DynamoReservations
    passes: DynamoPasses


@pytest.fixture(scope="module")
def made(common_world: World) -> Stores:
    tables = common_world.tables
    return Stores(
        tasks=DynamoTasks(
            table=tables["items"],
            client=common_world.dynamodb,
            plan=PLAN,
            listing_shards=2,
            retention=timedelta(days=1),
        ),
        payloads=DynamoPayloads(table=tables["payloads"]),
        reservations=DynamoReservations(table=tables["idempotency"]),
        passes=DynamoPasses(table=tables["slots"]),
    )


@pytest.fixture
def stores(made: Stores, world: World) -> Iterator[Stores]:
    yield made
    for row in world.dynamodb.scan(TableName=world.tables["slots"])["Items"]:
        key = {"scope": row["scope"], "name": row["name"]}
        world.dynamodb.delete_item(TableName=world.tables["slots"], Key=key)


@pytest.fixture
def task(stores: Stores) -> Task:
    task = Examples(now=NOW).task()
    stores.tasks.add([task])
    return task


@pytest.fixture
def reservation() -> Reservation:
    return Reservation(
        tenant="acme",
        key=f"key-{next(_keys)}",
        fingerprint="f",
        item_id="task_1",
        due_at=NOW,
        created_at=NOW,
        keep_until=None,
    )


def pointers(stores: Stores, task: Task) -> int:
    entries = stores.tasks.due_in(PLAN.slot(task.due_at, unique_part(task.id)))
    return sum(entry.due.id == task.id and entry.state is None for entry in entries)


def row(world: World, task: Task) -> dict[str, Any]:
    key = {"slot": {"S": task.home.key}, "id": {"S": task.id}}
    found: dict[str, Any] = world.dynamodb.get_item(
        TableName=world.tables["items"], Key=key, ConsistentRead=True
    )["Item"]
    return found


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
def test_a_key_that_was_taken_or_replaced_is_ones_own(
    stores: Stores, boundary: Boundary, reservation: Reservation, fault: Fault
) -> None:
    boundary.fail("PutItem", fault)
    assert stores.reservations.reserve(reservation, now=NOW) == reservation
    boundary.fail("PutItem", fault)
    newer = replace(reservation, item_id="task_2")
    assert stores.reservations.replace(reservation, newer)
    assert not stores.reservations.replace(reservation, replace(reservation, item_id="task_3"))


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
    stores.passes.raise_watermark(29_000_000)
    assert stores.payloads.get("lost") == '"text"'
    assert stores.passes.watermark() == 29_000_000


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


@pytest.mark.parametrize(
    "fault",
    [
        raising(EndpointConnectionError),
        raising(ConnectionClosedError),
        raising(ReadTimeoutError),
        refused("ThrottlingException"),
        refused("InternalServerError", 500),
    ],
    ids=["unreachable", "closed", "timed out", "throttled", "broken"],
)
def test_a_table_that_does_not_answer_is_unavailable_whatever_is_asked_of_it(
    stores: Stores, boundary: Boundary, task: Task, reservation: Reservation, fault: Fault
) -> None:
    asked: dict[str, Callable[[], object]] = {
        "get": lambda: stores.tasks.get(task.id),
        "get_many": lambda: stores.tasks.get_many([task.id]),
        "due_in": lambda: list(stores.tasks.due_in(task.home)),
        "listed": lambda: stores.tasks.listed("acme", after="", limit=1),
        "payload": lambda: stores.payloads.get("1"),
        "payloads": lambda: stores.payloads.get_many(["1"]),
        "put": lambda: stores.payloads.put("1", "1", keep_until=NOW),
        "find": lambda: stores.reservations.find("acme", "key"),
        "reserve": lambda: stores.reservations.reserve(reservation, now=NOW),
        "replace": lambda: stores.reservations.replace(reservation, reservation),
        "between": lambda: stores.passes.between(1, 2),
        "pass": lambda: stores.passes.get(1, 0),
        "record": lambda: stores.passes.record(Progress(minute=1, group=0, stage=Stage.OPEN, opened_at=NOW)),
        "watermark": stores.passes.watermark,
        "raise": lambda: stores.passes.raise_watermark(1),
        "beat": stores.passes.beat,
        "next_beat": lambda: stores.passes.next_beat(0, NOW),
    }
    said = {}
    for name, ask in asked.items():
        boundary.fail(EVERYTHING, *[fault] * TRIES * 4)
        try:
            said[name] = ask()
        except Exception as error:
            said[name] = type(error)
        boundary.clear()
    assert said == dict.fromkeys(asked, Unavailable)


@pytest.mark.parametrize(
    "fault",
    [
        unreachable,
        refused("ThrottlingException"),
        refused("ProvisionedThroughputExceededException"),
        refused("RequestLimitExceeded"),
        refused("InternalServerError", 500),
        refused("ServiceUnavailable", 503),
    ],
    ids=["unreachable", "throttled", "too fast", "limit", "broken", "away"],
)
def test_what_never_reached_the_table_is_unavailable_and_unchanged(
    stores: Stores, boundary: Boundary, task: Task, fault: Fault
) -> None:
    other = Examples(now=NOW).task()
    boundary.fail(["BatchExecuteStatement", *TRANSACTIONS], *[fault] * TRIES * 9)
    assert stores.tasks.add([other]) == [Written.UNAVAILABLE]
    changes = [claim(task), reschedule(task, task.due_at + FAR)]
    assert stores.tasks.commit(changes) == [Written.UNAVAILABLE] * 2
    assert stores.tasks.extend([claim(task).after], NOW) == [Written.UNAVAILABLE]
    boundary.clear()
    assert stores.tasks.get(task.id) == task
    assert stores.tasks.get(other.id) is None


@pytest.mark.parametrize(
    "code",
    [
        "ThrottlingError",
        "ProvisionedThroughputExceeded",
        "RequestLimitExceeded",
        "InternalServerError",
        "TransactionConflict",
    ],
)
def test_a_statement_that_aws_could_not_carry_out_is_unavailable_alone(
    stores: Stores, boundary: Boundary, task: Task, code: str
) -> None:
    error = {"Error": {"Code": code, "Message": "later"}}
    boundary.fail("BatchExecuteStatement", answered({"Responses": [{}, error]}))
    changes = [claim(task), cancel(task)]
    assert stores.tasks.commit(changes) == [Written.DONE, Written.UNAVAILABLE]


@pytest.mark.parametrize("code", ["ValidationError", "AccessDenied", "ResourceNotFound", "SomethingNew"])
def test_a_statement_that_is_wrong_is_refused_alone(
    stores: Stores, boundary: Boundary, task: Task, code: str
) -> None:
    """Time does not mend it, so it is no matter of time; its neighbours' results count all the same."""
    error = {"Error": {"Code": code, "Message": "what?"}}
    boundary.fail("BatchExecuteStatement", answered({"Responses": [{}, error, {}]}))
    changes = [claim(task), cancel(task), claim(task)]
    assert stores.tasks.commit(changes) == [Written.DONE, Written.REFUSED, Written.DONE]


def cancelled(*reasons: dict[str, Any]) -> Fault:
    return refused("TransactionCanceledException", CancellationReasons=list(reasons))


@pytest.mark.parametrize(
    "fault",
    [
        cancelled({"Code": "TransactionConflict", "Message": "busy"}, {"Code": "None"}),
        cancelled({"Code": "None"}, {"Code": "TransactionConflict", "Message": "busy"}),
        cancelled({"Code": "ThrottlingError", "Message": "slow"}, {"Code": "None"}),
        cancelled({"Code": "None"}, {"Code": "ProvisionedThroughputExceeded", "Message": "slow"}),
    ],
    ids=["home busy", "pointer busy", "throttled", "too fast"],
)
def test_a_move_that_met_another_transaction_is_unavailable_and_then_done(
    stores: Stores, boundary: Boundary, task: Task, fault: Fault
) -> None:
    moved = reschedule(task, task.due_at + FAR)
    boundary.fail(TRANSACTIONS, fault)
    assert stores.tasks.commit([moved]) == [Written.UNAVAILABLE]
    assert stores.tasks.commit([moved]) == [Written.DONE]
    assert pointers(stores, moved.after) == 1


def test_a_move_refused_because_of_its_own_result_is_done_and_of_anothers_is_not(
    stores: Stores, boundary: Boundary, world: World, task: Task
) -> None:
    """Both as AWS words it: the row that stood in the way comes with the reason."""
    moved = reschedule(task, task.due_at + FAR)
    stores.tasks.commit([moved])
    mine = row(world, task)
    theirs = mine | {"holder": {"S": "worker-2"}}
    for stood_in_the_way, written in ((mine, Written.DONE), (theirs, Written.CONFLICT)):
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
