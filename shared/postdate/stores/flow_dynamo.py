"""Flow in DynamoDB: one row for each timeline, room and breaker, changed by one update each.

A row goes some time after it was last touched: an empty timeline, an empty room and a closed breaker are as good as
none. A timeline's stays for longer than what was promised from it is likely to be away.
"""

from collections.abc import Iterable, Mapping
from dataclasses import fields
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, Final

from postdate.domain import instants
from postdate.domain.breaker import Breaker
from postdate.domain.flow import Room
from postdate.stores.attributes import AttributeMap
from postdate.stores.faults import translated
from postdate.stores.flow import Circuit, Timeline
from postdate.stores.rows import readable, the_one

if TYPE_CHECKING:
    from botocore.client import BaseClient

_KEPT: Final = timedelta(days=2)
_TIMELINE_KEPT: Final = timedelta(days=400)
_FOR_EVER: Final = datetime(9000, 1, 1, tzinfo=UTC)
_MICROSECOND: Final = timedelta(microseconds=1)
_MILLISECOND: Final = timedelta(milliseconds=1)
_TRIES: Final = 8
_KEYS_MAX: Final = 100
_REMEMBERED_MAX: Final = 10_000
_ROOM: Final = "room#"
_BREAKER: Final = "breaker#"
_FIELDS: Final = tuple(field.name for field in fields(Breaker))
_INSTANTS: Final = frozenset({"since", "down_since", "open_until", "probe_until", "closed_at", "slow_until"})


class DynamoFlow:
    """What it remembers of a timeline decides which update is tried first, nothing else."""

    def __init__(self, *, table: str, client: "BaseClient") -> None:
        self._table = table
        self._client = client
        self._ends: dict[tuple[str, str], int] = {}

    def take(
        self, tenant: str, key: str, width: timedelta, *, now: datetime, of: Timeline = Timeline.RATE
    ) -> datetime:
        kept = _TIMELINE_KEPT if of is Timeline.RATE else _KEPT
        begin = self._taken(tenant, of + key, width, now, _FOR_EVER, kept=kept)
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
    ) -> datetime | None:
        if latest < now:
            return None
        kept = _TIMELINE_KEPT if of is Timeline.RATE else _KEPT
        return self._taken(tenant, of + key, width, now, latest, kept=kept)

    def _taken(
        self, tenant: str, name: str, width: timedelta, now: datetime, latest: datetime, *, kept: timedelta
    ) -> datetime | None:
        """A timeline that reaches beyond now is moved on by an addition, which no other one stands in the way of; one
        that does not is begun anew."""
        at, wide, most = _microseconds(now), width // _MICROSECOND, _microseconds(latest)
        ahead = self._ends.get((tenant, name), 0) >= at
        for _ in range(_TRIES):
            moved = {":wide": _number(wide), ":most": _number(most)}
            written, row = self._tried(
                tenant,
                name,
                "SET #ends = #ends + :wide, #expires = :expires"
                if ahead
                else "SET #ends = :end, #expires = :expires",
                where="#ends BETWEEN :now AND :most"
                if ahead
                else "attribute_not_exists(#ends) OR #ends < :now",
                names={"#ends": "ends", "#expires": "expires_at"},
                values={
                    ":now": _number(at),
                    ":expires": _expiry(now, kept),
                    **(moved if ahead else {":end": _number(at + wide)}),
                },
            )
            ends = int(row["ends"]["N"]) if row else 0
            self._remember(tenant, name, ends)
            if written:
                return instants.EPOCH + (ends - wide) * _MICROSECOND
            if ends > most:
                return None
            ahead = ends >= at
        raise RuntimeError("a timeline lay ahead and behind by turns")

    def ends(self, tenant: str, keys: Iterable[str]) -> Mapping[str, datetime]:
        """A key that DynamoDB leaves out for now counts as one without places."""
        wanted = [_key(tenant, Timeline.RATE + key) for key in dict.fromkeys(keys)]
        found: dict[str, datetime] = {}
        for start in range(0, len(wanted), _KEYS_MAX):
            asked = {self._table: {"Keys": wanted[start : start + _KEYS_MAX]}}
            with translated():
                answer = self._client.batch_get_item(RequestItems=asked)
            found |= dict(readable(answer["Responses"].get(self._table, ()), _timeline))
        return found

    def room(self, tenant: str, key: str) -> Room:
        row = self._get(tenant, _ROOM + key, consistent=True)
        return Room() if row is None else the_one(row, _room)

    def change_room(self, tenant: str, key: str, before: Room, after: Room) -> bool:
        """Only what differs is written, so that whoever leaves meanwhile is not put back."""
        names = {"#version": "version", "#expires": "expires_at"}
        last = max([*after.runs.values(), after.turns_until or instants.EPOCH])
        values: dict[str, dict[str, Any]] = {
            ":version": _number(after.version),
            ":expires": _expiry(last, _KEPT),
        }
        sets, removes = ["#version = :version", "#expires = :expires"], []
        if after.turns_until is not None:
            sets.append("#turns = :turns")
            names["#turns"], values[":turns"] = "turns_until", _milliseconds(after.turns_until)
        names["#runs"] = "runs"
        if not before.version:
            sets += ["#runs = :runs", "#stay = :stay"]
            names["#stay"], values[":stay"] = "stay", _number(after.stay // _MILLISECOND)
            values[":runs"] = {"M": {run: _milliseconds(end) for run, end in after.runs.items()}}
            where = "attribute_not_exists(#version)"
        else:
            where, values[":before"] = "#version = :before", _number(before.version)
            entered = [run for run, end in after.runs.items() if before.runs.get(run) != end]
            for place, run in enumerate(entered):
                names[f"#in{place}"], values[f":in{place}"] = run, _milliseconds(after.runs[run])
                sets.append(f"#runs.#in{place} = :in{place}")
            for place, run in enumerate(sorted(before.runs.keys() - after.runs.keys())):
                names[f"#out{place}"] = run
                removes.append(f"#runs.#out{place}")
            if not entered and not removes:
                del names["#runs"]
        change = f"SET {', '.join(sets)}" + (f" REMOVE {', '.join(removes)}" if removes else "")
        row = self._update(tenant, _ROOM + key, change, where=where, names=names, values=values)
        return row is not None

    def stay(self, tenant: str, key: str, runs: Iterable[str], until: datetime) -> None:
        """One by one: a run that is no longer in it must not keep the others from staying."""
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
        names = {f"#out{place}": run for place, run in enumerate(runs)}
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

    def breakers(self, circuits: Iterable[Circuit]) -> Mapping[Circuit, Breaker]:
        """A breaker that DynamoDB leaves out for now counts as closed, as does one that is missing or unreadable."""
        wanted = list(dict.fromkeys(circuits))
        found = dict.fromkeys(wanted, Breaker())
        for start in range(0, len(wanted), _KEYS_MAX):
            keys = [_key(tenant, _BREAKER + name) for tenant, name in wanted[start : start + _KEYS_MAX]]
            with translated():
                answer = self._client.batch_get_item(RequestItems={self._table: {"Keys": keys}})
            for circuit, breaker in readable(answer["Responses"].get(self._table, ()), _circuit):
                found[circuit] = breaker
        return found

    def change_breaker(self, circuit: Circuit, before: Breaker, after: Breaker) -> bool:
        there = {name: value for name in _FIELDS if (value := getattr(after, name)) is not None}
        gone = [name for name in _FIELDS if name not in there]
        latest = max([instants.EPOCH, *(there[name] for name in _INSTANTS & there.keys())])
        return (
            self._update(
                circuit[0],
                _BREAKER + circuit[1],
                "SET "
                + ", ".join(f"#{name} = :{name}" for name in (*there, "expires_at"))
                + (f" REMOVE {', '.join(f'#{name}' for name in gone)}" if gone else ""),
                where="#version = :before" if before.version else "attribute_not_exists(#version)",
                names={f"#{name}": name for name in (*_FIELDS, "expires_at")},
                values={
                    f":{name}": _number(value) if isinstance(value, int) else _milliseconds(value)
                    for name, value in there.items()
                }
                | {":expires_at": _expiry(latest, _KEPT)}
                | ({":before": _number(before.version)} if before.version else {}),
            )
            is not None
        )

    def states(self, tenant: str) -> Mapping[str, Breaker]:
        found: dict[str, Breaker] = {}
        asked: dict[str, Any] = {
            "TableName": self._table,
            "KeyConditionExpression": "tenant = :tenant AND begins_with(#name, :breaker)",
            "ExpressionAttributeNames": {"#name": "name"},
            "ExpressionAttributeValues": {":tenant": {"S": tenant}, ":breaker": {"S": _BREAKER}},
        }
        while True:
            with translated():
                page = self._client.query(**asked)
            for (_, name), breaker in readable(page["Items"], _circuit):
                if breaker.failures:
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
        """What the update wrote; None if its condition did not hold."""
        written, row = self._tried(tenant, name, change, where=where, names=names, values=values)
        return row if written else None

    def _tried(
        self,
        tenant: str,
        name: str,
        change: str,
        *,
        where: str,
        names: Mapping[str, str],
        values: Mapping[str, Mapping[str, Any]],
    ) -> tuple[bool, AttributeMap]:
        """Whether the condition held, and what the update wrote, or else the row as it is."""
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


def _room(row: AttributeMap) -> Room:
    return Room(
        runs={run: _instant(end) for run, end in row["runs"]["M"].items()},
        stay=int(row["stay"]["N"]) * _MILLISECOND,
        turns_until=_instant(row["turns_until"]) if "turns_until" in row else None,
        version=int(row["version"]["N"]),
    )


def _timeline(row: AttributeMap) -> tuple[str, datetime]:
    return row["name"]["S"].removeprefix(Timeline.RATE), instants.EPOCH + int(row["ends"]["N"]) * _MICROSECOND


def _circuit(row: AttributeMap) -> tuple[Circuit, Breaker]:
    return (row["tenant"]["S"], row["name"]["S"].removeprefix(_BREAKER)), _breaker(row)


def _breaker(row: AttributeMap) -> Breaker:
    found: dict[str, Any] = {
        name: _instant(row[name]) if name in _INSTANTS else int(row[name]["N"])
        for name in _FIELDS
        if name in row
    }
    return Breaker(**found)


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
