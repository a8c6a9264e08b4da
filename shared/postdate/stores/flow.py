"""The shared state of a tenant's runs: timelines of places, rooms, settings of flow keys, breakers.

A circuit is a tenant's way to one destination; its breaker is the tenant's own.
"""

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Protocol, TypeAlias

from postdate.domain.breaker import Breaker
from postdate.domain.flow import Room
from postdate.domain.flow_key import FlowKey, Used

Circuit: TypeAlias = tuple[str, str]
# Tenant and key.
Key: TypeAlias = tuple[str, str]


class Timeline(StrEnum):
    """The kinds of timelines. RATE gives the places of a flow key; PAUSE the turns at which the runs of a paused key
    ask again; TURNS the turns at which the calls of a circuit ask again; STARTS the order in which they begin after a
    recovery; QUOTA the registrations of a tenant in a period, REQUESTS those of an API key."""

    RATE = "rate#"
    PAUSE = "pause#"
    TURNS = "turns#"
    STARTS = "starts#"
    QUOTA = "quota#"
    REQUESTS = "requests#"


class Flow(Protocol):
    def take(
        self, tenant: str, key: str, width: timedelta, *, now: datetime, of: Timeline = Timeline.RATE
    ) -> datetime:
        """Reserves the next stretch of length `width` on the key's timeline and returns its beginning: `now`, or the
        end of the last stretch if that is later. If the answer is lost, the stretch stays reserved and unused."""

    def take_by(
        self,
        tenant: str,
        key: str,
        width: timedelta,
        *,
        now: datetime,
        latest: datetime,
        of: Timeline = Timeline.RATE,
        count: int = 1,
    ) -> datetime | None:
        """Takes `count` places of a key like `take`. None, and none are taken, if they would begin later than
        `latest`."""

    def ends(
        self, tenant: str, keys: Iterable[str], *, of: Timeline = Timeline.RATE
    ) -> Mapping[str, datetime]:
        """Up to when places of these keys are taken, as it is now or was a moment ago. Keys without places are left
        out."""

    def add(
        self, tenant: str, name: str, counts: Mapping[int, int], *, since: int, now: datetime
    ) -> Mapping[int, int]:
        """Adds to the tenant's numbered counters of this name. Returns those from the number `since` on; the ones
        before may be forgotten. An addition whose answer gets lost may be made twice."""

    def counts(self, tenant: str, name: str, *, since: int) -> Mapping[int, int]:
        """The counters from the number `since` on, as they are now or were a moment ago."""

    def room(self, tenant: str, key: str) -> Room:
        """The room of a flow key, by a consistent read."""

    def change_room(self, tenant: str, key: str, before: Room, after: Room) -> bool:
        """False if others came in meanwhile. Runs that left meanwhile stay gone."""

    def stay(self, tenant: str, key: str, runs: Iterable[str], until: datetime) -> None:
        """Makes their leases longer."""

    def leave(self, tenant: str, key: str, runs: Iterable[str], *, stay: timedelta | None) -> None:
        """Removes runs from the room of a flow key; `stay` is the present length of a stay."""

    def keys(self, keys: Iterable[Key]) -> Mapping[Key, FlowKey]:
        """Settings of these keys; they may be a moment old. Raises Unavailable if one of them cannot be read."""

    def key(self, key: Key) -> FlowKey:
        """Settings of one key, read consistently."""

    def change_key(self, key: Key, before: FlowKey, after: FlowKey) -> bool:
        """False if it is no longer what it was decided from. Runs that are counted meanwhile do not matter."""

    def add_waiting(self, key: Key, more: int) -> None:
        """Adds `more` runs, above 0, to the count of those that a paused key has put off. The count falls only at the
        end of the pause. Does nothing for a key that is not paused."""

    def used(self, tenant: str, keys: Iterable[str]) -> Mapping[str, Used]:
        """Settings of these keys with their places and rooms, read consistently."""

    def keys_listed(self, tenant: str, *, after: str, limit: int) -> list[str]:
        """Keys that were set, or used in the last days, in the order of their names in UTF-8."""

    def breakers(self, circuits: Iterable[Circuit]) -> Mapping[Circuit, Breaker]:
        """Returns the breakers of all these circuits; a breaker may be some moments old."""

    def change_breaker(self, circuit: Circuit, before: Breaker, after: Breaker) -> bool:
        """False if it is no longer what it was decided from."""

    def count_behind_breaker(self, circuit: Circuit, more: int) -> None:
        """Counts calls that an open breaker has put off; does nothing for one that has closed meanwhile."""

    def states(self, tenant: str) -> Mapping[str, Breaker]:
        """The breakers of a tenant's destinations that something is held against: failures, or slowness."""

    def needing_attention(self, *, limit: int, tenant: str | None = None) -> tuple[list[Circuit], list[Key]]:
        """Circuits whose breakers are open, and keys that are paused, of one tenant or of all; a moment behind, and at
        most so many of each."""
