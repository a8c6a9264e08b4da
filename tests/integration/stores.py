"""The stores on the tables of a world, and what they left there."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from postdate.domain.slots import unique_part
from postdate.domain.task import Task
from postdate.stores.idempotency import DynamoReservations
from postdate.stores.passes_dynamo import DynamoPasses
from postdate.stores.payloads import DynamoPayloads
from postdate.stores.tasks_dynamo import DynamoTasks
from postdate.stores.timetable import DynamoTimetable
from tests.boundary import Fault, refused
from tests.contract.examples import PLAN
from tests.integration.world import World

NOW: Final = datetime(2026, 11, 18, 10, 5, 12, tzinfo=UTC)
FAR: Final = timedelta(hours=3)
TRANSACTIONS: Final = ("ExecuteTransaction", "TransactWriteItems")
TRIES: Final = 5


@dataclass(frozen=True, kw_only=True, slots=True)
class Stores:
    tasks: DynamoTasks
    payloads: DynamoPayloads
    reservations: DynamoReservations
    passes: DynamoPasses
    timetable: DynamoTimetable

    @classmethod
    def of(cls, world: World) -> "Stores":
        return cls(
            tasks=DynamoTasks(
                table=world.tables["items"],
                client=world.dynamodb,
                shards=PLAN,
                listing_shards=2,
                retention=timedelta(days=1),
            ),
            payloads=DynamoPayloads(table=world.tables["payloads"]),
            reservations=DynamoReservations(table=world.tables["idempotency"]),
            passes=DynamoPasses(table=world.tables["slots"]),
            timetable=DynamoTimetable(
                items_table=world.tables["items"], payments_table=world.tables["payments"]
            ),
        )


def cancelled(*reasons: dict[str, Any]) -> Fault:
    """The error of AWS for a transaction that was not carried out."""
    return refused("TransactionCanceledException", CancellationReasons=list(reasons))


def pointers(stores: Stores, task: Task) -> int:
    entries = stores.timetable.due_in(PLAN.slot(task.due_at, unique_part(task.id)))
    return sum(entry.due.id == task.id and entry.phase is None for entry in entries)


def row(world: World, task: Task) -> dict[str, Any]:
    key = {"slot": {"S": task.home.key}, "id": {"S": task.id}}
    found: dict[str, Any] = world.dynamodb.get_item(
        TableName=world.tables["items"], Key=key, ConsistentRead=True
    )["Item"]
    return found
