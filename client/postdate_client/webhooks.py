"""Checks that a webhook is Postdate's: Standard Webhooks, HMAC with SHA-256 over id, timestamp and body."""

import base64
import hashlib
import hmac
import time
from collections.abc import Iterable, Mapping
from typing import Final

TOLERANCE_SECONDS: Final = 300
_PREFIX: Final = "whsec_"
# The shortest secret of Standard Webhooks. Postdate's own have 32 bytes.
_SECRET_BYTES_MIN: Final = 24
# Python refuses to read a number of thousands of digits.
_DIGITS_MAX: Final = 20


class Refused(Exception):
    """The request is not Postdate's, or is too old to tell. Answer 401 and do nothing."""


def verify(
    body: bytes,
    headers: Mapping[str, str],
    secrets: str | Iterable[str],
    *,
    now: float | None = None,
    tolerance_seconds: float = TOLERANCE_SECONDS,
) -> str:
    """The id of the delivery, the same for all attempts of a run. Raises Refused.

    `body` is the body as it arrived, before any parsing. Give both secrets while one is being rotated. Raises
    ValueError for a text that is no signing secret, such as an empty one: anybody could sign with it.
    """
    keys = [_key(secret) for secret in ([secrets] if isinstance(secrets, str) else secrets)]
    given = {name.lower(): value for name, value in headers.items()}
    try:
        id, sent_at, signatures = (given[f"webhook-{name}"] for name in ("id", "timestamp", "signature"))
    except KeyError as missing:
        raise Refused(f"the header {missing} is missing") from None
    if not (sent_at.isascii() and sent_at.isdigit() and len(sent_at) <= _DIGITS_MAX):
        raise Refused("the timestamp is not a number")
    if abs((time.time() if now is None else now) - int(sent_at)) > tolerance_seconds:
        raise Refused("the timestamp is too far from now")
    signed = f"{id}.{sent_at}.".encode() + body
    expected = [_signature(key, signed) for key in keys]
    shown = [text.removeprefix("v1,") for text in signatures.split() if text.startswith("v1,")]
    if not any(hmac.compare_digest(one.encode(), other.encode()) for one in shown for other in expected):
        raise Refused("no signature fits")
    return id


def _key(secret: str) -> bytes:
    try:
        key = base64.b64decode(secret.removeprefix(_PREFIX), validate=True)
    except ValueError:
        key = b""
    if len(key) < _SECRET_BYTES_MIN:
        raise ValueError(f"a signing secret is whsec_ and base64 of at least {_SECRET_BYTES_MIN} bytes")
    return key


def _signature(key: bytes, signed: bytes) -> str:
    return base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest()).decode()
