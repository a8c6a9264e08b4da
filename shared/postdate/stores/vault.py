"""Secrets as rows keep them: sealed by the data key of their owner, and bound to that owner and to a purpose.

AES-SIV (RFC 5297) seals equal texts of one owner and purpose to equal texts. A repeated request therefore writes the
same row, and the beginning of the sealed text is a keyed hash, which answers show in place of the secret.

After a data key was replaced, each of the owner's keys opens what it sealed. The newest that has begun to seal seals. A
sealed text does not say which key sealed it: the keys are tried, the newest first. So its form never changes, and code
of the release before opens what the keys that it knows have sealed.
"""

import base64
from dataclasses import replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Final, TypeAlias

from postdate.domain.errors import SecretBroken, Unavailable
from postdate.domain.sealed import MARK, is_sealed
from postdate.domain.task import Destination
from postdate.runtime.cached import Cached
from postdate.runtime.clock import Clock
from postdate.stores.data_keys import DataKeys

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.ciphers.aead import AESSIV

    # The oldest first, each with the instant from which it seals.
    _Ciphers: TypeAlias = tuple[tuple[AESSIV, datetime | None], ...]

SIGNING: Final = "signing-secret"
# A data key outlives its owner's erasure in a copy of a function for this long. After it a new one is known everywhere.
KEPT: Final = timedelta(hours=1)
# AES-SIV takes no empty text.
_PAD: Final = b"\x01"


class Vault:
    """Seals and opens texts. The vault of a copy of a function asks KMS once an hour for each owner, and never for an
    item."""

    def __init__(self, *, data_keys: DataKeys, clock: Clock) -> None:
        self._data_keys = data_keys
        self._known = Cached(self._loaded, keep=KEPT, clock=clock)
        self._clock = clock

    def seal(self, owner: str, purpose: str, text: str) -> str:
        """Makes the owner's data key if there is none. Raises Unavailable."""
        if self._known.get(owner) is None:
            self._data_keys.provide(owner)
        sealed = self._sealing(owner).encrypt(_PAD + text.encode(), _bound_to(owner, purpose))
        return MARK + base64.urlsafe_b64encode(sealed).decode().rstrip("=")

    def has_key(self, owner: str) -> bool:
        """Makes none. Raises Unavailable."""
        return self._known.get(owner) is not None

    def open(self, owner: str, purpose: str, text: str) -> str:
        """A text of a release that sealed nothing is returned as it is. Raises Unavailable, and SecretBroken for a text
        that was changed, or sealed for another owner or purpose."""
        if not is_sealed(text):
            return text
        encoded = text.removeprefix(MARK)
        try:
            sealed = base64.urlsafe_b64decode(encoded + "=" * (-len(encoded) % 4))
        except ValueError as error:
            raise SecretBroken(f"a secret of {owner} does not open") from error
        for cipher, _ in reversed(self._ciphers(owner)):
            if (opened := _opened(cipher, sealed, _bound_to(owner, purpose))) is not None:
                return opened.removeprefix(_PAD).decode()
        raise SecretBroken(f"a secret of {owner} does not open")

    def renewed(self, owner: str, purpose: str, text: str) -> str:
        """The text sealed by the key that seals now; the same text if it is. Costs nothing while the owner has one
        key. Raises as `open` does."""
        return (
            text
            if len(self._ciphers(owner)) == 1
            else self.seal(owner, purpose, self.open(owner, purpose, text))
        )

    def sealed(self, owner: str, destination: Destination) -> Destination:
        """The destination as rows keep it: no value of a header is readable."""
        if not destination.headers:
            return destination
        sealed = [(name, self.seal(owner, _header(name), value)) for name, value in destination.headers]
        return replace(destination, headers=(), sealed=(*destination.sealed, *sealed))

    def renewed_headers(self, owner: str, destination: Destination) -> Destination:
        """The destination with all headers sealed by the current data key; the same object if they are already. Raises
        as `open` does."""
        if not destination.sealed or len(self._ciphers(owner)) == 1:
            return destination
        renewed = tuple((name, self.renewed(owner, _header(name), text)) for name, text in destination.sealed)
        return destination if renewed == destination.sealed else replace(destination, sealed=renewed)

    def opened(self, owner: str, destination: Destination) -> Destination:
        """The destination as a target needs it. Raises as `open` does."""
        if not destination.sealed:
            return destination
        opened = [(name, self.open(owner, _header(name), text)) for name, text in destination.sealed]
        return replace(destination, headers=(*destination.headers, *opened), sealed=())

    def _sealing(self, owner: str) -> "AESSIV":
        now = self._clock.now()
        return next(
            cipher for cipher, begins in reversed(self._ciphers(owner)) if begins is None or begins <= now
        )

    def _ciphers(self, owner: str) -> "_Ciphers":
        ciphers = self._known.get(owner)
        if ciphers is None:
            raise Unavailable(f"{owner} has no data key")
        return ciphers

    def _loaded(self, owner: str) -> "_Ciphers | None":
        # Loaded at the first secret: many copies of a function never meet one.
        from cryptography.hazmat.primitives.ciphers.aead import AESSIV

        return tuple((AESSIV(each.key), each.seals_from) for each in self._data_keys.all(owner)) or None


def _opened(cipher: "AESSIV", sealed: bytes, bound_to: list[bytes]) -> bytes | None:
    """The opened text; None for a text that another key sealed, or that was changed."""
    from cryptography.exceptions import InvalidTag

    try:
        return cipher.decrypt(sealed, bound_to)
    except (InvalidTag, ValueError):
        return None


def _bound_to(owner: str, purpose: str) -> list[bytes]:
    return [owner.encode(), purpose.encode()]


def _header(name: str) -> str:
    return f"header {name.lower()}"
