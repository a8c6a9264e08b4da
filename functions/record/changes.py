"""The records of a stream: a row before and after one change."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from postdate.domain.erasing import RENAMED
from postdate.stores.attributes import AttributeMap


@dataclass(frozen=True, kw_only=True, slots=True)
class Change:
    """One change of one row."""

    # The name of the table, as the function is given it.
    table: str
    # The place of the record in its shard, by which a batch reports failures.
    number: str
    # The key of the row.
    keys: AttributeMap
    # The row before the change; empty for a new row.
    before: AttributeMap
    # The row behind the change.
    after: AttributeMap


def change_of(record: Mapping[str, Any]) -> Change | None:
    """Reads a record of a stream; None for a row that was removed, because an expiry is no version, and for a row that
    got new names by an erasure: the image before has the old ones."""
    images = record["dynamodb"]
    if "NewImage" not in images or RENAMED in images["NewImage"]:
        return None
    # arn:aws:dynamodb:<region>:<account>:table/<name>/stream/<label>
    table = record["eventSourceARN"].rpartition(":table/")[2].partition("/")[0]
    return Change(
        table=table,
        number=images["SequenceNumber"],
        keys=images["Keys"],
        before=images.get("OldImage") or {},
        after=images["NewImage"],
    )
