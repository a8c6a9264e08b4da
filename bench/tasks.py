"""Registering tasks as a client does, and reading what the table says became of them."""

from collections.abc import Callable, Iterable, Mapping
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta
from typing import Any

from bench import batches
from bench.bed import Bed
from bench.destinations import Destination
from bench.figures import spread
from bench.load import Ran, side_by_side
from bench.plan import CLIENTS
from postdate.domain import instants
from postdate.domain.slots import ShardPlan
from postdate.stores.tasks_dynamo import DynamoTasks

PATH = "/api/v1/tasks"


def now() -> datetime:
    """Rounded up to the millisecond that the API keeps."""
    return instants.whole(datetime.now(UTC))


def ahead(seconds: float) -> datetime:
    return instants.whole(datetime.now(UTC) + timedelta(seconds=seconds))


def ms(instant: datetime) -> float:
    return float(instants.milliseconds(instant))


def form(destination: Destination, run_at: datetime, number: int) -> dict[str, Any]:
    return {"run_at": run_at.isoformat(), "target": destination.target, "payload": {"n": number}}


def register(bed: Bed, forms: Iterable[dict[str, Any]]) -> Ran[dict[str, Any]]:
    """Registers the tasks singly with four clients."""

    def caller(opened: ExitStack) -> Callable[[dict[str, Any]], dict[str, Any]]:
        client = opened.enter_context(bed.client())
        return lambda form: dict(client.post(PATH, form).expect(201))

    return side_by_side(CLIENTS, forms, caller)


def register_batches(bed: Bed, forms: list[dict[str, Any]], clients: int) -> Ran[list[str]]:
    """By the hundred; the answers are ids."""
    return batches.register(bed, f"{PATH}/batch", "task", forms, clients)


def kept(bed: Bed) -> DynamoTasks:
    return DynamoTasks(
        table=bed.environment["ITEMS_TABLE"],
        client=bed.dynamodb,
        shards=ShardPlan.parse(bed.environment["SHARD_PLAN"]),
        listing_shards=int(bed.environment["LISTING_SHARDS"]),
        retention=timedelta(days=int(bed.environment["RETENTION_DAYS"])),
    )


def own_account(bed: Bed, due_ms: Mapping[str, float]) -> dict[str, float]:
    """Delays from our own rows: from each instant to its claim, and from its instant to its stored outcome."""
    found = kept(bed).get_many(due_ms)
    claimed = [float(task.lateness_ms) for task in found.values() if task.lateness_ms is not None]
    ended = [
        instants.milliseconds(task.finished_at) - due_ms[task.id]
        for task in found.values()
        if task.finished_at
    ]
    again = sum(task.attempts > 1 for task in found.values())
    return (
        spread(claimed, 50, 99, prefix="claimed_")
        | spread(ended, 50, 99, prefix="ended_")
        | {"retried": again, "not_ended": len(due_ms) - len(ended)}
    )
