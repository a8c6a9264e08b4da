"""Whole tables read segment by segment, for the reconciliation. No request and no worker reads in this way."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final

from postdate.domain.reconciling import Accounts
from postdate.stores.account_row import id_of
from postdate.stores.attributes import AttributeMap
from postdate.stores.faults import translated

if TYPE_CHECKING:
    from botocore.client import BaseClient

_READ: Final = {
    "accounts": ("account", "tenant", "available", "reserved"),
    "payments": ("id", "tenant", "payer", "payee", "amount", "funding", "status", "points_to"),
    "journal": ("id", "tenant", "type", "payer", "payee", "amount", "payment_id"),
}
TABLES: Final = tuple(_READ)


@dataclass(frozen=True, kw_only=True, slots=True)
class ScanPage:
    """`after` is the key to go on behind; None at the end of the segment."""

    rows: Sequence[AttributeMap]
    after: AttributeMap | None


@dataclass(frozen=True, kw_only=True, slots=True)
class Scans:
    """`tables` are the full names by those in `TABLES`."""

    client: "BaseClient"
    tables: dict[str, str]

    def about(self, table: str) -> tuple[int, int]:
        """The number of rows and of bytes, some hours behind the truth."""
        with translated():
            found = self.client.describe_table(TableName=self.tables[table])["Table"]
        return int(found.get("ItemCount", 0)), int(found.get("TableSizeBytes", 0))

    def pages(
        self, table: str, *, segment: int, segments: int, after: AttributeMap | None
    ) -> Iterator[ScanPage]:
        """The pages of one segment behind a key. Raises Unavailable."""
        names = {f"#{name}": name for name in _READ[table]}
        asked: dict[str, Any] = {
            "TableName": self.tables[table],
            "Segment": segment,
            "TotalSegments": segments,
            "ProjectionExpression": ", ".join(names),
            "ExpressionAttributeNames": names,
        }
        while True:
            if after is not None:
                asked["ExclusiveStartKey"] = after
            with translated():
                answer = self.client.scan(**asked)
            after = answer.get("LastEvaluatedKey")
            yield ScanPage(rows=answer["Items"], after=after)
            if after is None:
                return


def added(accounts: Accounts, table: str, row: AttributeMap, *, at: datetime) -> None:
    """Adds one row to the sums of a run that began at this instant."""
    if table == "accounts":
        accounts.add_account(
            row["tenant"]["S"],
            id_of(row["account"]["S"]),
            available=int(row["available"]["N"]),
            reserved=int(row["reserved"]["N"]),
        )
        return
    if "points_to" in row:
        # A pointer to a payment that was moved to another instant: the payment's own row has the money.
        return
    values: dict[str, Any] = {
        name: row[name]["S"] if name in row else None for name in ("id", "tenant", "payer", "payee")
    }
    values["amount"] = int(row["amount"]["N"])
    if table == "payments":
        accounts.add_payment(
            values
            | {"state": row["status"]["S"], "funding": row["funding"]["S"] if "funding" in row else None},
            at=at,
        )
    else:
        payment = row["payment_id"]["S"] if "payment_id" in row else None
        accounts.add_movement(values | {"type": row["type"]["S"], "payment": payment}, at=at)
