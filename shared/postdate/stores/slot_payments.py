"""The payments of one slot as rows, for the walk that archives them, and the instant of a row's removal."""

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final, Protocol

from postdate.domain import settlement
from postdate.domain.movement import payment_movement_id
from postdate.domain.payment import Payment
from postdate.domain.slots import Slot
from postdate.stores import batch_get, movement_row
from postdate.stores.attributes import AttributeMap
from postdate.stores.faults import translated
from postdate.stores.ledger_memory import MemoryLedger
from postdate.stores.payment_row import attributes_of, listing_key, payment_in

if TYPE_CHECKING:
    from botocore.client import BaseClient

REMOVAL: Final = "expires_at"
_POINTER: Final = "points_to"


class SlotPayments(Protocol):
    """Each call raises Unavailable."""

    def rows(self, slot: Slot) -> list[AttributeMap]:
        """The rows of all payments whose home is this slot, as they are stored; a moment behind the truth."""

    def moved(self, payments: Iterable[Payment]) -> set[str]:
        """The ids of those that have a movement in the journal."""

    def remove_at(self, row: AttributeMap, at: datetime) -> bool:
        """Sets the instant of the row's removal. False if the row has another version by now, or is gone."""


class DynamoSlotPayments:
    """The one role that uses it may write no attribute of a payment but the instant of its removal."""

    def __init__(
        self, *, payments_table: str, journal_table: str, client: "BaseClient", listing_shards: int
    ) -> None:
        self._payments = payments_table
        self._journal = journal_table
        self._client: Any = client
        self._listing_shards = listing_shards

    def rows(self, slot: Slot) -> list[AttributeMap]:
        found: list[AttributeMap] = []
        asked: dict[str, Any] = {
            "TableName": self._payments,
            "KeyConditionExpression": "slot = :slot",
            "ExpressionAttributeValues": {":slot": {"S": slot.key}},
        }
        while True:
            with translated():
                answer = self._client.query(**asked)
            found += [row for row in answer["Items"] if _POINTER not in row]
            if "LastEvaluatedKey" not in answer:
                return found
            asked["ExclusiveStartKey"] = answer["LastEvaluatedKey"]

    def moved(self, payments: Iterable[Payment]) -> set[str]:
        """By the key that a movement has with the present number of listings first: it is right for nearly all."""
        ids = {payment_movement_id(each.id): each for each in payments}
        first = [
            movement_row.key(
                settlement.movement_of(each, at=each.planned_at), listing_shards=self._listing_shards
            )
            for each in ids.values()
        ]
        found = self._there(first)
        others = [
            {"listing": {"S": listing_key(each.tenant, each.payer, number)}, "id": {"S": id}}
            for id, each in ids.items()
            if id not in found and each.state is each.state.COMPLETED
            for number in range(self._listing_shards)
        ]
        return {ids[id].id for id in found | self._there(others)}

    def _there(self, keys: list[AttributeMap]) -> set[str]:
        rows = batch_get.rows(self._client, self._journal, keys, attributes=("listing", "id")) if keys else []
        return {row["id"]["S"] for row in rows}

    def remove_at(self, row: AttributeMap, at: datetime) -> bool:
        try:
            with translated():
                self._client.update_item(
                    TableName=self._payments,
                    Key={name: row[name] for name in ("slot", "id")},
                    UpdateExpression=f"SET {REMOVAL} = :at",
                    # A payment that changed since it was copied has to be copied again first.
                    ConditionExpression="#version = :version",
                    ExpressionAttributeNames={"#version": "version"},
                    ExpressionAttributeValues={":at": _seconds(at), ":version": row["version"]},
                )
        except self._client.exceptions.ConditionalCheckFailedException:
            return False
        return True


class MemorySlotPayments:
    """Rows of a ledger in memory. `removals` are the instants that were set."""

    def __init__(self, ledger: MemoryLedger) -> None:
        self._ledger = ledger
        self.removals: dict[str, dict[str, Any]] = {}

    def rows(self, slot: Slot) -> list[AttributeMap]:
        ids = [entry.due.id for entry in self._ledger.due_in(slot) if entry.phase is not None]
        return [self._row(each) for each in self._ledger.payments(ids).values()]

    def moved(self, payments: Iterable[Payment]) -> set[str]:
        payments = list(payments)
        there = {each.id for each in self._ledger.movements_of(payments)}
        return {each.id for each in payments if payment_movement_id(each.id) in there}

    def remove_at(self, row: AttributeMap, at: datetime) -> bool:
        known = self._ledger.payments([row["id"]["S"]])
        if [each.version for each in known.values()] != [int(row["version"]["N"])]:
            return False
        self.removals[row["id"]["S"]] = _seconds(at)
        return True

    def _row(self, payment: Payment) -> AttributeMap:
        removal = self.removals.get(payment.id)
        own = attributes_of(payment, listing_shards=1)
        return own if removal is None else own | {REMOVAL: removal}


def is_leaving(row: Mapping[str, Any]) -> bool:
    """True if the instant of the row's removal is set."""
    return REMOVAL in row


def payment_of(row: AttributeMap) -> Payment:
    """Raises Unreadable for a row that newer code wrote."""
    return payment_in(row)


def _seconds(at: datetime) -> dict[str, Any]:
    return {"N": str(int(at.timestamp()))}
