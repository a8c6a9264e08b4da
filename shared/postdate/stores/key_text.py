"""The text of a key, `pd_<key id>_<secret><checksum>`, as a bearer shows it.

The checksum lets a scanner tell a leaked key from a text that only looks like one, and lets the API refuse a mistyped
key without reading a row. Keys of older releases have none; the length tells them apart.
"""

import secrets
import zlib
from collections.abc import Callable
from datetime import datetime
from typing import Final, NamedTuple

from postdate.stores.api_key import PREFIX, ApiKey
from postdate.stores.key_hashes import KeyHashes

_SECRET_BYTES: Final = 32
_SECRET_CHARACTERS: Final = 43
_CHECKSUM_CHARACTERS: Final = 6
_DIGITS: Final = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"


def new_id() -> str:
    return secrets.token_hex(8)


def new_secret(key_id: str) -> str:
    """A new random secret, with its checksum."""
    secret = secrets.token_urlsafe(_SECRET_BYTES)
    return secret + _checksum(bearer_text(key_id, secret))


def bearer_text(key_id: str, secret: str) -> str:
    return f"{PREFIX}_{key_id}_{secret}"


def split(bearer: str) -> tuple[str, str] | None:
    """Key id and secret, or None when the text is no key of ours."""
    prefix, _, rest = bearer.partition("_")
    key_id, _, secret = rest.partition("_")
    known = prefix == PREFIX and key_id.isalnum() and key_id.isascii() and secret != "" and len(bearer) <= 256
    return (key_id, secret) if known and _is_whole(bearer, secret) else None


def _is_whole(bearer: str, secret: str) -> bool:
    """False for a text with a wrong checksum. Texts of another length were made without one."""
    if len(secret) != _SECRET_CHARACTERS + _CHECKSUM_CHARACTERS:
        return True
    return bearer[-_CHECKSUM_CHARACTERS:] == _checksum(bearer[:-_CHECKSUM_CHARACTERS])


def _checksum(text: str) -> str:
    """CRC-32 in six digits of base 62, as other services' keys have it."""
    left, digits = zlib.crc32(text.encode()), ""
    for _ in range(_CHECKSUM_CHARACTERS):
        left, digit = divmod(left, len(_DIGITS))
        digits = _DIGITS[digit] + digits
    return digits


def parts_of(authorization: str) -> tuple[str, str] | None:
    """Key id and secret in an Authorization header; None unless it is a bearer's and of the form of our keys."""
    scheme, _, bearer = authorization.partition(" ")
    return split(bearer.strip()) if scheme.lower() == "bearer" else None


class Shown(NamedTuple):
    """A key that is good now, and the secret that it was shown with."""

    key: ApiKey
    secret: str


def accepted_key(
    authorization: str, key: Callable[[str], ApiKey | None], *, now: datetime, hashes: KeyHashes
) -> Shown | None:
    """For the authorizer and the API: the key in an Authorization header, and the secret sent with it. None unless it
    is a bearer key that exists and is good now."""
    parts = parts_of(authorization)
    found = None if parts is None else key(parts[0])
    if parts is None or found is None or not found.accepts(parts[1], now=now, hashes=hashes):
        return None
    return Shown(found, parts[1])
