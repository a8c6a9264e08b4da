"""The store of API keys."""

from collections.abc import Sequence
from datetime import datetime
from typing import Final, Protocol

from postdate.stores.api_key import ApiKey


class Keys(Protocol):
    def get(self, id: str) -> ApiKey | None: ...

    def put(self, key: ApiKey) -> None:
        """Whole, whatever is there."""
        ...

    def add(self, key: ApiKey) -> bool:
        """False if there is a key of that id already."""
        ...

    def change(self, before: ApiKey, after: ApiKey) -> bool:
        """Writes the secrets, the expiry and the revocation of `after`. False if the key changed since `before`."""
        ...

    def spend(self, id: str, amount: int, *, most: int, day: str) -> bool:
        """Counts the amount for that day. False, and nothing is counted, if the day's sum would exceed `most`."""
        ...

    def give_back(self, id: str, amount: int, *, day: str) -> None:
        """Takes the amount off the sum of that day, unless another day has begun. A repeated request takes nothing off
        twice. If its answer was lost while another amount was given back, the amount stays counted."""
        ...

    def use(self, id: str, *, at: datetime, unless_since: datetime) -> None:
        """Notes that the key was used, unless a use since the second instant is noted."""
        ...

    def listed(self, tenant: str, *, after: str, limit: int) -> list[str]:
        """Ids of the tenant's keys behind that one, in order. A key made just now may be missing."""
        ...

    def some(self, ids: Sequence[str]) -> dict[str, ApiKey]: ...


# The attributes that a change writes, and those that it compares.
CHANGED: Final = ("secret_sha256", "before_sha256", "before_until", "expires_at", "revoked_at")
