"""Data keys in memory, for tests."""

import secrets
from datetime import datetime
from threading import Lock

from postdate.domain.errors import NotFound
from postdate.stores.data_keys import KEY_BYTES, DataKey, not_begun


class MemoryDataKeys:
    def __init__(self) -> None:
        self.keys = dict[str, bytes]()
        self.later = dict[str, tuple[DataKey, ...]]()
        self._lock = Lock()

    def get(self, owner: str) -> bytes | None:
        return self.keys.get(owner)

    def all(self, owner: str) -> tuple[DataKey, ...]:
        first = self.get(owner)
        return () if first is None else (DataKey(key=first), *self.later.get(owner, ()))

    def replace(self, owner: str, *, seals_from: datetime, now: datetime) -> None:
        if owner not in self.keys:
            raise NotFound(f"{owner} has no data key")
        new = DataKey(key=secrets.token_bytes(KEY_BYTES), seals_from=seals_from)
        with self._lock:
            before = self.later.get(owner, ())
            if before and before[-1].seals_from is not None and before[-1].seals_from > now:
                raise not_begun(owner)
            self.later[owner] = (*before, new)

    def provide(self, owner: str) -> bytes:
        return self.keys.setdefault(owner, secrets.token_bytes(KEY_BYTES))
