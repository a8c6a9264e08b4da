"""Flow in dictionaries: the twin for tests of the rules, held to the same contract."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import datetime, timedelta

from postdate.domain.breaker import Breaker
from postdate.domain.flow import Room
from postdate.stores.flow import Circuit, Timeline

_Name = tuple[str, str]


class MemoryFlow:
    def __init__(self) -> None:
        self._timelines: dict[_Name, datetime] = {}
        self._rooms: dict[_Name, Room] = {}
        self._breakers: dict[Circuit, Breaker] = {}

    def take(
        self, tenant: str, key: str, width: timedelta, *, now: datetime, of: Timeline = Timeline.RATE
    ) -> datetime:
        begin = max(now, self._timelines.get((tenant, of + key), now))
        self._timelines[tenant, of + key] = begin + width
        return begin

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
        ends = self._timelines.get((tenant, of + key), now)
        return None if max(now, ends) > latest else self.take(tenant, key, width, now=now, of=of)

    def ends(self, tenant: str, keys: Iterable[str]) -> Mapping[str, datetime]:
        return {key: ends for key in keys if (ends := self._timelines.get((tenant, Timeline.RATE + key)))}

    def room(self, tenant: str, key: str) -> Room:
        return self._rooms.get((tenant, key), Room())

    def change_room(self, tenant: str, key: str, before: Room, after: Room) -> bool:
        now = self.room(tenant, key)
        if now.version != before.version:
            return False
        entered = {run: end for run, end in after.runs.items() if before.runs.get(run) != end}
        runs = {run: end for run, end in now.runs.items() if run in after.runs} | entered
        self._rooms[tenant, key] = replace(after, runs=runs, stay=now.stay if now.version else after.stay)
        return True

    def stay(self, tenant: str, key: str, runs: Iterable[str], until: datetime) -> None:
        room = self.room(tenant, key)
        longer = {run: until for run in runs if run in room.runs}
        if longer:
            self._rooms[tenant, key] = replace(room, runs={**room.runs, **longer}, version=room.version + 1)

    def leave(self, tenant: str, key: str, runs: Iterable[str], *, stay: timedelta | None) -> None:
        room, gone = self.room(tenant, key), set(runs)
        if room.version:
            left = {run: end for run, end in room.runs.items() if run not in gone}
            self._rooms[tenant, key] = replace(room, runs=left, stay=room.stay if stay is None else stay)

    def breakers(self, circuits: Iterable[Circuit]) -> Mapping[Circuit, Breaker]:
        return {circuit: self._breakers.get(circuit, Breaker()) for circuit in circuits}

    def change_breaker(self, circuit: Circuit, before: Breaker, after: Breaker) -> bool:
        if self._breakers.get(circuit, Breaker()).version != before.version:
            return False
        self._breakers[circuit] = after
        return True

    def states(self, tenant: str) -> Mapping[str, Breaker]:
        return {
            name: breaker
            for (whose, name), breaker in self._breakers.items()
            if whose == tenant and breaker.failures
        }
