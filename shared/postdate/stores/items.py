"""Items by their ids, as the tables have them now."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from postdate.domain import payment
from postdate.domain.item import kind_of
from postdate.domain.payment import Payment
from postdate.domain.task import Task
from postdate.stores import batch_get
from postdate.stores.payment_row import payment_in
from postdate.stores.rows import item_key
from postdate.stores.task_row import task_in

if TYPE_CHECKING:
    from botocore.client import BaseClient


@dataclass(frozen=True, kw_only=True, slots=True)
class Items:
    client: "BaseClient"
    items_table: str
    payments_table: str

    def load(self, ids: Iterable[str]) -> Mapping[str, Payment | Task]:
        """The payments, tasks and runs of these ids that exist. Raises Unreadable for a row of newer code."""
        asked = list(dict.fromkeys(ids))
        payments = [item_key(id) for id in asked if kind_of(id) == payment.KIND]
        others = [item_key(id) for id in asked if kind_of(id) != payment.KIND]
        found: list[Payment | Task] = []
        if payments:
            found += [payment_in(row) for row in batch_get.rows(self.client, self.payments_table, payments)]
        if others:
            found += [task_in(row) for row in batch_get.rows(self.client, self.items_table, others)]
        return {item.id: item for item in found}
