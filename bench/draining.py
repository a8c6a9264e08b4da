"""Watching from outside how a burst of payments is committed, by the balances it leaves.

A row of an account costs the engine a fraction of the rows of its payments, and tells how many of them are through.
What is seen is always a little late, never early: the instant of a look is when its answer was there.
"""

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise
from typing import Any, Final

from bench.bed import Bed
from bench.figures import percentile
from bench.payments import AMOUNT, TENANT
from postdate.stores.account_row import key

_BEFORE_SECONDS: Final = 0.2
_KEYS_MAX: Final = 100


@dataclass(frozen=True, kw_only=True, slots=True)
class Look:
    """So many payments were through when this answer was there."""

    at_ms: float
    through: int


class Reserved:
    """Counts settled payments by the holds that their payers still have; a payer without holds is not read again."""

    def __init__(self, bed: Bed, accounts: Iterable[str]) -> None:
        self._dynamodb = bed.dynamodb
        self._table = bed.environment["ACCOUNTS_TABLE"]
        self._holding = [key(TENANT, account) for account in accounts]
        self._held_before = self._held()

    def __call__(self) -> int:
        return (self._held_before - self._held()) // AMOUNT

    def _held(self) -> int:
        found: dict[str, int] = {}
        for start in range(0, len(self._holding), _KEYS_MAX):
            rows = self._read(self._holding[start : start + _KEYS_MAX])
            found |= {row["account"]["S"]: int(row["reserved"]["N"]) for row in rows}
        self._holding = [account for account in self._holding if found[account]]
        return sum(found.values())

    def _read(self, accounts: Sequence[str]) -> list[dict[str, Any]]:
        asked = {
            "Keys": [{"account": {"S": account}} for account in accounts],
            "ProjectionExpression": "account, reserved",
            "ConsistentRead": True,
        }
        rows: list[dict[str, Any]] = self._dynamodb.batch_get_item(RequestItems={self._table: asked})[
            "Responses"
        ][self._table]
        return rows


class Received:
    """Counts settled payments by the balance that has reached one account."""

    def __init__(self, bed: Bed, account: str) -> None:
        self._dynamodb = bed.dynamodb
        self._asked = {
            "TableName": bed.environment["ACCOUNTS_TABLE"],
            "Key": {"account": {"S": key(TENANT, account)}},
            "ProjectionExpression": "available",
            "ConsistentRead": True,
        }
        self._before = self._available()

    def __call__(self) -> int:
        return (self._available() - self._before) // AMOUNT

    def _available(self) -> int:
        return int(self._dynamodb.get_item(**self._asked)["Item"]["available"]["N"])


def watched(
    through: Callable[[], int], count: int, due_at: datetime, *, every_seconds: float, patience_seconds: float
) -> list[Look]:
    """From a moment before the instant until all are through, or patience is over."""
    time.sleep(max(0.0, due_at.timestamp() - _BEFORE_SECONDS - time.time()))
    looks = [_look(through)]
    while looks[-1].through < count and time.time() < due_at.timestamp() + patience_seconds:
        time.sleep(every_seconds)
        looks.append(_look(through))
    return looks


def lateness_ms(looks: Sequence[Look], due_ms: float) -> list[float]:
    """Time of each payment until the first look that counts it, in the order of settling."""
    found: list[float] = []
    for look in looks:
        found += [look.at_ms - due_ms] * (look.through - len(found))
    return found


def apart_ms(looks: Sequence[Look]) -> float:
    """Median interval between two looks: the most that a payment's settling may be seen too late."""
    gaps = sorted(after.at_ms - before.at_ms for before, after in pairwise(looks))
    return percentile(gaps, 50) if gaps else 0.0


def _look(through: Callable[[], int]) -> Look:
    count = through()
    return Look(at_ms=time.time_ns() / 1e6, through=count)
