"""Checks that a webhook is Postdate's: Standard Webhooks, HMAC with SHA-256 over id, timestamp and body."""

import base64
import binascii
import hashlib
import hmac
import time
from collections.abc import Iterable, Mapping
from typing import Final

TOLERANCE_SECONDS: Final = 300
_PREFIX: Final = "whsec_"


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

    `body` is the body as it arrived, before any parsing. Give both secrets while one is being rotated.
    """
    given = {name.lower(): value for name, value in headers.items()}
    try:
        id, sent_at, signatures = (given[f"webhook-{name}"] for name in ("id", "timestamp", "signature"))
    except KeyError as missing:
        raise Refused(f"the header {missing} is missing") from None
    if not (sent_at.isascii() and sent_at.isdigit()):
        raise Refused("the timestamp is not a number")
    if abs((time.time() if now is None else now) - int(sent_at)) > tolerance_seconds:
        raise Refused("the timestamp is too far from now")
    signed = f"{id}.{sent_at}.".encode() + body
    known = [_signature(secret, signed) for secret in ([secrets] if isinstance(secrets, str) else secrets)]
    shown = [text.removeprefix("v1,") for text in signatures.split() if text.startswith("v1,")]
    if not any(hmac.compare_digest(one.encode(), other.encode()) for one in shown for other in known):
        raise Refused("no signature fits")
    return id


def _signature(secret: str, signed: bytes) -> str:
    try:
        key = base64.b64decode(secret.removeprefix(_PREFIX), validate=True)
    except binascii.Error:
        raise ValueError("a signing secret is whsec_ and base64") from None
    return base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest()).decode()
