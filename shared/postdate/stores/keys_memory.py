"""Keys in memory, for tests."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from postdate.stores.api_key import ApiKey
from postdate.stores.keys import CHANGED


class MemoryKeys:
    def __init__(self, *keys: ApiKey) -> None:
        self._keys = {key.id: key for key in keys}
        self._spent = dict[str, tuple[str, int]]()

    def get(self, id: str) -> ApiKey | None:
        return self._keys.get(id)

    def put(self, key: ApiKey) -> None:
        self._keys[key.id] = key

    def add(self, key: ApiKey) -> bool:
        return self._keys.setdefault(key.id, key) is key

    def change(self, before: ApiKey, after: ApiKey) -> bool:
        stored = self._keys.get(after.id)
        if stored is None or any(getattr(stored, name) != getattr(before, name) for name in CHANGED):
            return False
        self._keys[after.id] = replace(stored, **{name: getattr(after, name) for name in CHANGED})
        return True

    def spend(self, id: str, amount: int, *, most: int, day: str) -> bool:
        begun, spent = self._spent.get(id, ("", 0))
        counted = amount if begun < day else spent + amount
        if id not in self._keys or counted > most:
            return False
        self._spent[id] = (max(begun, day), counted)
        return True

    def give_back(self, id: str, amount: int, *, day: str) -> None:
        begun, spent = self._spent.get(id, ("", 0))
        if begun == day:
            self._spent[id] = (day, spent - amount)

    def use(self, id: str, *, at: datetime, unless_since: datetime) -> None:
        key = self._keys.get(id)
        if key is not None and (key.last_used_at is None or key.last_used_at < unless_since):
            self._keys[id] = replace(key, last_used_at=at)

    def listed(self, tenant: str, *, after: str, limit: int) -> list[str]:
        own = sorted(key.id for key in self._keys.values() if key.tenant == tenant and key.id > after)
        return own[:limit]

    def some(self, ids: Sequence[str]) -> dict[str, ApiKey]:
        return {id: self._keys[id] for id in ids if id in self._keys}
