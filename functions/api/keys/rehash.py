"""Replaces hashes of API keys that an older release stored."""

from contextlib import suppress
from dataclasses import dataclass

from postdate.domain.errors import Unavailable
from postdate.stores.key_hashes import KeyHashes
from postdate.stores.key_text import Shown
from postdate.stores.keys import Keys


@dataclass(frozen=True, kw_only=True, slots=True)
class Rehash:
    keys: Keys
    hashes: KeyHashes

    def keep(self, shown: Shown) -> None:
        """Stores a keyed hash of the secret that was shown. If that fails, the next request does it."""
        with suppress(Unavailable):
            keyed = shown.key.keyed(shown.secret, self.hashes)
            if keyed != shown.key:
                self.keys.change(shown.key, keyed)
