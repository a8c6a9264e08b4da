"""Payments as a tenant has them that uses the service for a while: most are completed or to come, a few failed."""

import os
from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta
from typing import Any, Final

from postdate.domain import money, settlement
from postdate.domain.account import Account
from postdate.domain.payment import KIND, Funding, Payment, State, Terms
from postdate.domain.slots import UNIQUE_BYTES, ShardPlan, item_id
from postdate.stores import account_row, payment_row

FAILED_EACH: Final = 20
SPAN: Final = timedelta(days=20)
_ROWS_AT_ONCE: Final = 25


def account(number: int) -> str:
    return f"listed-{number:03}"


def payments(
    tenant: str, count: int, accounts: int, *, shards: ShardPlan, now: datetime
) -> Iterator[Payment]:
    """Spread evenly over the days before and after `now`. Those before it are COMPLETED, and one in FAILED_EACH is
    FAILED; those after it are PENDING. None holds money."""
    for number in range(count):
        due_at = now - SPAN + 2 * SPAN * (2 * number + 1) / (2 * count)
        unique = os.urandom(UNIQUE_BYTES)
        terms = Terms(
            payer=account(number % accounts),
            payee=account((number + 1) % accounts),
            amount=1,
            funding=Funding.AT_EXECUTION,
            metadata=(("batch", str(number % 10)),),
        )
        registered = money.register(
            terms,
            id=item_id(KIND, shards.slot(due_at, unique), unique),
            tenant=tenant,
            due_at=due_at,
            now=now - 2 * SPAN,
        )
        waiting = _after(registered.after)
        if due_at >= now:
            yield waiting
        elif number % FAILED_EACH == 0:
            failed = settlement.fail(waiting, now=due_at, code="insufficient_funds", why="seeded")
            yield _after(failed.after)
        else:
            yield _after(settlement.settle(waiting, now=due_at).after)


def is_failed(payment: Payment) -> bool:
    return payment.state is State.FAILED


def write(dynamodb: Any, table: str, found: Iterable[Payment], *, listing_shards: int) -> None:
    rows = [payment_row.attributes_of(each, listing_shards=listing_shards) for each in found]
    _put(dynamodb, table, rows)


def open_accounts(
    dynamodb: Any, table: str, tenant: str, accounts: int, *, available: int, now: datetime
) -> None:
    _put(
        dynamodb,
        table,
        [
            account_row.attributes_of(
                Account(
                    id=account(number), tenant=tenant, created_at=now, updated_at=now, available=available
                )
            )
            for number in range(accounts)
        ],
    )


def _put(dynamodb: Any, table: str, rows: list[dict[str, Any]]) -> None:
    for start in range(0, len(rows), _ROWS_AT_ONCE):
        requests = [{"PutRequest": {"Item": row}} for row in rows[start : start + _ROWS_AT_ONCE]]
        left = dynamodb.batch_write_item(RequestItems={table: requests})["UnprocessedItems"]
        assert not left  # noqa: S101 (the local engine takes all)


def _after(payment: Payment | None) -> Payment:
    assert payment is not None  # noqa: S101 (each of these events leaves a payment)
    return payment
