"""A task's row is as large as the store takes it to be: what fits is billed one unit a write, from first to last."""

from collections.abc import Callable
from datetime import timedelta
from functools import partial
from typing import Any

import pytest

from postdate.domain.task import Destination, Payload, Task
from postdate.stores import row_size
from postdate.stores.row_size import ROW_BYTES_BILLED_ONCE
from tests.contract.conftest import OnAws
from tests.contract.examples import QUEUE, Examples, cancel, claim, reschedule, retry, succeed

WEBHOOK = Destination(
    type="webhook", address="https://example.com/hooks/größe", method="PUT", headers=(("X-Shop", "7"),)
)
BUS = Destination(type="eventbridge", address="postdate-destination-orders", detail_type="Größe fällig")
Units = Callable[[dict[str, Any]], float]


@pytest.fixture
def units(on_aws: OnAws) -> Units:
    """Units that the engine bills for a new row without an index."""
    table = on_aws.names["payloads"]

    def put(row: dict[str, Any]) -> float:
        on_aws.dynamodb.delete_item(TableName=table, Key={"id": row["id"]})
        answer = on_aws.dynamodb.put_item(TableName=table, Item=row, ReturnConsumedCapacity="TOTAL")
        return float(answer["ConsumedCapacity"]["CapacityUnits"])

    return put


def row(on_aws: OnAws, task: Task) -> dict[str, Any]:
    key = {"slot": {"S": task.home.key}, "id": {"S": task.id}}
    found: dict[str, Any] = on_aws.dynamodb.get_item(
        TableName=on_aws.names["items"], Key=key, ConsistentRead=True
    )["Item"]
    return found


def fitting(on_aws: OnAws, examples: Examples, destination: Destination) -> Task:
    """With the largest payload that fits."""
    return max(
        (
            task
            for bytes_ in range(1, 1024)
            if on_aws.tasks.fits(
                task := examples.task(destination=destination, payload=Payload(text="x" * bytes_))
            )
        ),
        key=lambda task: len(task.payload.text or ""),
    )


@pytest.mark.parametrize("destination", [QUEUE, WEBHOOK, BUS], ids=["sqs", "webhook", "eventbridge"])
def test_a_task_that_just_fits_costs_one_unit_for_each_change_of_a_usual_life(
    on_aws: OnAws, examples: Examples, units: Units, destination: Destination
) -> None:
    task = fitting(on_aws, examples, destination)
    assert len(task.payload.text or "") >= 250
    on_aws.tasks.add([task])
    assert units(row(on_aws, task)) == 1
    # As long as the names that workers give themselves.
    for change in (partial(claim, holder="0a1b2c3d-4e5f"), succeed):
        on_aws.tasks.commit([change(task)])
        task = change(task).after
        assert units(row(on_aws, task)) == 1


def test_the_size_of_a_row_is_what_is_billed_to_the_byte(
    on_aws: OnAws, examples: Examples, units: Units
) -> None:
    first, second = examples.task(destination=WEBHOOK, name="größe 🐈", tags=("a", "b")), examples.task()
    on_aws.tasks.add([first, second])
    for change in (
        claim,
        lambda task: retry(task, after=timedelta(seconds=3)),
        claim,
        lambda task: retry(task, after=timedelta(hours=3)),
        cancel,
    ):
        on_aws.tasks.commit([change(first)])
        first = change(first).after
        _assert_exact(row(on_aws, first), units)
    on_aws.tasks.commit([reschedule(second, second.due_at + timedelta(seconds=1))])
    _assert_exact(row(on_aws, second), units)


def _assert_exact(found: dict[str, Any], units: Units) -> None:
    found.pop("payload", None)
    room = ROW_BYTES_BILLED_ONCE - row_size.size(found) - len("payload")
    assert units({**found, "payload": {"S": "x" * room}}) == 1
    assert units({**found, "payload": {"S": "x" * (room + 1)}}) == 2
