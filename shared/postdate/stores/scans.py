"""Whole tables read segment by segment, for the reconciliation. No request and no worker reads in this way.

A page has thousands of rows, and the parser of botocore takes far longer for a row than its sums: it looks for each of
the ten types of an attribute. The attributes that are asked for here are texts and numbers, which JSON has as they are.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from postdate.domain.reconciled_sums import Accounts
from postdate.domain.retention import archived_at
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
_OK: Final = 200
_Archived: TypeAlias = Callable[[str | None], bool]
_as_json: Final = ContextVar("as_json", default=False)


@dataclass(frozen=True, kw_only=True, slots=True)
class ScanPage:
    """One answer of a scan."""

    # The rows, with the attributes of `_READ` alone.
    rows: Sequence[AttributeMap]
    # The key behind which the next page begins; None at the end of the segment.
    after: AttributeMap | None


@dataclass(frozen=True, kw_only=True, slots=True)
class Scans:
    """`tables` are the full names by those in `TABLES`."""

    client: "BaseClient"
    tables: dict[str, str]

    def __post_init__(self) -> None:
        events = self.client.meta.events
        events.register("before-parse.dynamodb.Scan", _parsed, unique_id="scans-as-json")

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
            with translated(), _plainly():
                answer = self.client.scan(**asked)
            after = answer.get("LastEvaluatedKey")
            yield ScanPage(rows=answer["Items"], after=after)
            if after is None:
                return


@contextmanager
def _plainly() -> Iterator[None]:
    """Answers of scans are taken as the JSON that they are."""
    token = _as_json.set(True)
    try:
        yield
    finally:
        _as_json.reset(token)


def _parsed(response_dict: dict[str, Any], customized_response_dict: dict[str, Any], **_: object) -> None:
    """Leaves the parser of botocore an empty answer. Errors are its own."""
    if _as_json.get() and response_dict["status_code"] == _OK:
        customized_response_dict.update(json.loads(response_dict["body"]))
        response_dict["body"] = b"{}"


def added(accounts: Accounts, table: str, rows: Iterable[AttributeMap], *, at: datetime) -> None:
    """Adds rows to the sums of a run that began at this instant."""
    _ADDED[table](accounts, rows, archived_at(at))


def _added_accounts(accounts: Accounts, rows: Iterable[AttributeMap], _: _Archived) -> None:
    for row in rows:
        accounts.add_account(
            row["tenant"]["S"],
            id_of(row["account"]["S"]),
            available=int(row["available"]["N"]),
            reserved=int(row["reserved"]["N"]),
        )


def _added_payments(accounts: Accounts, rows: Iterable[AttributeMap], archived: _Archived) -> None:
    for row in rows:
        # A pointer to a payment that was moved to another instant: the payment's own row has the money.
        if "points_to" not in row:
            accounts.add_payment(
                row["id"]["S"],
                tenant=row["tenant"]["S"],
                payer=row["payer"]["S"],
                payee=row["payee"]["S"],
                amount=int(row["amount"]["N"]),
                funding=row["funding"]["S"] if "funding" in row else None,
                state=row["status"]["S"],
                archived=archived,
            )


def _added_movements(accounts: Accounts, rows: Iterable[AttributeMap], archived: _Archived) -> None:
    for row in rows:
        accounts.add_movement(
            row["id"]["S"],
            tenant=row["tenant"]["S"],
            type=row["type"]["S"],
            payer=row["payer"]["S"] if "payer" in row else None,
            payee=row["payee"]["S"] if "payee" in row else None,
            amount=int(row["amount"]["N"]),
            payment=row["payment_id"]["S"] if "payment_id" in row else None,
            archived=archived,
        )


_ADDED: Final = {"accounts": _added_accounts, "payments": _added_payments, "journal": _added_movements}
