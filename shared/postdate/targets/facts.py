"""The facts that a delivery carries beside its payload, in headers or message attributes."""

import base64
import hmac
from collections.abc import Iterable
from datetime import UTC, datetime

from postdate.targets.base import Delivery


def facts(delivery: Delivery, body: bytes, *, at: datetime) -> tuple[tuple[str, str], ...]:
    """`at` is the attempt's instant: a receiver refuses a signature that is minutes old, so each attempt signs anew."""
    timestamp = str(int(at.timestamp()))
    told = (
        ("Content-Type", "application/json"),
        ("Idempotency-Key", delivery.run_id),
        ("Postdate-Task-Id", delivery.task_id),
        ("Postdate-Run-Id", delivery.run_id),
        ("Postdate-Depth", str(delivery.depth_told)),
        ("Postdate-Attempt", str(delivery.attempt)),
        ("Postdate-Token", str(delivery.token)),
        ("Postdate-Planned-At", instant_text(delivery.planned_at)),
        ("webhook-id", delivery.run_id),
        ("webhook-timestamp", timestamp),
    )
    if not delivery.signing_secrets:
        return told
    signature = sign(delivery.signing_secrets, run_id=delivery.run_id, timestamp=timestamp, body=body)
    return (*told, ("webhook-signature", signature))


def sign(secrets: Iterable[str], *, run_id: str, timestamp: str, body: bytes) -> str:
    """Standard Webhooks 1.0: one `v1` signature for each secret that is live, separated by spaces."""
    signed = b".".join((run_id.encode(), timestamp.encode(), body))
    return " ".join(
        "v1," + base64.b64encode(hmac.digest(_key(secret), signed, "sha256")).decode() for secret in secrets
    )


def _key(secret: str) -> bytes:
    encoded = secret.removeprefix("whsec_")
    return base64.b64decode(encoded + "=" * (-len(encoded) % 4))


def instant_text(instant: datetime) -> str:
    return instant.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
