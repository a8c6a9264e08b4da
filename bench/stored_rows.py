"""Pending items by the thousand, half of them payments and half tasks, written as rows of a tenant of their own.

They are due in the weeks from the day after tomorrow, so nothing is due while the benchmark runs.
"""

import os
from collections.abc import Iterator
from datetime import datetime, timedelta
from itertools import islice
from typing import Any, Final

from bench.bed import Bed
from bench.load import side_by_side
from postdate.domain import instants, money, payment, task
from postdate.domain.payment import Funding, Terms
from postdate.domain.retry import RetryPolicy
from postdate.domain.slots import UNIQUE_BYTES, ShardPlan, item_id
from postdate.domain.task import Destination, Payload, Template
from postdate.domain.task_requests import register
from postdate.stores import payment_row, task_row

TENANT: Final = "stored"
FIRST: Final = timedelta(days=2)
SPAN: Final = timedelta(days=40)
ACCOUNTS: Final = 500
_ROWS_AT_ONCE: Final = 25
_WRITERS: Final = 2
Row = dict[str, Any]


def rows(
    first: int,
    last: int,
    *,
    shards: ShardPlan,
    listing_shards: int,
    retention: timedelta,
    now: datetime,
) -> Iterator[tuple[str, Row]]:
    """The items of these numbers, each with the setting that names its table."""
    for number in range(first, last):
        # The golden section spreads any number of items evenly over the span.
        due_at = instants.whole(now + FIRST + SPAN * (number * 0.618_033_988_75 % 1))
        if number % 2:
            found = _payment(number, due_at, shards, now)
            yield "PAYMENTS_TABLE", payment_row.attributes_of(found, listing_shards=listing_shards)
        else:
            one = _task(number, due_at, shards, now)
            yield (
                "ITEMS_TABLE",
                task_row.attributes_of(one, listing_shards=listing_shards, retention=retention),
            )


def write(bed: Bed, found: Iterator[tuple[str, Row]]) -> None:
    def call(some: list[tuple[str, Row]]) -> None:
        requests: dict[str, list[Row]] = {}
        for table, row in some:
            requests.setdefault(bed.environment[table], []).append({"PutRequest": {"Item": row}})
        left = bed.dynamodb.batch_write_item(RequestItems=requests)["UnprocessedItems"]
        assert not left  # noqa: S101 (the local engine takes all)

    side_by_side(_WRITERS, iter(lambda: list(islice(found, _ROWS_AT_ONCE)), []), lambda _: call)


def _id(kind: str, due_at: datetime, shards: ShardPlan) -> str:
    unique = os.urandom(UNIQUE_BYTES)
    return item_id(kind, shards.slot(due_at, unique), unique)


def _payment(number: int, due_at: datetime, shards: ShardPlan, now: datetime) -> payment.Payment:
    registered = money.register(
        Terms(
            payer=f"stored-{number % ACCOUNTS:03}",
            payee=f"stored-{(number + 1) % ACCOUNTS:03}",
            amount=1,
            funding=Funding.AT_EXECUTION,
        ),
        id=_id(payment.KIND, due_at, shards),
        tenant=TENANT,
        due_at=due_at,
        now=now,
    )
    assert registered.after is not None  # noqa: S101 (it is what a registration makes)
    return registered.after


def _task(number: int, due_at: datetime, shards: ShardPlan, now: datetime) -> task.Task:
    return register(
        id=_id(task.KIND, due_at, shards),
        tenant=TENANT,
        due_at=due_at,
        now=now,
        template=Template(
            destination=Destination(type="sqs", address="http://127.0.0.1/stored"),
            payload=Payload(text=f'{{"n":{number}}}'),
            retry=RetryPolicy(),
            timeout_seconds=10,
        ),
    )
