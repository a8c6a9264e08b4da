"""All rows of one tenant in a table, found by a scan, and their end.

An erasure must miss no row, and indexes follow their tables with a delay, so whole tables are read. Only the function
`erase` may delete rows, and rows of money only inside transactions.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

from postdate.domain import instants
from postdate.domain.erasing import RENAMED, Erasure
from postdate.domain.slots import is_id
from postdate.domain.switch import of_tenant
from postdate.stores import account_row, batch_get, movement_row, payment_row
from postdate.stores.attributes import AttributeMap
from postdate.stores.faults import translated
from postdate.stores.rows import item_key, the_one
from postdate.stores.tallies import scope_of

if TYPE_CHECKING:
    from botocore.client import BaseClient

_DELETERS: Final = 8
# Two actions a movement or an account, and a transaction has 100 at most.
RENAMED_AT_ONCE: Final = 50
# A payment that the archive has goes from the table at this instant.
_KEPT: Final = ("expires_at",)


@dataclass(frozen=True, kw_only=True, slots=True)
class OwnedRows:
    """The way in which the rows of one table name their tenant."""

    # The attributes of the key.
    keys: tuple[str, ...]
    # The attribute that names the tenant; empty if only other rows tell whose a row is.
    name: str = ""
    # Makes the text of that attribute from the name of the tenant.
    text: Callable[[str], str] = str
    # True if the attribute has more behind that text.
    begins: bool = False

    def asked(self, tenant: str) -> dict[str, Any]:
        if not self.name:
            return {}
        return {
            "FilterExpression": "begins_with(#owner, :owner)" if self.begins else "#owner = :owner",
            "ExpressionAttributeNames": {"#owner": self.name},
            "ExpressionAttributeValues": {":owner": {"S": self.text(tenant)}},
        }


def _with_mark(tenant: str) -> str:
    return f"{tenant}#"


def _seats(tenant: str) -> str:
    return f"tenant {tenant}"


# All tables: a row that names a tenant in any other way would be left.
OWNED: Final[Mapping[str, OwnedRows]] = {
    "items": OwnedRows(keys=("slot", "id"), name="tenant"),
    "payments": OwnedRows(keys=("slot", "id"), name="tenant"),
    "accounts": OwnedRows(keys=("account",), name="tenant"),
    "journal": OwnedRows(keys=("listing", "id"), name="tenant"),
    "payloads": OwnedRows(keys=("id",)),
    "idempotency": OwnedRows(keys=("key",), name="key", text=_with_mark, begins=True),
    "tenants": OwnedRows(keys=("tenant",), name="tenant"),
    "keys": OwnedRows(keys=("key_id",), name="tenant"),
    "data_keys": OwnedRows(keys=("owner",)),
    "slots": OwnedRows(keys=("scope", "name"), name="scope", text=scope_of),
    "flow": OwnedRows(keys=("tenant", "name"), name="tenant"),
    "events": OwnedRows(keys=("subject", "sequence"), name="subject", text=_with_mark, begins=True),
    "operations": OwnedRows(keys=("operation", "place"), name="tenant"),
    "switches": OwnedRows(keys=("name",), name="name", text=of_tenant),
    "subscriptions": OwnedRows(keys=("tenant", "id"), name="tenant"),
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Page:
    """The tenant's rows in one answer of a scan."""

    # The rows; empty if the page has rows of other tenants alone.
    rows: Sequence[AttributeMap]
    # The place behind which the next page begins, as text; None at the end of the table.
    after: str | None


@dataclass(frozen=True, kw_only=True, slots=True)
class Owned:
    """Finds, deletes and renames rows of one tenant. Each call raises Unavailable."""

    client: "BaseClient"
    # The full names of tables by their names in `OWNED`.
    tables: Mapping[str, str]
    # The number of keys over which each list of money is spread.
    listing_shards: int

    def pages(self, table: str, tenant: str, *, after: str | None) -> Iterator[Page]:
        """The tenant's rows behind a place. A page may be empty."""
        asked: dict[str, Any] = {"TableName": self.tables[table], **OWNED[table].asked(tenant)}
        while True:
            if after is not None:
                asked["ExclusiveStartKey"] = json.loads(after)
            with translated():
                answer = self.client.scan(**asked)
            last = answer.get("LastEvaluatedKey")
            after = None if last is None else json.dumps(last)
            yield Page(rows=answer["Items"], after=after)
            if after is None:
                return

    def theirs(self, table: str, tenant: str, rows: Sequence[AttributeMap]) -> list[AttributeMap]:
        """Selects the tenant's rows of a page, and adds the pages of its operations, which do not name it."""
        match table:
            case "payloads":
                return self.payloads_of(tenant, rows)
            case "data_keys":
                # With a use before the tenant's name, as the key of its archive has it.
                return [row for row in rows if row["owner"]["S"].rpartition("/")[2] == tenant]
            case "operations":
                pages = [page for head in rows for page in self.of_operation(head["operation"]["S"])]
                return [*pages, *rows]
        return list(rows)

    def delete(self, table: str, rows: Iterable[AttributeMap]) -> int:
        """Several at once, each by a request of its own: the right to write batches would be a right to put rows.
        Returns how many."""
        keys = [{name: row[name] for name in OWNED[table].keys} for row in rows]

        def gone(key: AttributeMap) -> None:
            with translated():
                self.client.delete_item(TableName=self.tables[table], Key=key)

        if keys:
            with ThreadPoolExecutor(min(_DELETERS, len(keys))) as deleters:
                list(deleters.map(gone, keys))
        return len(keys)

    def of_operation(self, operation: str) -> list[AttributeMap]:
        """The pages of an operation; its head is not among them."""
        return [row for row in self._partition(operation) if "tenant" not in row]

    def seats(self, tenant: str) -> list[AttributeMap]:
        return self._partition(_seats(tenant))

    def _partition(self, key: str) -> list[AttributeMap]:
        """All rows of one partition of `operations`, read consistently. `key` is the id of an operation, or
        `_seats(tenant)`."""
        asked: dict[str, Any] = {
            "TableName": self.tables["operations"],
            "KeyConditionExpression": "operation = :operation",
            "ExpressionAttributeValues": {":operation": {"S": key}},
            "ConsistentRead": True,
        }
        found: list[AttributeMap] = []
        while True:
            with translated():
                answer = self.client.query(**asked)
            found += answer["Items"]
            if "LastEvaluatedKey" not in answer:
                return found
            asked["ExclusiveStartKey"] = answer["LastEvaluatedKey"]

    def payloads_of(self, tenant: str, rows: Sequence[AttributeMap]) -> list[AttributeMap]:
        """Selects the rows of `payloads` of the tenant's items. The id of a row begins with the item's id."""
        ids = {row["id"]["S"].partition("#")[0] for row in rows}
        keys = [item_key(id) for id in sorted(ids) if is_id(id)]
        found = batch_get.rows(self.client, self.tables["items"], keys, attributes=("slot", "id", "tenant"))
        ours = {row["id"]["S"] for row in found if row["tenant"]["S"] == tenant}
        return [row for row in rows if row["id"]["S"].partition("#")[0] in ours]

    def delete_pointers(self, rows: Iterable[AttributeMap]) -> None:
        """Pointers to payments. In transactions, as all writes to tables of money."""
        name, keys = self.tables["payments"], OWNED["payments"].keys
        self._in_transactions(
            [
                {
                    "Delete": {
                        "TableName": name,
                        "Key": {each: row[each] for each in keys},
                        # A pointer has `points_to`. A payment must never be deleted here.
                        "ConditionExpression": "attribute_not_exists(id) OR attribute_exists(points_to)",
                    }
                }
            ]
            for row in rows
        )

    def rename_payments(self, erasure: Erasure, rows: Sequence[AttributeMap]) -> None:
        """Replaces payments by their erased form. A payment that changed since it was read makes the whole call fail,
        and the caller repeats it."""
        self._in_transactions([self._payment(erasure, row)] for row in rows)

    def rename_movements(self, erasure: Erasure, rows: Sequence[AttributeMap]) -> None:
        self._in_transactions(self._movement(erasure, row) for row in rows)

    def rename_accounts(self, erasure: Erasure, rows: Sequence[AttributeMap]) -> None:
        self._in_transactions(self._account(erasure, row) for row in rows)

    def _payment(self, erasure: Erasure, row: AttributeMap) -> dict[str, Any]:
        """The write that replaces a payment by its erased form under the same key: tenant and accounts have new names,
        texts, authors and executions are removed. A payment that changed since it was read is not replaced."""
        renamed = payment_row.attributes_of(
            erasure.payment(payment_row.payment_in(row)), listing_shards=self.listing_shards
        )
        return {
            "Put": {
                "TableName": self.tables["payments"],
                "Item": renamed | _mark(erasure) | {name: row[name] for name in _KEPT if name in row},
                "ConditionExpression": "tenant = :tenant AND version = :version",
                "ExpressionAttributeValues": {":tenant": {"S": erasure.of}, ":version": row["version"]},
            }
        }

    def _movement(self, erasure: Erasure, row: AttributeMap) -> list[dict[str, Any]]:
        movement = the_one(movement_row.MovementRow.from_raw_data(row), movement_row.movement_of)
        renamed = movement_row.attributes_of(erasure.movement(movement), listing_shards=self.listing_shards)
        return self._moved("journal", row, renamed, condition="attribute_exists(id)")

    def _account(self, erasure: Erasure, row: AttributeMap) -> list[dict[str, Any]]:
        account = account_row.account_of(account_row.AccountRow.from_raw_data(row))
        renamed = account_row.attributes_of(erasure.of_account(account)) | _mark(erasure)
        return self._moved(
            "accounts",
            row,
            renamed,
            condition="version = :version",
            ExpressionAttributeValues={":version": row["version"]},
        )

    def _moved(
        self, table: str, row: AttributeMap, renamed: AttributeMap, *, condition: str, **given: Any
    ) -> list[dict[str, Any]]:
        keys, name = OWNED[table].keys, self.tables[table]
        free = f"attribute_not_exists({keys[-1]})"
        gone = {"Key": {each: row[each] for each in keys}, "ConditionExpression": condition, **given}
        # A key cannot change: the new row is written, and the old one deleted, in one transaction.
        return [
            {"Put": {"TableName": name, "Item": renamed, "ConditionExpression": free}},
            {"Delete": {"TableName": name, **gone}},
        ]

    def _in_transactions(self, actions: Iterable[list[dict[str, Any]]]) -> None:
        left = iter(actions)
        while some := list(islice(left, RENAMED_AT_ONCE)):
            with translated():
                self.client.transact_write_items(TransactItems=[each for pair in some for each in pair])


def _mark(erasure: Erasure) -> AttributeMap:
    return {RENAMED: {"N": str(instants.milliseconds(erasure.began_at))}}
