"""The limits of AWS that the capacity model uses, each with its source and the month in which it was read.

The model takes them as a mapping from their names to numbers, so that one of them can be changed for a forecast.
"""

from collections.abc import Mapping
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


_LAMBDA: Final = "Lambda developer guide, "
_SCALING: Final = _LAMBDA + "Configuring scaling behavior for SQS event source mappings"
_CONCURRENCY: Final = _LAMBDA + "Understanding Lambda function scaling"
_DYNAMODB: Final = "DynamoDB developer guide, "
_QUOTAS: Final = _DYNAMODB + "Quotas in Amazon DynamoDB"

MAPPING_STARTS_WITH: Final = Limit(value=5, unit="batches at once", source=_SCALING)
MAPPING_ADDS: Final = Limit(value=300, unit="batches at once, a minute", source=_SCALING)
MAPPING_MAX: Final = Limit(value=1_250, unit="batches at once", source=_SCALING)
BATCH_MAX: Final = Limit(value=10, unit="messages a batch without a window", source=_SCALING)
POLLER_INVOKES: Final = Limit(value=10, unit="batches at once, a provisioned poller", source=_SCALING)
POLLER_RECEIVES: Final = Limit(
    value=10, unit="receives of ten messages a second, a provisioned poller", source=_SCALING
)
POLLERS_ADD: Final = Limit(
    value=1_000,
    unit="batches at once, a minute, with provisioned pollers",
    source="AWS News Blog, Provisioned mode for SQS event source mappings (2025-11)",
)
POLLERS_READY: Final = Limit(
    value=200, unit="provisioned pollers that stay ready", source="Lambda API, ProvisionedPollerConfig"
)
STARTS_AT_ONCE: Final = Limit(value=1_000, unit="new environments of a function at once", source=_CONCURRENCY)
STARTS_ADDED: Final = Limit(
    value=100, unit="further new environments of a function, a second", source=_CONCURRENCY
)
INVOCATIONS: Final = Limit(
    value=10, unit="invocations a second, a concurrent execution of the function", source=_CONCURRENCY
)
ACCOUNT_CONCURRENCY: Final = Limit(
    value=1_000,
    unit="concurrent executions, an account that AWS has not held back",
    source=_LAMBDA + "Lambda quotas",
    quota="Lambda: Concurrent executions",
)
IN_FLIGHT: Final = Limit(
    value=120_000,
    unit="received messages that are not deleted, a queue",
    source="SQS developer guide, Amazon SQS standard queue quotas",
    quota="SQS: in-flight messages (support request)",
)
PARTITION_WRITES: Final = Limit(
    value=1_000,
    unit="write units a second, a partition",
    source=_DYNAMODB + "Understanding DynamoDB warm throughput in different scenarios",
)
NEW_TABLE_WRITES: Final = Limit(
    value=4_000,
    unit="write units a second, a new table on demand or an index of it",
    source=_DYNAMODB + "Understanding DynamoDB warm throughput",
)
TABLE_WRITES_MAX: Final = Limit(
    value=40_000,
    unit="write units a second, a table on demand or an index of it",
    source=_QUOTAS,
    quota="DynamoDB: Table-level write throughput limit",
)
GATEWAY: Final = Limit(
    value=10_000,
    unit="requests a second, an account",
    source="API Gateway developer guide, Amazon API Gateway quotas",
    quota="API Gateway: Throttle rate (L-8A5B8E43)",
)

LIMITS: Final[Mapping[str, Limit]] = {
    name.lower(): each for name, each in list(globals().items()) if isinstance(each, Limit)
}


def stated() -> dict[str, float]:
    return {name: each.value for name, each in LIMITS.items()}
