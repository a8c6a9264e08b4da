"""Standard Webhooks 1.0 with the standard library: who sent a delivery, and when."""

import base64
import binascii
import hashlib
import hmac
from collections.abc import Mapping, Sequence
from typing import Final

TOLERANCE_SECONDS: Final = 300


class NotSigned(Exception):
    """No secret of ours signed this delivery within the last minutes."""


def verify(secrets: Sequence[str], headers: Mapping[str, str], body: bytes, *, now: float) -> None:
    """Raises NotSigned. The names of `headers` are in lower case; `now` is in seconds since 1970."""
    id, timestamp = headers.get("webhook-id", ""), headers.get("webhook-timestamp", "")
    if not (timestamp.isascii() and timestamp.isdigit()) or abs(now - int(timestamp)) > TOLERANCE_SECONDS:
        raise NotSigned("the timestamp is missing or too far away")
    signed = f"{id}.{timestamp}.".encode() + body
    expected = [hmac.digest(_key(secret), signed, hashlib.sha256) for secret in secrets]
    for part in headers.get("webhook-signature", "").split(" "):
        version, _, signature = part.partition(",")
        given = _decoded(signature)
        if version == "v1" and any(hmac.compare_digest(given, each) for each in expected):
            return
    raise NotSigned("no signature is by a secret of ours")


def _key(secret: str) -> bytes:
    encoded = secret.removeprefix("whsec_")
    return base64.b64decode(encoded + "=" * (-len(encoded) % 4))


def _decoded(signature: str) -> bytes:
    try:
        return base64.b64decode(signature, validate=True)
    except (binascii.Error, ValueError):
        return b""
