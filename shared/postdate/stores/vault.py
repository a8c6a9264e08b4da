"""Secrets as rows keep them: sealed by the data key of their owner, and bound to that owner and to a purpose.

AES-SIV (RFC 5297) seals equal texts of one owner and purpose to equal texts. A repeated request therefore writes the
same row, and the beginning of the sealed text is a keyed hash, which answers show in place of the secret.
"""

import base64
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, Final

from postdate.domain.errors import SecretBroken, Unavailable
from postdate.domain.sealed import MARK, is_sealed
from postdate.domain.task import Destination
from postdate.runtime.cached import Cached
from postdate.runtime.clock import Clock
from postdate.stores.data_keys import DataKeys

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.ciphers.aead import AESSIV

SIGNING: Final = "signing-secret"
# A data key outlives its owner's erasure in a copy of a function for this long.
_KEPT: Final = timedelta(hours=1)
# AES-SIV takes no empty text.
_PAD: Final = b"\x01"


class Vault:
    """One for each copy of a function: it asks KMS once an hour for each owner, and never for an item."""

    def __init__(self, *, data_keys: DataKeys, clock: Clock) -> None:
        self._data_keys = data_keys
        self._known = Cached(self._loaded, keep=_KEPT, clock=clock)

    def seal(self, owner: str, purpose: str, text: str) -> str:
        """Makes the owner's data key if there is none. Raises Unavailable."""
        cipher = self._known.get(owner)
        if cipher is None:
            self._data_keys.provide(owner)
            cipher = self._cipher(owner)
        sealed = cipher.encrypt(_PAD + text.encode(), _bound_to(owner, purpose))
        return MARK + base64.urlsafe_b64encode(sealed).decode().rstrip("=")

    def open(self, owner: str, purpose: str, text: str) -> str:
        """A text of a release that sealed nothing is returned as it is. Raises Unavailable, and SecretBroken for a text
        that was changed, or sealed for another owner or purpose."""
        if not is_sealed(text):
            return text
        from cryptography.exceptions import InvalidTag

        encoded = text.removeprefix(MARK)
        try:
            sealed = base64.urlsafe_b64decode(encoded + "=" * (-len(encoded) % 4))
            opened = self._cipher(owner).decrypt(sealed, _bound_to(owner, purpose))
        except (InvalidTag, ValueError) as error:
            raise SecretBroken(f"a secret of {owner} does not open") from error
        return opened.removeprefix(_PAD).decode()

    def sealed(self, owner: str, destination: Destination) -> Destination:
        """The destination as rows keep it: no value of a header is readable."""
        if not destination.headers:
            return destination
        sealed = [(name, self.seal(owner, _header(name), value)) for name, value in destination.headers]
        return replace(destination, headers=(), sealed=(*destination.sealed, *sealed))

    def opened(self, owner: str, destination: Destination) -> Destination:
        """The destination as a target needs it. Raises as `open` does."""
        if not destination.sealed:
            return destination
        opened = [(name, self.open(owner, _header(name), text)) for name, text in destination.sealed]
        return replace(destination, headers=(*destination.headers, *opened), sealed=())

    def _cipher(self, owner: str) -> "AESSIV":
        cipher = self._known.get(owner)
        if cipher is None:
            raise Unavailable(f"{owner} has no data key")
        return cipher

    def _loaded(self, owner: str) -> "AESSIV | None":
        # Loaded at the first secret: many copies of a function never meet one.
        from cryptography.hazmat.primitives.ciphers.aead import AESSIV

        key = self._data_keys.get(owner)
        return None if key is None else AESSIV(key)


def _bound_to(owner: str, purpose: str) -> list[bytes]:
    return [owner.encode(), purpose.encode()]


def _header(name: str) -> str:
    return f"header {name.lower()}"
