"""What runs of a tenant share while they are called: timelines of places, rooms, and breakers of destinations.

A circuit is a tenant's way to one destination; its breaker is the tenant's own.
"""

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Protocol, TypeAlias

from postdate.domain.breaker import Breaker
from postdate.domain.flow import Room

Circuit: TypeAlias = tuple[str, str]


class Timeline(StrEnum):
    """What a timeline gives away: the places of a flow key; of a circuit the turns at which its calls ask again and the
    numbers in which they begin after a recovery; and what a tenant may do in a time."""

    RATE = "rate#"
    TURNS = "turns#"
    STARTS = "starts#"
    QUOTA = "quota#"


class Flow(Protocol):
    def take(
        self, tenant: str, key: str, width: timedelta, *, now: datetime, of: Timeline = Timeline.RATE
    ) -> datetime:
        """Takes a stretch of the key's timeline and says where it begins: now, or where the last one taken ends. One
        whose answer gets lost is taken all the same, and stays empty."""

    def take_by(
        self,
        tenant: str,
        key: str,
        width: timedelta,
        *,
        now: datetime,
        latest: datetime,
        of: Timeline = Timeline.RATE,
    ) -> datetime | None:
        """Takes places of a key like `take`. None, and none are taken, if they would begin later than `latest`."""

    def ends(self, tenant: str, keys: Iterable[str]) -> Mapping[str, datetime]:
        """Up to when places of these keys are taken, as it is now or was a moment ago. Keys without places are left
        out."""

    def room(self, tenant: str, key: str) -> Room:
        """As it is now."""

    def change_room(self, tenant: str, key: str, before: Room, after: Room) -> bool:
        """False if others came in meanwhile. Runs that left meanwhile stay gone."""

    def stay(self, tenant: str, key: str, runs: Iterable[str], until: datetime) -> None:
        """Makes their leases longer."""

    def leave(self, tenant: str, key: str, runs: Iterable[str], *, stay: timedelta | None) -> None:
        """They are out; `stay` is how long runs stay, as they have it now."""

    def breakers(self, circuits: Iterable[Circuit]) -> Mapping[Circuit, Breaker]:
        """Of all of them, as they are now or were a moment ago."""

    def change_breaker(self, circuit: Circuit, before: Breaker, after: Breaker) -> bool:
        """False if it is no longer what it was decided from."""

    def states(self, tenant: str) -> Mapping[str, Breaker]:
        """The breakers of a tenant's destinations that something is held against."""
