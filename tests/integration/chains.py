"""Recurring tasks on the tables of a world, and what became of their runs."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import count
from typing import Any, Final

from postdate.domain import definition as definitions
from postdate.domain.cron import Cron, Occurrence
from postdate.domain.definition import HOME_MINUTE, Definition
from postdate.domain.due import Due, Via, pack
from postdate.domain.recurrence import Runs
from postdate.domain.retry import RetryPolicy
from postdate.domain.schedule import Schedule
from postdate.domain.slots import UNIQUE_BYTES, Slot, item_id
from postdate.domain.task import KIND, Destination, Payload, Task, Template
from postdate.runtime.clock import SystemClock
from postdate.runtime.queue import SqsQueue
from postdate.stores.definitions_dynamo import DynamoDefinitions
from postdate.stores.tasks import Written
from postdate.stores.tasks_dynamo import DynamoTasks
from tests.contract.examples import PLAN
from tests.integration.world import Client, Record, World

DAY: Final = timedelta(days=1)
RUNS: Final = Runs(shards=PLAN)
_uniques = count(1)


@dataclass(frozen=True, kw_only=True, slots=True)
class Chain:
    """A task that runs at midnight, and its run of last night, which nobody has begun yet."""

    world: World
    client: Client
    definition: Definition
    run: Task

    def calls(self, runs: Sequence[Task] | None = None) -> list[Record]:
        """The calls of these runs, as a worker gets them; otherwise of last night's."""
        queue = SqsQueue(url=self.world.queues["tasks"], client=self.world.sqs, clock=SystemClock())
        queue.send(pack([(run.tenant, Due.of(run)) for run in runs or [self.run]], Via.SWEEP))
        return self.world.received(self.world.queues["tasks"], tenant=self.client.tenant)

    def rows(self) -> list[Task]:
        """All of its runs, by their planned instants; the engine's indexes are never behind."""
        tasks = tasks_of(self.world)
        ids = tasks.runs_listed(self.client.tenant, self.definition.id, after="", limit=5000)
        return sorted(tasks.get_many(ids).values(), key=lambda run: run.planned_at)

    def end_lease(self) -> None:
        """Ends the lease as if last night's run had taken that long."""
        self.world.dynamodb.update_item(
            TableName=self.world.tables["items"],
            Key={"slot": {"S": self.run.home.key}, "id": {"S": self.run.id}},
            UpdateExpression="SET lease = :past",
            ExpressionAttributeValues={":past": {"N": "1"}},
        )

    def delivered(self) -> list[dict[str, str]]:
        """Deliveries to the destination, by id."""
        return [record["messageAttributes"] for record in self.world.received(self.client.queue_url)]


def chain(world: World, client: Client, *, days_late: int = 0, **fields: Any) -> Chain:
    """The run is last night's, or that of so many days before."""
    unique = next(_uniques).to_bytes(UNIQUE_BYTES)
    id = item_id(KIND, Slot(minute=HOME_MINUTE, shard=0), unique)
    midnight = datetime.now(UTC).replace(hour=0, minute=0, second=0, microsecond=0) - days_late * DAY
    template: dict[str, Any] = {
        "destination": Destination(type="sqs", address=client.queue_url),
        "payload": Payload(text="{}"),
        "retry": RetryPolicy(initial_seconds=0.1, jitter=False),
    }
    max_runs = fields.pop("max_runs", None)
    template |= {name: fields.pop(name) for name in ("ack", "timeout_seconds") if name in fields}
    definition = Definition(
        id=id,
        tenant=client.tenant,
        state=definitions.State.ACTIVE,
        version=1,
        plan=1,
        schedule=Schedule.checked(cron=Cron.parse("0 0 * * *"), definition_id=id, max_runs=max_runs),
        template=Template(**template),
        created_at=midnight - DAY,
        changed_at=midnight - DAY,
        **({"catch_up_window": 3 * DAY} | fields),
    )
    occurrence = Occurrence(wall=midnight.replace(tzinfo=None), at=midnight, due_at=midnight)
    run = RUNS.run(definition, occurrence, number=1, now=midnight - DAY)
    assert definitions_of(world).add(definition) is Written.DONE
    assert tasks_of(world).add([run]) == [Written.DONE]
    return Chain(world=world, client=client, definition=definition, run=run)


def definitions_of(world: World) -> DynamoDefinitions:
    return DynamoDefinitions(
        table=world.tables["items"], client=world.dynamodb, listing_shards=2, retention=DAY
    )


def tasks_of(world: World) -> DynamoTasks:
    return DynamoTasks(
        table=world.tables["items"], client=world.dynamodb, shards=PLAN, listing_shards=2, retention=DAY
    )
