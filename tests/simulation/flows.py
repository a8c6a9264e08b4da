"""Checkers of flow control and breakers, by the rows of the table `flow` and the claims."""

from collections.abc import Iterator, Sequence
from typing import Any, Final

from tests.simulation.engine import Change, Row
from tests.simulation.hub import SECOND, Actor
from tests.simulation.rows import claimed, control, number, text
from tests.simulation.seen import Broken, Seen

MINUTE: Final = 60 * SECOND
# A clock shows whole milliseconds.
CLOCK_CUTS: Final = SECOND // 1000
# A worker believes what it knows of a breaker for some seconds.
BELIEVED: Final = 10 * SECOND
# A worker reads of a key once a second, and writes its claim a moment later.
KNOWN: Final = 3 * SECOND
# A worker has calls this long before their instant.
HELD: Final = 3 * SECOND
FOREVER: Final = 1_000_000
# The width of the timeline that numbers the calls to a destination which recovers.
NUMBER: Final = 1_000


def a_place_is_given_away_once(seen: Seen, actor: Actor | None, changes: Sequence[Change]) -> None:
    """A key's timeline never goes back, and who moves it on has so many places on it as that is long."""
    for key, before, after in changed_rows(changes, "rate#"):
        rate = seen.began.control
        if rate is None or rate.rate is None or actor is None:
            continue
        interval = -(-rate.period * SECOND // rate.rate)
        given = actor.asked["ExpressionAttributeValues"]
        wide = value_given(given, ":wide") or value_given(given, ":end") - value_given(given, ":now")
        ends, count = number(after, "ends"), wide // interval
        if count < 1 or wide % interval:
            raise Broken(f"flow: {wide} us of {key} are no places of {interval} us")
        if ends < (number(before, "ends") if before else 0) + wide:
            raise Broken(f"flow: places of {key} are given away once more")
        if ends - interval >= actor.now + HELD + seen.began.lifetime:
            raise Broken(f"flow: a place of {key} is given away that nobody can use")
        seen.places[key] += [ends - wide + place * interval for place in range(count)]
        seen.reach["places given away"] += count


def no_more_begin_than_have_places(seen: Seen, actor: Actor | None, changes: Sequence[Change]) -> None:
    for _, row in claimed(changes):
        found = control(row)
        if found is None or found[1] is None:
            continue
        key = found[0]
        seen.begun[key] += 1
        reached = seen.hub.now + seen.began.skew
        if seen.begun[key] > sum(place <= reached for place in seen.places[key]):
            raise Broken(
                f"flow: {row['id']['S']} is number {seen.begun[key]} of {key} to begin, and its place is not yet"
            )


def a_room_holds_what_it_may(seen: Seen, actor: Actor | None, changes: Sequence[Change]) -> None:
    """A run that enters finds room; a run that is taken out is over, or its lease is."""
    for key, before, after in changed_rows(changes, "room#"):
        room, was = _room(after), _room(before)
        most = seen.began.control.parallelism if seen.began.control else None
        now = seen.hub.now if actor is None else actor.now
        live = [name for name, end in room.items() if end * 1000 > now]
        if most is not None and room.keys() - was.keys() and len(live) > most:
            raise Broken(f"flow: {len(live)} are in the room of {key}, of {most}")
        seen.reach["room full"] += most is not None and len(live) >= most
        for name in was.keys() - room.keys():
            if _is_on(seen, name) and was[name] * 1000 > seen.hub.now + 2 * seen.began.skew:
                raise Broken(f"flow: {name} is out of the room of {key}, and still on")


def who_begins_is_in_its_room(seen: Seen, actor: Actor | None, changes: Sequence[Change]) -> None:
    for _, row in claimed(changes):
        found = control(row)
        if found is None or found[2] is None:
            continue
        key, _, most = found
        tenant, _, name = key.partition("#")
        inside = _room(seen.engine.row("flow", tenant, f"room#{name}"))
        own = f"{row['id']['S']}#{number(row, 'token')}"
        soon_over = number(row, "lease") * 1000 < seen.hub.now + 2 * seen.began.skew + BELIEVED
        if own not in inside and not soon_over:
            raise Broken(f"flow: {own} begins outside the room of {key}")
        # By clocks that differ, a lease is over for the room before its receiver makes it longer (seed 2124).
        agreed = seen.began.is_faultless and not seen.began.skew
        if agreed and len(on := list(_on(seen, key))) > most:
            raise Broken(f"flow: {on} of {key} are on at once, of {most}")


def nothing_begins_under_a_paused_key(seen: Seen, actor: Actor | None, changes: Sequence[Change]) -> None:
    """From some seconds after the pause on: workers may have read of the key just before it."""
    for key, before, after in changed_rows(changes, "key#"):
        if "paused_at" not in after:
            seen.paused.pop(key, None)
        elif before is None or "paused_at" not in before:
            seen.paused[key] = seen.hub.now
    if not seen.began.is_faultless:
        return
    for _, row in claimed(changes):
        found = control(row)
        since = seen.paused.get(found[0]) if found is not None else None
        longer = 2 * seen.began.skew if seen.began.jumps else 0
        if since is not None and seen.hub.now > since + KNOWN + longer:
            raise Broken(f"flow: {row['id']['S']} begins although its key is paused")


def changed_rows(changes: Sequence[Change], kind: str) -> Iterator[tuple[str, Row | None, Row]]:
    for change in changes:
        if change.table == "flow" and change.after is not None and change.key[1].startswith(kind):
            yield f"{change.key[0]}#{change.key[1].removeprefix(kind)}", change.before, change.after


def without_count(row: Row) -> dict[str, Any]:
    return {name: value for name, value in row.items() if name != "waiting"}


def way_of(key: str) -> tuple[str, str]:
    tenant, _, name = key.partition("#")
    return tenant, name.partition(":")[2]


def _room(row: Row | None) -> dict[str, int]:
    return {} if row is None else {name: int(end["N"]) for name, end in row["runs"]["M"].items()}


def value_given(given: dict[str, dict[str, str]], name: str) -> int:
    return int(given[name]["N"]) if name in given else 0


def _is_on(seen: Seen, name: str) -> bool:
    id, _, token = name.rpartition("#")
    row = seen.item(id)
    return row is not None and text(row, "status") == "RUNNING" and number(row, "token") == int(token)


def _on(seen: Seen, key: str) -> Iterator[str]:
    """The runs whose lease has not ended by any clock."""
    for row in seen.items():
        found, until = control(row), number(row, "lease") * 1000
        runs = text(row, "status") == "RUNNING" and until > seen.hub.now + 2 * seen.began.skew
        if runs and found is not None and found[0] == key:
            yield row["id"]["S"]
