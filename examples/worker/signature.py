"""Standard Webhooks 1.0 with the standard library: who sent a delivery, and when."""

import base64
import binascii
import hashlib
import hmac
import re
from collections.abc import Mapping, Sequence
from typing import Final

TOLERANCE_SECONDS: Final = 300
_KEY_BYTES_MIN: Final = 24
_DIGITS: Final = re.compile("[0-9]{1,20}")


class NotSigned(Exception):
    """No secret of ours signed this delivery within the last minutes."""


def verify(secrets: Sequence[str], headers: Mapping[str, str], body: bytes, *, now: float) -> None:
    """Raises NotSigned, and ValueError for a secret that is too short. The names of `headers` are in lower case; `now`
    is in seconds since 1970."""
    keys = [_key(secret) for secret in secrets]
    id, timestamp = headers.get("webhook-id", ""), headers.get("webhook-timestamp", "")
    if not _DIGITS.fullmatch(timestamp) or abs(now - int(timestamp)) > TOLERANCE_SECONDS:
        raise NotSigned("the timestamp is missing or too far away")
    signed = f"{id}.{timestamp}.".encode() + body
    expected = [hmac.digest(key, signed, hashlib.sha256) for key in keys]
    for part in headers.get("webhook-signature", "").split(" "):
        version, _, signature = part.partition(",")
        given = _decoded(signature)
        if version == "v1" and any(hmac.compare_digest(given, each) for each in expected):
            return
    raise NotSigned("no signature is by a secret of ours")


def _key(secret: str) -> bytes:
    encoded = secret.removeprefix("whsec_")
    key = base64.b64decode(encoded + "=" * (-len(encoded) % 4))
    # With an empty secret anybody could sign.
    if len(key) < _KEY_BYTES_MIN:
        raise ValueError(f"a signing secret is whsec_ and base64 of at least {_KEY_BYTES_MIN} bytes")
    return key


def _decoded(signature: str) -> bytes:
    try:
        return base64.b64decode(signature, validate=True)
    except (binascii.Error, ValueError):
        return b""
