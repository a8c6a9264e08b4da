"""Flow in dictionaries: the twin for tests of the rules, held to the same contract."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import datetime, timedelta

from postdate.domain.breaker import Breaker
from postdate.domain.flow import Places, Room
from postdate.domain.flow_key import FlowKey, Used
from postdate.stores.flow import Circuit, Key, Timeline

_Name = tuple[str, str]


class MemoryFlow:
    def __init__(self) -> None:
        self._timelines: dict[_Name, datetime] = {}
        self._steps: dict[_Name, timedelta] = {}
        self._rooms: dict[_Name, Room] = {}
        self._keys: dict[Key, FlowKey] = {}
        self._counters: dict[_Name, Counter[int]] = {}
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
        count: int = 1,
    ) -> datetime | None:
        ends = self._timelines.get((tenant, of + key), now)
        if max(now, ends) > latest:
            return None
        self._steps[tenant, of + key] = width / count
        return self.take(tenant, key, width, now=now, of=of)

    def ends(
        self, tenant: str, keys: Iterable[str], *, of: Timeline = Timeline.RATE
    ) -> Mapping[str, datetime]:
        return {key: ends for key in keys if (ends := self._timelines.get((tenant, of + key)))}

    def add(
        self, tenant: str, name: str, counts: Mapping[int, int], *, since: int, now: datetime
    ) -> Mapping[int, int]:
        self._counters.setdefault((tenant, name), Counter()).update(counts)
        return self._since(tenant, name, since)

    def counts(self, tenant: str, name: str, *, since: int) -> Mapping[int, int]:
        return self._since(tenant, name, since)

    def _since(self, tenant: str, name: str, since: int) -> Mapping[int, int]:
        found = self._counters.get((tenant, name), Counter[int]())
        return {number: count for number, count in found.items() if number >= since}

    def room(self, tenant: str, key: str) -> Room:
        return self._rooms.get((tenant, key), Room())

    def change_room(self, tenant: str, key: str, before: Room, after: Room) -> bool:
        """Keeps what `leave` did since `before` was read: runs that left stay gone, and their stay counts."""
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

    def keys(self, keys: Iterable[Key]) -> Mapping[Key, FlowKey]:
        return {key: self._keys.get(key, FlowKey()) for key in keys}

    def key(self, key: Key) -> FlowKey:
        return self._keys.get(key, FlowKey())

    def change_key(self, key: Key, before: FlowKey, after: FlowKey) -> bool:
        if self.key(key).version != before.version:
            return False
        counts = after.paused_at is not None and after.paused_at == before.paused_at
        self._keys[key] = replace(after, waiting=self.key(key).waiting if counts else 0)
        return True

    def add_waiting(self, key: Key, more: int) -> None:
        known = self.key(key)
        if known.paused_at is not None:
            self._keys[key] = replace(known, waiting=known.waiting + more)

    def used(self, tenant: str, keys: Iterable[str]) -> Mapping[str, Used]:
        return {key: self._used(tenant, key) for key in keys}

    def _used(self, tenant: str, key: str) -> Used:
        name = (tenant, Timeline.RATE + key)
        ends = self._timelines.get(name)
        places = None if ends is None else Places(ends=ends, step=self._steps.get(name, timedelta(0)))
        return Used(key=self.key((tenant, key)), places=places, room=self._rooms.get((tenant, key)))

    def keys_listed(self, tenant: str, *, after: str, limit: int) -> list[str]:
        rates = (
            (whose, name.removeprefix(Timeline.RATE))
            for whose, name in self._timelines
            if name.startswith(Timeline.RATE)
        )
        found = {name for whose, name in (*rates, *self._rooms, *self._keys) if whose == tenant}
        return sorted((name for name in found if name.encode() > after.encode()), key=str.encode)[:limit]

    def breakers(self, circuits: Iterable[Circuit]) -> Mapping[Circuit, Breaker]:
        return {circuit: self._breakers.get(circuit, Breaker()) for circuit in circuits}

    def change_breaker(self, circuit: Circuit, before: Breaker, after: Breaker) -> bool:
        if self._breakers.get(circuit, Breaker()).version != before.version:
            return False
        counts = after.open_until is not None
        waiting = self._breakers.get(circuit, Breaker()).waiting if counts else 0
        self._breakers[circuit] = replace(after, waiting=waiting)
        return True

    def count_behind_breaker(self, circuit: Circuit, more: int) -> None:
        known = self._breakers.get(circuit, Breaker())
        if known.open_until is not None:
            self._breakers[circuit] = replace(known, waiting=known.waiting + more)

    def needing_attention(self, *, limit: int, tenant: str | None = None) -> tuple[list[Circuit], list[Key]]:
        circuits = [each for each, breaker in self._breakers.items() if breaker.open_until is not None]
        keys = [each for each, key in self._keys.items() if key.paused_at is not None]
        found = (
            sorted(each for each in some if tenant in (None, each[0]))[:limit] for some in (circuits, keys)
        )
        return next(found), next(found)

    def states(self, tenant: str) -> Mapping[str, Breaker]:
        return {
            name: breaker
            for (whose, name), breaker in self._breakers.items()
            if whose == tenant and (breaker.failures or breaker.slow_until)
        }
