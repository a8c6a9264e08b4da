"""Rooms in DynamoDB: one row for each, with an entry for each run in the room. An empty room is as good as none."""

from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Any

from postdate.domain import instants
from postdate.domain.flow import Room
from postdate.stores.attributes import AttributeMap
from postdate.stores.flow_table import (
    KEPT,
    MICROSECOND,
    MILLISECOND,
    ROOM,
    FlowTable,
    expiry,
    instant_of,
    instant_value,
    number_value,
)
from postdate.stores.rows import the_one


class DynamoRooms(FlowTable):
    def room(self, tenant: str, key: str) -> Room:
        row = self._get(tenant, ROOM + key, consistent=True)
        return Room() if row is None else the_one(row, room_of)

    def change_room(self, tenant: str, key: str, before: Room, after: Room) -> bool:
        """Writes only what differs, so that a run that leaves meanwhile is not put back."""
        names = {"#version": "version", "#expires": "expires_at"}
        last = max([*after.runs.values(), after.turns_until or instants.EPOCH])
        values: dict[str, dict[str, Any]] = {
            ":version": number_value(after.version),
            ":expires": expiry(last, KEPT),
        }
        sets, removes = ["#version = :version", "#expires = :expires"], []
        if after.turns_until is not None:
            sets += ["#turns = :turns", "#turn = :turn"]
            names |= {"#turns": "turns_until", "#turn": "turn"}
            values[":turns"] = instant_value(after.turns_until)
            values[":turn"] = number_value(after.turn // MICROSECOND)
        names["#runs"] = "runs"
        # A new room is written whole. In a room that exists, runs come and go by attributes of their own.
        if not before.version:
            sets += ["#runs = :runs", "#stay = :stay"]
            names["#stay"], values[":stay"] = "stay", number_value(after.stay // MILLISECOND)
            values[":runs"] = {"M": {run: instant_value(end) for run, end in after.runs.items()}}
            where = "attribute_not_exists(#version)"
        else:
            where, values[":before"] = "#version = :before", number_value(before.version)
            entered = [run for run, end in after.runs.items() if before.runs.get(run) != end]
            for index, run in enumerate(entered):
                names[f"#in{index}"], values[f":in{index}"] = run, instant_value(after.runs[run])
                sets.append(f"#runs.#in{index} = :in{index}")
            for index, run in enumerate(sorted(before.runs.keys() - after.runs.keys())):
                names[f"#out{index}"] = run
                removes.append(f"#runs.#out{index}")
            # DynamoDB refuses names that no expression uses.
            if not entered and not removes:
                del names["#runs"]
        change = f"SET {', '.join(sets)}" + (f" REMOVE {', '.join(removes)}" if removes else "")
        row = self._update(tenant, ROOM + key, change, where=where, names=names, values=values)
        return row is not None

    def stay(self, tenant: str, key: str, runs: Iterable[str], until: datetime) -> None:
        """Extends the stay of each run by its own update: a run that has left the room must not stop the others."""
        for run in runs:
            self._update(
                tenant,
                ROOM + key,
                # A writer that saw the old end of the lease, and would put the run out, is refused by the
                # version.
                "SET #runs.#run = :until, #version = #version + :one, #expires = :expires",
                where="attribute_exists(#runs.#run)",
                names={"#runs": "runs", "#run": run, "#version": "version", "#expires": "expires_at"},
                values={
                    ":until": instant_value(until),
                    ":one": number_value(1),
                    ":expires": expiry(until, KEPT),
                },
            )

    def leave(self, tenant: str, key: str, runs: Iterable[str], *, stay: timedelta | None) -> None:
        names = {f"#out{index}": run for index, run in enumerate(runs)}
        change = f"REMOVE {', '.join(f'#runs.{name}' for name in names)}"
        values = {} if stay is None else {":stay": number_value(stay // MILLISECOND)}
        if values:
            change += " SET #stay = :stay"
        # The version stays: a run that leaves stands in no other writer's way.
        self._update(
            tenant,
            ROOM + key,
            change,
            where="attribute_exists(#runs)",
            names={"#runs": "runs", **names, **({"#stay": "stay"} if values else {})},
            values=values,
        )


def room_of(row: AttributeMap) -> Room:
    return Room(
        runs={run: instant_of(end) for run, end in row["runs"]["M"].items()},
        stay=int(row["stay"]["N"]) * MILLISECOND,
        turns_until=instant_of(row["turns_until"]) if "turns_until" in row else None,
        **({"turn": int(row["turn"]["N"]) * MICROSECOND} if "turn" in row else {}),
        version=int(row["version"]["N"]),
    )
