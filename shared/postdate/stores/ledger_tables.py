"""The three tables of money, and transactions on them that other writers may disturb."""

import random
import time
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, Self

from postdate.domain.errors import Unavailable
from postdate.domain.slots import ShardPlan
from postdate.runtime.author import nobody
from postdate.stores import account_row, movement_row, payment_row
from postdate.stores.faults import translated
from postdate.stores.ledger_actions import Actions
from postdate.stores.ledger_answers import UNMET
from postdate.stores.rows import speak_through

if TYPE_CHECKING:
    from botocore.client import BaseClient

TRIES: Final = 8
_PAUSE_SECONDS: Final = 0.02
_PAUSE_SECONDS_MAX: Final = 0.5


def conflict_pause_seconds(tried: int, draw: float) -> float:
    """The pause after a conflict; `tried` is the number of conflicts before it. It grows, so that one conflict costs a
    payment little (docs/decisions/0162)."""
    return min(_PAUSE_SECONDS * 2.0**tried, _PAUSE_SECONDS_MAX) * draw


class LedgerTables:
    def __init__(
        self,
        *,
        payments_table: str,
        accounts_table: str,
        journal_table: str,
        client: "BaseClient",
        shards: ShardPlan,
        listing_shards: int,
        pause: Callable[[float], None] = time.sleep,
        draw: Callable[[], float] = random.random,
    ) -> None:
        self._accounts = accounts_table
        self._actions = Actions(
            payments=payments_table,
            accounts=accounts_table,
            journal=journal_table,
            shards=shards,
            listing_shards=listing_shards,
        )
        self._author: Callable[[], str] = nobody
        self._payments = payment_row.payment_rows(payments_table)
        self._account_rows = account_row.account_rows(accounts_table)
        self._movements = movement_row.movement_rows(journal_table)
        for model in (self._payments, self._account_rows, self._movements):
            speak_through(model, client)
        self._client = client
        self._listing_shards = listing_shards
        self._pause = pause
        self._draw = draw

    def signed_by(self, author: Callable[[], str]) -> Self:
        """The same ledger. The author is noted in changes of accounts that are told as events."""
        self._author = author
        self._actions = replace(self._actions, author=author)
        return self

    def _write_row(self, action: dict[str, Any]) -> bool:
        """Writes one row in a transaction of its own; returns False if the condition does not hold."""
        for tried in range(TRIES):
            reasons = [reason["Code"] for reason in self._cancelled([action]).values()]
            # A condition that does not hold is an answer. All other reasons pass.
            if not reasons or reasons == [UNMET]:
                return not reasons
            self._pause_after(tried)
        raise Unavailable(reasons[0])

    def _pause_after(self, tried: int) -> None:
        self._pause(conflict_pause_seconds(tried, self._draw()))

    def _cancelled(self, actions: list[dict[str, Any]]) -> dict[int, dict[str, Any]]:
        """Returns the reason of each refused action by its index; empty if the transaction is committed."""
        try:
            with translated():
                self._client.transact_write_items(TransactItems=actions)
        except self._client.exceptions.TransactionCanceledException as cancelled:
            reasons = cancelled.response["CancellationReasons"]
            return {index: reason for index, reason in enumerate(reasons) if reason["Code"] != "None"}
        return {}

    def _listing_keys(self, tenant: str, account: str) -> list[str]:
        return [payment_row.listing_key(tenant, account, number) for number in range(self._listing_shards)]
