"""Checkers of flow control and breakers, by the rows of the table `flow` and the claims."""

import math
from collections.abc import Iterator, Sequence
from typing import Any, Final

from tests.simulation.engine import Change, Row
from tests.simulation.hub import SECOND, Actor
from tests.simulation.rows import address, claimed, control, number, text
from tests.simulation.seen import Broken, Seen

_TO_OPEN: Final = 10
# Ten failures within a minute open a breaker, counted from the first of some minute: of so many in a row within any
# minute, ten are in one.
_SURELY: Final = 2 * _TO_OPEN - 1
_MINUTE: Final = 60 * SECOND
# A clock shows whole milliseconds.
_CLOCK_CUTS: Final = SECOND // 1000
# A worker believes what it knows of a breaker for some seconds.
_BELIEVED: Final = 10 * SECOND
# A worker reads of a key once a second, and writes its claim a moment later.
_KNOWN: Final = 3 * SECOND
# A worker has calls this long before their instant.
_HELD: Final = 3 * SECOND
_RECOVERY: Final = 20 * SECOND
_FOREVER: Final = 1_000_000
# Of the timeline that numbers the calls to a destination which recovers.
_NUMBER: Final = 1_000


def a_place_is_given_away_once(seen: Seen, actor: Actor | None, changes: Sequence[Change]) -> None:
    """A key's timeline never goes back, and who moves it on has so many places on it as that is long."""
    for key, before, after in _rows(changes, "rate#"):
        rate = seen.began.control
        if rate is None or rate.rate is None or actor is None:
            continue
        interval = -(-rate.period * SECOND // rate.rate)
        given = actor.asked["ExpressionAttributeValues"]
        wide = _value(given, ":wide") or _value(given, ":end") - _value(given, ":now")
        ends, count = number(after, "ends"), wide // interval
        if count < 1 or wide % interval:
            raise Broken(f"flow: {wide} us of {key} are no places of {interval} us")
        if ends < (number(before, "ends") if before else 0) + wide:
            raise Broken(f"flow: places of {key} are given away once more")
        if ends - interval >= actor.now + _HELD + seen.began.lifetime:
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
    for key, before, after in _rows(changes, "room#"):
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
        soon_over = number(row, "lease") * 1000 < seen.hub.now + 2 * seen.began.skew + _BELIEVED
        if own not in inside and not soon_over:
            raise Broken(f"flow: {own} begins outside the room of {key}")
        # By clocks that differ, a lease is over for the room before its receiver makes it longer (seed 2124).
        agreed = seen.began.is_faultless and not seen.began.skew
        if agreed and len(on := list(_on(seen, key))) > most:
            raise Broken(f"flow: {on} of {key} are on at once, of {most}")


def nothing_begins_under_a_paused_key(seen: Seen, actor: Actor | None, changes: Sequence[Change]) -> None:
    """From some seconds after the pause on: workers may have read of the key just before it."""
    for key, before, after in _rows(changes, "key#"):
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
        if since is not None and seen.hub.now > since + _KNOWN + longer:
            raise Broken(f"flow: {row['id']['S']} begins although its key is paused")


def a_breaker_opens_after_ten(seen: Seen, actor: Actor | None, changes: Sequence[Change]) -> None:
    """Failures whose count was written without an answer are counted again."""
    enough = _TO_OPEN // 2 if seen.began.loses_answers else _TO_OPEN
    for key, before, after in _rows(changes, "breaker#"):
        way = _way(key)
        heard = [each.down for each in seen.heard if (each.tenant, each.address) == way]
        was_open, is_open = bool(before and "open_until" in before), "open_until" in after
        if before is not None and _without_count(before) == _without_count(after):
            continue
        if number(after, "version") <= (number(before, "version") if before else 0):
            raise Broken(f"breaker: {key} goes back to version {number(after, 'version')}")
        if is_open and not was_open and sum(heard) < enough:
            raise Broken(f"breaker: {key} opens after {sum(heard)} failures")
        if was_open and not is_open and all(heard):
            raise Broken(f"breaker: {key} closes, and nobody was answered")
        if is_open and number(after, "open_until") != (number(before, "open_until") if before else 0):
            if not was_open:
                seen.down_since[way] = seen.hub.now
            _is_open_for_long_enough(seen, way, number(after, "open_until") * 1000)
            seen.opened[way] = seen.hub.now
            seen.reach["breaker opens"] += 1
        if "probe_until" in after and number(after, "probe_until") != (
            number(before, "probe_until") if before else 0
        ):
            seen.probes[way] += 1
            seen.reach["breaker tries"] += 1
        if was_open and not is_open:
            seen.tried[way] = seen.probes[way] = 0
            # A call that has its start of the recovery before may begin in this one.
            again = seen.hub.now < seen.recovers.get(way, (0, [], 0))[0] + _RECOVERY
            seen.recovers[way] = (number(after, "closed_at") * 1000, [], -_FOREVER if again else 0)
            seen.reach["breaker closes"] += 1


def no_more_begin_than_may_while_it_recovers(
    seen: Seen, actor: Actor | None, changes: Sequence[Change]
) -> None:
    """Calls to a destination that was down begin at the numbers that are given away, and those lie apart."""
    for key, before, after in _rows(changes, "starts#"):
        way = _way(key)
        if actor is None or way not in seen.recovers:
            continue
        closed_at, at, begun = seen.recovers[way]
        given = actor.asked["ExpressionAttributeValues"]
        wide = _value(given, ":wide") or _value(given, ":end") - _value(given, ":now")
        ends = number(after, "ends")
        if ends < (number(before, "ends") if before else 0) + wide:
            raise Broken(f"breaker: starts of {key} are given away once more")
        first = (ends - wide - closed_at) // _NUMBER
        at += [closed_at + _starts_after(place) for place in range(first, first + wide // _NUMBER)]
        seen.recovers[way] = closed_at, at, begun
        seen.reach["starts given away"] += wide // _NUMBER
    if not seen.began.is_faultless or seen.began.skew:
        return
    for _, row in claimed(changes):
        way, now = address(row), seen.hub.now
        closed_at, at, begun = seen.recovers.get(way, (0, [], 0))
        breaker = seen.engine.row("flow", way[0], f"breaker#sqs:{way[1]}")
        if breaker is None or "open_until" in breaker or not closed_at <= now < closed_at + _RECOVERY:
            continue
        seen.recovers[way] = closed_at, at, begun + 1
        if begun + 1 > sum(start <= now for start in at):
            raise Broken(f"breaker: {row['id']['S']} begins at once while {way[1]} recovers")


def what_is_down_is_left_alone(seen: Seen, actor: Actor | None, changes: Sequence[Change]) -> None:
    """A breaker that is open is respected in runs without faults, in which workers read all that others have noted."""
    if not seen.began.is_faultless:
        return
    for _, row in claimed(changes):
        way, now = address(row), seen.hub.now
        breaker = seen.engine.row("flow", way[0], f"breaker#sqs:{way[1]}")
        until = number(breaker, "open_until") * 1000 if breaker else 0
        if not until:
            if _is_surely_down(seen, way):
                raise Broken(
                    f"breaker: {_SURELY} failures in a row, and {row['id']['S']} begins all the same"
                )
            continue
        # Whoever's clock is put back believes for that much longer what he remembers.
        longer = 2 * seen.began.skew if seen.began.jumps else 0
        if now < seen.opened[way] + _BELIEVED + longer:
            continue
        if now < until - 2 * seen.began.skew:
            raise Broken(f"breaker: {row['id']['S']} begins although {way[1]} is left alone")
        seen.tried[way] += 1
        if seen.tried[way] > seen.probes[way]:
            raise Broken(f"breaker: {row['id']['S']} is one call too many to {way[1]}, which is being tried")


def a_destination_is_slow_that_kept_somebody_waiting(
    seen: Seen, actor: Actor | None, changes: Sequence[Change]
) -> None:
    """For two seconds by the worker's own clock, which shows whole milliseconds and may be set in between."""
    for key, before, after in _rows(changes, "breaker#"):
        until = number(after, "slow_until")
        if not until or until == (number(before, "slow_until") if before else 0):
            continue
        way, now = _way(key), seen.hub.now
        if before is None or number(before, "slow_until") * 1000 < now:
            seen.slow_since[way] = now
        seen.reach["destination slow"] += 1
        since = now - 2 * SECOND + _CLOCK_CUTS
        kept = any(start <= since and end > start + 2 * SECOND for start, end in seen.waits[way])
        if not kept and not seen.began.jumps:
            raise Broken(f"slow: {way[1]} has kept nobody waiting")


def slow_destinations_have_a_lane(seen: Seen, actor: Actor | None, changes: Sequence[Change]) -> None:
    """If workers can read what other workers have noted, and the destination is neither down nor has just come back,
    its calls begin in turn where they are."""
    if not seen.began.is_faultless or actor is None or actor.faults or actor.queue != "tasks":
        return
    for _, row in claimed(changes):
        way, now = address(row), seen.hub.now
        breaker = seen.engine.row("flow", way[0], f"breaker#sqs:{way[1]}")
        if breaker is None or number(breaker, "slow_until") * 1000 <= now + 2 * seen.began.skew:
            continue
        disturbed = "open_until" in breaker or number(breaker, "closed_at") * 1000 > now - _MINUTE
        longer = 2 * seen.began.skew if seen.began.jumps else 0
        if not disturbed and now > seen.slow_since[way] + _BELIEVED + longer:
            raise Broken(f"slow: {row['id']['S']} begins beside calls to quick destinations")


def a_breaker_closes_when_it_is_answered(seen: Seen) -> None:
    for row in seen.engine.rows("flow"):
        if not row["name"]["S"].startswith("breaker#") or "open_until" not in row:
            continue
        way = _way(f"{row['tenant']['S']}#{row['name']['S'].removeprefix('breaker#')}")
        heard = [each for each in seen.heard if (each.tenant, each.address) == way]
        last = max(seen.calm_at or seen.hub.now, seen.opened[way])
        if heard and not heard[-1].down and heard[-1].at > last + _BELIEVED:
            raise Broken(f"breaker: {way[1]} answers, and is left alone")


def _starts_after(number: int) -> int:
    """Microseconds since it was answered: ten a second, and after each two seconds at twice the rate."""
    until_doubled = 2 * 10 / math.log(2)
    return int(2 * SECOND * math.log2(1 + number / until_doubled))


def _is_open_for_long_enough(seen: Seen, way: tuple[str, str], until: int) -> None:
    now, slack = seen.hub.now, 2 * seen.began.skew + SECOND
    if seen.began.jumps or not seen.began.is_at_once:
        return
    down_for = now - seen.down_since[way]
    if down_for < 10 * _MINUTE - slack and not 20 * SECOND - slack <= until - now <= 30 * SECOND + slack:
        raise Broken(f"breaker: {way[1]} is left alone for {(until - now) / SECOND} s")
    if until - now > 15 * _MINUTE + slack:
        raise Broken(f"breaker: {way[1]} is left alone for {(until - now) / SECOND} s")


def _is_surely_down(seen: Seen, way: tuple[str, str]) -> bool:
    """True if the newest answers were all failures. Those of the last seconds may not have been noted yet."""
    now = seen.hub.now
    newest = [each for each in seen.heard if (each.tenant, each.address) == way and each.at < now - _BELIEVED]
    newest = newest[-_SURELY:]
    return len(newest) == _SURELY and all(each.down for each in newest) and newest[0].at > now - _MINUTE


def _rows(changes: Sequence[Change], kind: str) -> Iterator[tuple[str, Row | None, Row]]:
    for change in changes:
        if change.table == "flow" and change.after is not None and change.key[1].startswith(kind):
            yield f"{change.key[0]}#{change.key[1].removeprefix(kind)}", change.before, change.after


def _without_count(row: Row) -> dict[str, Any]:
    return {name: value for name, value in row.items() if name != "waiting"}


def _way(key: str) -> tuple[str, str]:
    tenant, _, name = key.partition("#")
    return tenant, name.partition(":")[2]


def _room(row: Row | None) -> dict[str, int]:
    return {} if row is None else {name: int(end["N"]) for name, end in row["runs"]["M"].items()}


def _value(given: dict[str, dict[str, str]], name: str) -> int:
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
