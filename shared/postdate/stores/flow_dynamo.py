"""Flow in DynamoDB: one row for each timeline, room, key that was set, and breaker, changed by one update each.

A row goes some time after it was last touched: an empty timeline, an empty room and a closed breaker are as good as
none. A timeline's stays for longer than what was promised from it is likely to be away. What a tenant has set of a key
stays.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, Final, TypeVar

from postdate.domain import instants
from postdate.domain.breaker import Breaker
from postdate.domain.flow import Places, Room
from postdate.domain.flow_key import FlowKey, Used
from postdate.runtime.author import nobody
from postdate.stores import batch_get, notes
from postdate.stores.attributes import AttributeMap, milliseconds
from postdate.stores.faults import translated
from postdate.stores.flow import Circuit, Key, Timeline
from postdate.stores.notes import Note
from postdate.stores.rows import readable, the_one

if TYPE_CHECKING:
    from botocore.client import BaseClient

ReadT = TypeVar("ReadT")
_KEPT: Final = timedelta(days=2)
_TIMELINE_KEPT: Final = timedelta(days=400)
_FOR_EVER: Final = datetime(9000, 1, 1, tzinfo=UTC)
_MICROSECOND: Final = timedelta(microseconds=1)
_MILLISECOND: Final = timedelta(milliseconds=1)
_TRIES: Final = 8
_KEYS_MAX: Final = 100
_REMEMBERED_MAX: Final = 10_000
_ROOM: Final = "room#"
KEY: Final = "key#"
_COUNTERS: Final = "counters#"
_COUNTER: Final = re.compile(r"n([0-9]+)")
# Of a tenant that registered nothing for a year nothing is counted.
_COUNTERS_KEPT: Final = timedelta(days=410)
_EVENTS_KEPT: Final = timedelta(days=800)
_FORGOTTEN_AT_ONCE: Final = 8
BREAKER: Final = "breaker#"
_LAST: Final = "\U0010ffff"
# Calls are counted beside changes of the breaker, in an attribute that no change but its closing touches.
_COUNTED: Final = "waiting"
_FIELDS: Final = tuple(field.name for field in fields(Breaker) if field.name != _COUNTED)
_TEXT: Final = "error"
_BY_ATTENTION: Final = "by_attention"
_OPEN: Final = "open"
_PAUSED: Final = "paused"
_INSTANTS: Final = frozenset({"since", "down_since", "open_until", "probe_until", "closed_at", "slow_until"})


class DynamoFlow:
    """The flow state in DynamoDB. The remembered end of a timeline only decides which update is tried first."""

    def __init__(
        self,
        *,
        table: str,
        client: "BaseClient",
        author: Callable[[], str] = nobody,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        """`author` is noted in changes that are told as events, and so is the instant."""
        self._author = author
        self._now = now
        self._table = table
        self._client = client
        self._ends: dict[tuple[str, str], int] = {}

    def take(
        self, tenant: str, key: str, width: timedelta, *, now: datetime, of: Timeline = Timeline.RATE
    ) -> datetime:
        kept = _TIMELINE_KEPT if of is Timeline.RATE else _KEPT
        begin = self._take_next(tenant, of + key, width, now, _FOR_EVER, kept=kept)
        if begin is None:
            raise RuntimeError("a timeline reaches beyond all time")
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
        if latest < now:
            return None
        kept = _TIMELINE_KEPT if of is Timeline.RATE else _KEPT
        return self._take_next(tenant, of + key, width, now, latest, kept=kept, count=count)

    def _take_next(
        self,
        tenant: str,
        name: str,
        width: timedelta,
        now: datetime,
        latest: datetime,
        *,
        kept: timedelta,
        count: int = 1,
    ) -> datetime | None:
        """Moves a timeline on by `width`, and returns the instant where it ended before. A timeline that reaches beyond
        now is moved by an addition, which other additions do not disturb. Any other begins anew."""
        at, wide, most = _microseconds(now), width // _MICROSECOND, _microseconds(latest)
        # A guess from the last answer. A wrong guess costs one more request.
        ahead = self._ends.get((tenant, name), 0) >= at
        for _ in range(_TRIES):
            moved = {":wide": _number(wide), ":most": _number(most)}
            written, row = self._try_update(
                tenant,
                name,
                f"SET #ends = {'#ends + :wide' if ahead else ':end'}, #step = :step, #expires = :expires",
                where="#ends BETWEEN :now AND :most"
                if ahead
                else "attribute_not_exists(#ends) OR #ends < :now",
                names={"#ends": "ends", "#step": "step", "#expires": "expires_at"},
                values={
                    ":now": _number(at),
                    ":step": _number(wide // count),
                    ":expires": _expiry(now, kept),
                    **(moved if ahead else {":end": _number(at + wide)}),
                },
            )
            ends = int(row["ends"]["N"]) if row else 0
            self._remember(tenant, name, ends)
            if written:
                return instants.EPOCH + (ends - wide) * _MICROSECOND
            # The place would lie behind `latest`.
            if ends > most:
                return None
            ahead = ends >= at
        raise RuntimeError("a timeline lay ahead and behind by turns")

    def ends(
        self, tenant: str, keys: Iterable[str], *, of: Timeline = Timeline.RATE
    ) -> Mapping[str, datetime]:
        """Reads with eventual consistency. A key that DynamoDB leaves out for now counts as one without places."""
        wanted = [_key(tenant, of + key) for key in dict.fromkeys(keys)]
        found: dict[str, datetime] = {}
        for start in range(0, len(wanted), _KEYS_MAX):
            asked = {self._table: {"Keys": wanted[start : start + _KEYS_MAX]}}
            with translated():
                answer = self._client.batch_get_item(RequestItems=asked)
            found |= dict(readable(answer["Responses"].get(self._table, ()), _timeline))
        return {name.removeprefix(of): ends for name, ends in found.items()}

    def add(
        self, tenant: str, name: str, counts: Mapping[int, int], *, since: int, now: datetime
    ) -> Mapping[int, int]:
        forgotten = [_counter(number) for number in range(since - _FORGOTTEN_AT_ONCE, since)]
        added = [_counter(number) for number in counts]
        names = {f"#{each}": each for each in (*forgotten, *added)}
        with translated():
            answer = self._client.update_item(
                TableName=self._table,
                Key=_key(tenant, _COUNTERS + name),
                UpdateExpression="SET #expires = :expires"
                f" ADD {', '.join(f'#{each} :{each}' for each in added)}"
                f" REMOVE {', '.join(f'#{each}' for each in forgotten)}",
                ExpressionAttributeNames={"#expires": "expires_at", **names},
                ExpressionAttributeValues={
                    ":expires": _expiry(now, _COUNTERS_KEPT),
                    **{f":{_counter(number)}": _number(count) for number, count in counts.items()},
                },
                ReturnValues="ALL_NEW",
            )
        return _counters(answer["Attributes"], since)

    def counts(self, tenant: str, name: str, *, since: int) -> Mapping[int, int]:
        with translated():
            answer = self._client.get_item(TableName=self._table, Key=_key(tenant, _COUNTERS + name))
        return _counters(answer.get("Item", {}), since)

    def room(self, tenant: str, key: str) -> Room:
        row = self._get(tenant, _ROOM + key, consistent=True)
        return Room() if row is None else the_one(row, _room)

    def change_room(self, tenant: str, key: str, before: Room, after: Room) -> bool:
        """Writes only what differs, so that a run that leaves meanwhile is not put back."""
        names = {"#version": "version", "#expires": "expires_at"}
        last = max([*after.runs.values(), after.turns_until or instants.EPOCH])
        values: dict[str, dict[str, Any]] = {
            ":version": _number(after.version),
            ":expires": _expiry(last, _KEPT),
        }
        sets, removes = ["#version = :version", "#expires = :expires"], []
        if after.turns_until is not None:
            sets += ["#turns = :turns", "#turn = :turn"]
            names |= {"#turns": "turns_until", "#turn": "turn"}
            values[":turns"] = _milliseconds(after.turns_until)
            values[":turn"] = _number(after.turn // _MICROSECOND)
        names["#runs"] = "runs"
        # A new room is written whole. In a room that exists, runs come and go by attributes of their own.
        if not before.version:
            sets += ["#runs = :runs", "#stay = :stay"]
            names["#stay"], values[":stay"] = "stay", _number(after.stay // _MILLISECOND)
            values[":runs"] = {"M": {run: _milliseconds(end) for run, end in after.runs.items()}}
            where = "attribute_not_exists(#version)"
        else:
            where, values[":before"] = "#version = :before", _number(before.version)
            entered = [run for run, end in after.runs.items() if before.runs.get(run) != end]
            for index, run in enumerate(entered):
                names[f"#in{index}"], values[f":in{index}"] = run, _milliseconds(after.runs[run])
                sets.append(f"#runs.#in{index} = :in{index}")
            for index, run in enumerate(sorted(before.runs.keys() - after.runs.keys())):
                names[f"#out{index}"] = run
                removes.append(f"#runs.#out{index}")
            # DynamoDB refuses names that no expression uses.
            if not entered and not removes:
                del names["#runs"]
        change = f"SET {', '.join(sets)}" + (f" REMOVE {', '.join(removes)}" if removes else "")
        row = self._update(tenant, _ROOM + key, change, where=where, names=names, values=values)
        return row is not None

    def stay(self, tenant: str, key: str, runs: Iterable[str], until: datetime) -> None:
        """Extends the stay of each run by its own update: a run that has left the room must not stop the others."""
        for run in runs:
            self._update(
                tenant,
                _ROOM + key,
                "SET #runs.#run = :until, #version = #version + :one, #expires = :expires",
                where="attribute_exists(#runs.#run)",
                names={"#runs": "runs", "#run": run, "#version": "version", "#expires": "expires_at"},
                values={
                    ":until": _milliseconds(until),
                    ":one": _number(1),
                    ":expires": _expiry(until, _KEPT),
                },
            )

    def leave(self, tenant: str, key: str, runs: Iterable[str], *, stay: timedelta | None) -> None:
        names = {f"#out{index}": run for index, run in enumerate(runs)}
        change = f"REMOVE {', '.join(f'#runs.{name}' for name in names)}"
        values = {} if stay is None else {":stay": _number(stay // _MILLISECOND)}
        if values:
            change += " SET #stay = :stay"
        self._update(
            tenant,
            _ROOM + key,
            change,
            where="attribute_exists(#runs)",
            names={"#runs": "runs", **names, **({"#stay": "stay"} if values else {})},
            values=values,
        )

    def keys(self, keys: Iterable[Key]) -> Mapping[Key, FlowKey]:
        """A row that DynamoDB leaves out for now, or that cannot be read, must not let a paused key's runs through."""
        wanted = list(dict.fromkeys(keys))
        rows = batch_get.rows(self._client, self._table, [_key(tenant, KEY + key) for tenant, key in wanted])
        found = {
            (row["tenant"]["S"], row["name"]["S"].removeprefix(KEY)): the_one(row, _flow_key) for row in rows
        }
        return dict.fromkeys(wanted, FlowKey()) | found

    def key(self, key: Key) -> FlowKey:
        row = self._get(key[0], KEY + key[1], consistent=True)
        return FlowKey() if row is None else the_one(row, _flow_key)

    def change_key(self, key: Key, before: FlowKey, after: FlowKey) -> bool:
        numbers = {
            "version": after.version,
            "rate": after.rate,
            "period_seconds": after.period_seconds,
            "parallelism": after.parallelism,
            "paused_at": milliseconds(after.paused_at),
        }
        there = {name: value for name, value in numbers.items() if value is not None}
        gone = [name for name in numbers if name not in there]
        if after.paused_at is None or after.paused_at != before.paused_at:
            gone.append(_COUNTED)
        set_to: dict[str, dict[str, Any]] = {f":{name}": _number(value) for name, value in there.items()}
        set_to |= self._noted("flow_key.changed", after.version)
        if after.paused_at is None:
            gone.append("attention")
        else:
            set_to[":attention"] = {"S": _PAUSED}
        return self._replace_fields(key[0], KEY + key[1], set_to, gone, before=before.version)

    def count_waiting(self, key: Key, more: int) -> None:
        self._update(
            key[0],
            KEY + key[1],
            "ADD #waiting :more",
            where="attribute_exists(#paused)",
            names={"#waiting": "waiting", "#paused": "paused_at"},
            values={":more": _number(more)},
        )

    def used(self, tenant: str, keys: Iterable[str]) -> Mapping[str, Used]:
        wanted = list(dict.fromkeys(keys))
        names = [prefix + key for key in wanted for prefix in (Timeline.RATE, _ROOM, KEY)]
        rows = batch_get.rows(self._client, self._table, [_key(tenant, name) for name in names])
        found = {row["name"]["S"]: row for row in rows}

        def read(name: str, of: Callable[[AttributeMap], ReadT]) -> ReadT | None:
            return the_one(found[name], of) if name in found else None

        return {
            key: Used(
                key=read(KEY + key, _flow_key) or FlowKey(),
                places=read(Timeline.RATE + key, _places),
                room=read(_ROOM + key, _room),
            )
            for key in wanted
        }

    def keys_listed(self, tenant: str, *, after: str, limit: int) -> list[str]:
        """Three queries: of timelines, of rooms, and of keys that were set."""
        found = {
            name.removeprefix(prefix)
            for prefix in (Timeline.RATE, _ROOM, KEY)
            for name in self._named(tenant, prefix, after, limit)
        }
        return sorted(found, key=str.encode)[:limit]

    def _named(self, tenant: str, prefix: str, after: str, limit: int) -> list[str]:
        """The last name in the range is one that no key has: it may be as long as DynamoDB lets a name be."""
        with translated():
            page = self._client.query(
                TableName=self._table,
                KeyConditionExpression="tenant = :tenant AND #name BETWEEN :first AND :last",
                ExpressionAttributeNames={"#name": "name"},
                ExpressionAttributeValues={
                    ":tenant": {"S": tenant},
                    ":first": {"S": f"{prefix}{after}\0" if after else prefix},
                    ":last": {"S": prefix + _LAST},
                },
                ProjectionExpression="#name",
                Limit=limit,
            )
        return [row["name"]["S"] for row in page["Items"]]

    def breakers(self, circuits: Iterable[Circuit]) -> Mapping[Circuit, Breaker]:
        """A breaker that DynamoDB leaves out for now counts as closed, as does one that is missing or unreadable."""
        wanted = list(dict.fromkeys(circuits))
        found = dict.fromkeys(wanted, Breaker())
        for start in range(0, len(wanted), _KEYS_MAX):
            keys = [_key(tenant, BREAKER + name) for tenant, name in wanted[start : start + _KEYS_MAX]]
            with translated():
                answer = self._client.batch_get_item(RequestItems={self._table: {"Keys": keys}})
            for circuit, breaker in readable(answer["Responses"].get(self._table, ()), _circuit):
                found[circuit] = breaker
        return found

    def change_breaker(self, circuit: Circuit, before: Breaker, after: Breaker) -> bool:
        there = {name: value for name in _FIELDS if (value := getattr(after, name)) is not None}
        if not after.events:
            del there[notes.COUNT]
        gone = [name for name in _FIELDS if name not in there]
        latest = max([instants.EPOCH, *(there[name] for name in _INSTANTS & there.keys())])
        set_to = {f":{name}": _value(value) for name, value in there.items()}
        # The count of its events outlives the events: a number that began anew would be that of another event.
        set_to[":expires_at"] = _expiry(latest, _EVENTS_KEPT if after.events else _KEPT)
        if after.events != before.events:
            opened = "closed" if after.open_until is None else "opened"
            set_to |= self._noted(f"destination.{opened}", after.events)
        if after.open_until is None:
            gone += [_COUNTED, "attention"]
        else:
            set_to[":attention"] = {"S": _OPEN}
        return self._replace_fields(circuit[0], BREAKER + circuit[1], set_to, gone, before=before.version)

    def _noted(self, type: str, number: int) -> dict[str, dict[str, Any]]:
        note = Note(type=type, at=self._now(), by=self._author())
        return {f":{notes.COUNT}": _number(number), f":{notes.NOTE}": {"S": notes.text_of([note])}}

    def count_behind_breaker(self, circuit: Circuit, more: int) -> None:
        self._update(
            circuit[0],
            BREAKER + circuit[1],
            "ADD #waiting :more",
            where="attribute_exists(#open_until)",
            names={"#waiting": _COUNTED, "#open_until": "open_until"},
            values={":more": _number(more)},
        )

    def needing_attention(self, *, limit: int, tenant: str | None = None) -> tuple[list[Circuit], list[Key]]:
        return self._attended(_OPEN, BREAKER, limit, tenant), self._attended(_PAUSED, KEY, limit, tenant)

    def _attended(self, attention: str, prefix: str, limit: int, tenant: str | None) -> list[tuple[str, str]]:
        of_one = {} if tenant is None else {":tenant": {"S": tenant}}
        with translated():
            page = self._client.query(
                TableName=self._table,
                IndexName=_BY_ATTENTION,
                KeyConditionExpression="attention = :attention" + (" AND tenant = :tenant" if of_one else ""),
                ExpressionAttributeValues={":attention": {"S": attention}, **of_one},
                Limit=limit,
            )
        return [(row["tenant"]["S"], row["name"]["S"].removeprefix(prefix)) for row in page["Items"]]

    def states(self, tenant: str) -> Mapping[str, Breaker]:
        found: dict[str, Breaker] = {}
        asked: dict[str, Any] = {
            "TableName": self._table,
            "KeyConditionExpression": "tenant = :tenant AND begins_with(#name, :breaker)",
            "ExpressionAttributeNames": {"#name": "name"},
            "ExpressionAttributeValues": {":tenant": {"S": tenant}, ":breaker": {"S": BREAKER}},
        }
        while True:
            with translated():
                page = self._client.query(**asked)
            for (_, name), breaker in readable(page["Items"], _circuit):
                if breaker.failures or breaker.slow_until:
                    found[name] = breaker
            if "LastEvaluatedKey" not in page:
                return found
            asked["ExclusiveStartKey"] = page["LastEvaluatedKey"]

    def _get(self, tenant: str, name: str, *, consistent: bool) -> AttributeMap | None:
        with translated():
            answer = self._client.get_item(
                TableName=self._table, Key=_key(tenant, name), ConsistentRead=consistent
            )
        row: AttributeMap | None = answer.get("Item")
        return row

    def _replace_fields(
        self,
        tenant: str,
        name: str,
        set_to: Mapping[str, Mapping[str, Any]],
        gone: Iterable[str],
        *,
        before: int,
    ) -> bool:
        """Sets these values, each under its name with a colon, and removes the attributes that are gone. False if the
        row no longer has the version `before`; 0 stands for no row."""
        gone = list(gone)
        removed = f" REMOVE {', '.join(f'#{each}' for each in gone)}" if gone else ""
        return (
            self._update(
                tenant,
                name,
                "SET " + ", ".join(f"#{each[1:]} = {each}" for each in set_to) + removed,
                where="#version = :before" if before else "attribute_not_exists(#version)",
                names={f"#{each}": each for each in ("version", *(given[1:] for given in set_to), *gone)},
                values={**set_to, **({":before": _number(before)} if before else {})},
            )
            is not None
        )

    def _update(
        self,
        tenant: str,
        name: str,
        change: str,
        *,
        where: str,
        names: Mapping[str, str],
        values: Mapping[str, Mapping[str, Any]],
    ) -> AttributeMap | None:
        """Returns the row as written, or None if the condition did not hold."""
        written, row = self._try_update(tenant, name, change, where=where, names=names, values=values)
        return row if written else None

    def _try_update(
        self,
        tenant: str,
        name: str,
        change: str,
        *,
        where: str,
        names: Mapping[str, str],
        values: Mapping[str, Mapping[str, Any]],
    ) -> tuple[bool, AttributeMap]:
        """Updates a row under a condition. Returns True with the new row if the condition was met, else False with the
        stored row."""
        given = {"ExpressionAttributeValues": values} if values else {}
        try:
            with translated():
                answer = self._client.update_item(
                    TableName=self._table,
                    Key=_key(tenant, name),
                    UpdateExpression=change,
                    ConditionExpression=where,
                    ExpressionAttributeNames=names,
                    ReturnValues="UPDATED_NEW",
                    ReturnValuesOnConditionCheckFailure="ALL_OLD",
                    **given,
                )
        except self._client.exceptions.ConditionalCheckFailedException as refused:
            return False, refused.response.get("Item", {})
        return True, answer.get("Attributes", {})

    def _remember(self, tenant: str, name: str, ends: int) -> None:
        if len(self._ends) > _REMEMBERED_MAX:
            self._ends.clear()
        self._ends[tenant, name] = ends


def _counter(number: int) -> str:
    return f"n{number}"


def _counters(row: AttributeMap, since: int) -> dict[int, int]:
    found = {
        int(match[1]): int(value["N"]) for name, value in row.items() if (match := _COUNTER.fullmatch(name))
    }
    return {number: count for number, count in found.items() if number >= since}


def _room(row: AttributeMap) -> Room:
    return Room(
        runs={run: _instant(end) for run, end in row["runs"]["M"].items()},
        stay=int(row["stay"]["N"]) * _MILLISECOND,
        turns_until=_instant(row["turns_until"]) if "turns_until" in row else None,
        **({"turn": int(row["turn"]["N"]) * _MICROSECOND} if "turn" in row else {}),
        version=int(row["version"]["N"]),
    )


def _flow_key(row: AttributeMap) -> FlowKey:
    numbers = {
        name: int(row[name]["N"])
        for name in ("rate", "period_seconds", "parallelism", "waiting")
        if name in row
    }
    return FlowKey(
        **numbers,
        paused_at=_instant(row["paused_at"]) if "paused_at" in row else None,
        version=int(row["version"]["N"]),
    )


def _timeline(row: AttributeMap) -> tuple[str, datetime]:
    return row["name"]["S"], instants.EPOCH + int(row["ends"]["N"]) * _MICROSECOND


def _places(row: AttributeMap) -> Places:
    """Rows of older code have no step."""
    step = int(row["step"]["N"]) if "step" in row else 0
    return Places(ends=_timeline(row)[1], step=step * _MICROSECOND or timedelta(seconds=1))


def _circuit(row: AttributeMap) -> tuple[Circuit, Breaker]:
    return (row["tenant"]["S"], row["name"]["S"].removeprefix(BREAKER)), _breaker(row)


def _breaker(row: AttributeMap) -> Breaker:
    found: dict[str, Any] = {name: _read(name, row[name]) for name in (*_FIELDS, _COUNTED) if name in row}
    return Breaker(**found)


def _read(name: str, value: Mapping[str, Any]) -> Any:
    if name in _INSTANTS:
        return _instant(value)
    return str(value["S"]) if name == _TEXT else int(value["N"])


def _value(value: int | str | datetime) -> dict[str, str]:
    match value:
        case int():
            return _number(value)
        case str():
            return {"S": value}
        case _:
            return _milliseconds(value)


def _key(tenant: str, name: str) -> AttributeMap:
    return {"tenant": {"S": tenant}, "name": {"S": name}}


def _microseconds(instant: datetime) -> int:
    return (instant - instants.EPOCH) // _MICROSECOND


def _number(value: int) -> dict[str, str]:
    return {"N": str(value)}


def _milliseconds(value: datetime) -> dict[str, str]:
    return _number(instants.milliseconds(value))


def _instant(value: Mapping[str, Any]) -> datetime:
    return instants.from_milliseconds(int(value["N"]))


def _expiry(at: datetime, kept: timedelta) -> dict[str, str]:
    return _number(int((at + kept).timestamp()))
