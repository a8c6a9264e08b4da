"""A tenant as the description of the API shows it."""

from typing import Any, Final

QUEUE: Final = "https://sqs.eu-central-1.amazonaws.com/111122223333/postdate-destination-acme"
ACME: Final[dict[str, Any]] = {
    "tenant_id": "acme",
    "status": "ACTIVE",
    "suspended_because": None,
    "pending": None,
    "tier": "standard",
    "quotas": {"registered_per_second": 1000, "runs_in_flight": None},
    "queues": [QUEUE],
    "topics": [],
    "buses": [],
    "default_target": {"type": "sqs", "queue_url": QUEUE},
    "spread_seconds": 0,
    "erased_as": None,
    "erasure": None,
    "version": 1,
}
