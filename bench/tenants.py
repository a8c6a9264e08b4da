"""tenants: tasks of many tenants due at one instant, against as many of one tenant.

The tenants and their tasks are written as rows, before their minute is opened. So the sweep sends the calls: a packet
holds tasks of one tenant, and the many tenants need forty times the packets of the one.
"""

import os
from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Final

from bench import tasks, warm
from bench.arriving import judged
from bench.bed import Bed
from bench.burst import bare_per_second
from bench.figures import ratio, rounded
from bench.load import side_by_side
from bench.minutes import minute_after, opened_seconds
from bench.plan import CLIENTS, Plan
from bench.report import Line
from cli.failure import Failure
from cli.progress import step
from postdate.domain.retry import RetryPolicy
from postdate.domain.slots import UNIQUE_BYTES, ShardPlan, item_id
from postdate.domain.task import KIND, Destination, Payload, Task, Template
from postdate.domain.task_requests import register
from postdate.stores.tasks import Written
from postdate.stores.tenants import Tenant
from postdate.stores.tenants_dynamo import DynamoTenants

# Tasks of each of the many tenants.
EACH: Final = 5
# Tasks of the usual run: a thousand tenants.
ITEMS_MAX: Final = 5000
_ITEMS_OF_BURSTS: Final = 2.5
_SQS: Final = "sqs"
_ROWS_AT_ONCE: Final = 100
_SECONDS_TO_WRITE: Final = 10
_WRITTEN_A_SECOND: Final = 500
_PATIENCE_SECONDS: Final = 30
_DRAINED_A_SECOND: Final = 50


def tenants(bed: Bed, plan: Plan) -> Iterator[Line]:
    """The floor of the one tenant is the bare loop of `burst`; that of the many is the one tenant's drain."""
    warm.api(bed)
    warm.executors(bed)
    items = min(ITEMS_MAX, round(plan.items * _ITEMS_OF_BURSTS)) // EACH * EACH
    one = _drained(bed, ["bench-one"], items)
    floor = bare_per_second(bed, bed.queue, items)
    yield with_floor(one, floor)
    many = _drained(bed, [f"bench-{number:04}" for number in range(items // EACH)], EACH)
    yield with_floor(many, one["drain_per_second"])


def with_floor(line: Line, floor: float | None) -> Line:
    drain = line["drain_per_second"]
    if not drain or not floor:
        return line | {"floor": floor, "ratio": None}
    return line | {"floor": rounded(floor), "ratio": ratio(drain, floor)}


def planned(owners: Sequence[str], each: int, to: str, due_at: datetime, shards: ShardPlan) -> list[Task]:
    """Tasks to a queue, the tenants by turns, as their registrations came."""
    return [_task(owner, to, due_at, shards, number) for number in range(each) for owner in owners]


def _drained(bed: Bed, owners: Sequence[str], each: int) -> Line:
    count = each * len(owners)
    bed.queue.clear()
    due_at = minute_after(bed, _SECONDS_TO_WRITE + count / _WRITTEN_A_SECOND)
    with step(f"{count} tasks of {len(owners)} tenants"):
        due_ms = _written(bed, owners, each, due_at)
    spare = (due_at - tasks.now()).total_seconds()
    if spare < opened_seconds(bed):
        raise Failure(f"{count} tasks took longer to write than the time there was for them.")
    with step(f"waiting {spare:.0f} s for the instant, then for {count} arrivals"):
        found = judged(bed.queue, due_ms, due_at, _PATIENCE_SECONDS + count / _DRAINED_A_SECOND)
    last_ms = max(found.lateness_ms, default=0.0)
    return {
        "case": "tenants",
        "what": f"{len(owners)} with {each} tasks each, to SQS" if len(owners) > 1 else "one, to SQS",
        "count": count,
        "spare_seconds": rounded(spare),
        "drain_per_second": rounded(1000 * len(found.lateness_ms) / last_ms) if last_ms > 0 else None,
        **found.figures(),
        **tasks.own_account(bed, due_ms),
    }


def _written(bed: Bed, owners: Sequence[str], each: int, due_at: datetime) -> dict[str, float]:
    rows = DynamoTenants(table=bed.environment["TENANTS_TABLE"])
    allowed = frozenset({(_SQS, bed.queue.url)})
    side_by_side(CLIENTS, owners, lambda _: lambda owner: rows.put(Tenant(id=owner, destinations=allowed)))
    found = planned(owners, each, bed.queue.url, due_at, ShardPlan.parse(bed.environment["SHARD_PLAN"]))
    store = tasks.kept(bed)
    chunks = [found[start : start + _ROWS_AT_ONCE] for start in range(0, len(found), _ROWS_AT_ONCE)]
    written = side_by_side(CLIENTS, chunks, lambda _: store.add).answers
    if {answer for answers in written for answer in answers} != {Written.DONE}:
        raise Failure("Some of the tasks were not written.")
    return dict.fromkeys((task.id for task in found), tasks.ms(due_at))


def _task(tenant: str, to: str, due_at: datetime, shards: ShardPlan, number: int) -> Task:
    unique = os.urandom(UNIQUE_BYTES)
    return register(
        id=item_id(KIND, shards.slot(due_at, unique), unique),
        tenant=tenant,
        due_at=due_at,
        now=tasks.now(),
        template=Template(
            destination=Destination(type=_SQS, address=to),
            payload=Payload(text=f'{{"n":{number}}}'),
            retry=RetryPolicy(),
            timeout_seconds=10,
        ),
    )
