"""Subscriptions: rows of a tenant, each with a version that every change is conditional on."""

from threading import Lock
from typing import Protocol

from postdate.domain.subscription import State, Subscription


class Subscriptions(Protocol):
    def get(self, tenant: str, id: str) -> Subscription | None:
        """The subscription, by a consistent read; None if there is none."""

    def all(self, tenant: str) -> list[Subscription]:
        """All subscriptions of the tenant, ended ones too, in the order of their ids, by a consistent read."""

    def add(self, subscription: Subscription) -> bool:
        """False if there is one of that id already."""

    def change(self, after: Subscription) -> bool:
        """False if the row is not of the version before `after`."""


def live(subscriptions: Subscriptions, tenant: str) -> list[Subscription]:
    """The subscriptions that have not ended, paused ones too."""
    return [each for each in subscriptions.all(tenant) if each.state is not State.ENDED]


class MemorySubscriptions:
    def __init__(self) -> None:
        self._lock = Lock()
        self._kept: dict[tuple[str, str], Subscription] = {}

    def get(self, tenant: str, id: str) -> Subscription | None:
        return self._kept.get((tenant, id))

    def all(self, tenant: str) -> list[Subscription]:
        return [self._kept[key] for key in sorted(self._kept) if key[0] == tenant]

    def add(self, subscription: Subscription) -> bool:
        with self._lock:
            return self._kept.setdefault((subscription.tenant, subscription.id), subscription) == subscription

    def change(self, after: Subscription) -> bool:
        key = after.tenant, after.id
        with self._lock:
            known = self._kept.get(key)
            if known is None or known.version != after.version - 1:
                return known == after
            self._kept[key] = after
            return True
