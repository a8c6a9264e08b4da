"""The limits of AWS that the capacity model uses, each with its source and the month in which it was read."""

from dataclasses import dataclass
from typing import Final

_READ: Final = "2026-11"


@dataclass(frozen=True, kw_only=True, slots=True)
class Limit:
    """`quota` is the name of the quota to raise, if AWS raises it."""

    value: float
    unit: str
    source: str
    quota: str | None = None
    read: str = _READ


_SCALING = "Lambda developer guide, Configuring scaling behavior for SQS event source mappings"
_PARTITION = "DynamoDB developer guide, Best practices for partition keys"

MAPPING_STARTS_WITH: Final = Limit(value=5, unit="batches at once", source=_SCALING)
MAPPING_ADDS: Final = Limit(value=300, unit="batches at once, a minute", source=_SCALING)
MAPPING_MAX: Final = Limit(value=1_250, unit="batches at once", source=_SCALING)
BATCH_MAX: Final = Limit(value=10, unit="messages a batch without a window", source=_SCALING)
PARTITION_WRITES: Final = Limit(value=1_000, unit="write units a second, a partition", source=_PARTITION)
NEW_TABLE_WRITES: Final = Limit(
    value=4_000,
    unit="write units a second, a new table on demand",
    source="DynamoDB developer guide, Understanding DynamoDB warm throughput",
)
TABLE_WRITES_MAX: Final = Limit(
    value=40_000,
    unit="write units a second, a table",
    source="DynamoDB developer guide, Quotas",
    quota="DynamoDB: Table-level write throughput limit",
)
