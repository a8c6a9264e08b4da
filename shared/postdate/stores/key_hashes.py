"""Hashes of API keys, keyed by a data key of the service: a copy of the table makes no key and finds none.

The data key is in no table in readable form (see `data_keys`). A process asks KMS for it once.
"""

import hashlib
import hmac
from typing import Final

from postdate.domain.errors import Unavailable
from postdate.stores.data_keys import DataKeys

# No tenant has this name: it has a character that names of tenants do not have.
OWNER: Final = "@keys"
_MARK: Final = "k1."


class KeyHashes:
    def __init__(self, data_keys: DataKeys) -> None:
        self._data_keys = data_keys
        self._key: bytes | None = None

    def of(self, secret: str) -> str:
        """The hash of a new secret. Makes the data key if there is none. Raises Unavailable."""
        if self._key is None:
            self._key = self._data_keys.provide(OWNER)
        return self._keyed(self._key, secret)

    def fits(self, stored: str, secret: str) -> bool:
        """True if the hash is that of the secret, keyed or of an older release. Compared in constant time. Raises
        Unavailable if that cannot be told now."""
        given = self._keyed(self._known(), secret) if is_keyed(stored) else plain_hash_of(secret)
        return hmac.compare_digest(stored, given)

    def _known(self) -> bytes:
        if self._key is None:
            self._key = self._data_keys.get(OWNER)
        if self._key is None:
            raise Unavailable("the key for hashes is missing")
        return self._key

    @staticmethod
    def _keyed(key: bytes, secret: str) -> str:
        return _MARK + hmac.digest(key, secret.encode(), "sha256").hex()


def is_keyed(stored: str) -> bool:
    return stored.startswith(_MARK)


def plain_hash_of(secret: str) -> str:
    """A hash without a key, as older releases stored it."""
    return hashlib.sha256(secret.encode()).hexdigest()
