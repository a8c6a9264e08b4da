"""Changes that are not committed are reported so: retry later or never, each change for itself."""

from collections.abc import Callable
from typing import Final

import pytest
from botocore.exceptions import ConnectionClosedError, EndpointConnectionError, ReadTimeoutError

from postdate.domain.errors import Unavailable
from postdate.domain.sweeping import Stage, SweepProgress, Watermark
from postdate.domain.task import Task
from postdate.stores.idempotency import Reservation
from postdate.stores.tasks import Written
from tests.boundary import Boundary, Fault, answered, raising, refused, unreachable
from tests.contract.examples import Examples, cancel, claim, reschedule
from tests.integration.stores import FAR, NOW, TRANSACTIONS, TRIES, Stores, cancelled, pointers
from tests.listing import ids_listed

EVERYTHING: Final = (
    *("GetItem", "PutItem", "UpdateItem", "Query", "BatchGetItem", "BatchExecuteStatement"),
    *TRANSACTIONS,
)


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
        "due_in": lambda: list(stores.timetable.due_in(task.home)),
        "listed": lambda: ids_listed(stores.tasks, "acme", limit=1),
        "payload": lambda: stores.payloads.get("1"),
        "payloads": lambda: stores.payloads.get_many(["1"]),
        "put": lambda: stores.payloads.put("1", "1", keep_until=NOW),
        "find": lambda: stores.reservations.find("acme", "key"),
        "reserve": lambda: stores.reservations.reserve(reservation, now=NOW),
        "redate": lambda: stores.reservations.redate(reservation, reservation),
        "between": lambda: stores.passes.between(1, 2),
        "pass": lambda: stores.passes.get(1, 0),
        "record": lambda: stores.passes.record(
            SweepProgress(minute=1, group=0, stage=Stage.OPEN, opened_at=NOW)
        ),
        "watermark": stores.passes.watermark,
        "raise": lambda: stores.passes.raise_watermark(Watermark(minute=1)),
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
    changes = [claim(task), cancel(Examples(now=NOW).task())]
    assert stores.tasks.commit(changes) == [Written.DONE, Written.UNAVAILABLE]


@pytest.mark.parametrize("code", ["ValidationError", "AccessDenied", "ResourceNotFound", "SomethingNew"])
def test_a_statement_that_is_wrong_is_refused_alone(
    stores: Stores, boundary: Boundary, task: Task, code: str
) -> None:
    """Time does not mend it, so it is no matter of time; its neighbours' results count all the same."""
    error = {"Error": {"Code": code, "Message": "what?"}}
    boundary.fail("BatchExecuteStatement", answered({"Responses": [{}, error, {}]}))
    one, other = Examples(now=NOW).tasks(2)
    changes = [claim(task), cancel(one), claim(other)]
    assert stores.tasks.commit(changes) == [Written.DONE, Written.REFUSED, Written.DONE]


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
