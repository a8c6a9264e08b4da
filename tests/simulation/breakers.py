"""Invariants of destinations that fail or are slow: their breakers and their lane."""

import math
from collections.abc import Sequence
from typing import Final

from tests.simulation.engine import Change
from tests.simulation.flows import (
    BELIEVED,
    CLOCK_CUTS,
    FOREVER,
    MINUTE,
    NUMBER,
    changed_rows,
    value_given,
    way_of,
    without_count,
)
from tests.simulation.hub import SECOND, Actor
from tests.simulation.rows import address, claimed, number
from tests.simulation.seen import Broken, Seen

_TO_OPEN: Final = 10
# Ten failures within a minute open a breaker, counted from the first of some minute: of so many in a row within any
# minute, ten are in one.
_SURELY: Final = 2 * _TO_OPEN - 1
_RECOVERY: Final = 20 * SECOND


def a_breaker_opens_after_ten(seen: Seen, actor: Actor | None, changes: Sequence[Change]) -> None:
    """Failures whose count was written without an answer are counted again."""
    enough = _TO_OPEN // 2 if seen.began.loses_answers else _TO_OPEN
    for key, before, after in changed_rows(changes, "breaker#"):
        way = way_of(key)
        heard = [each.down for each in seen.heard if (each.tenant, each.address) == way]
        was_open, is_open = bool(before and "open_until" in before), "open_until" in after
        if before is not None and without_count(before) == without_count(after):
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
            seen.recovers[way] = (number(after, "closed_at") * 1000, [], -FOREVER if again else 0)
            seen.reach["breaker closes"] += 1


def no_more_begin_than_may_while_it_recovers(
    seen: Seen, actor: Actor | None, changes: Sequence[Change]
) -> None:
    """Calls to a destination that was down begin at the numbers that are given away, and those lie apart."""
    for key, before, after in changed_rows(changes, "starts#"):
        way = way_of(key)
        if actor is None or way not in seen.recovers:
            continue
        closed_at, at, begun = seen.recovers[way]
        given = actor.asked["ExpressionAttributeValues"]
        wide = value_given(given, ":wide") or value_given(given, ":end") - value_given(given, ":now")
        ends = number(after, "ends")
        if ends < (number(before, "ends") if before else 0) + wide:
            raise Broken(f"breaker: starts of {key} are given away once more")
        first = (ends - wide - closed_at) // NUMBER
        at += [closed_at + _starts_after(place) for place in range(first, first + wide // NUMBER)]
        seen.recovers[way] = closed_at, at, begun
        seen.reach["starts given away"] += wide // NUMBER
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
        # A worker whose clock is put back believes for that much longer what it remembers.
        longer = 2 * seen.began.skew if seen.began.jumps else 0
        if now < seen.opened[way] + BELIEVED + longer:
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
    for key, before, after in changed_rows(changes, "breaker#"):
        until = number(after, "slow_until")
        if not until or until == (number(before, "slow_until") if before else 0):
            continue
        way, now = way_of(key), seen.hub.now
        if before is None or number(before, "slow_until") * 1000 < now:
            seen.slow_since[way] = now
        seen.reach["destination slow"] += 1
        since = now - 2 * SECOND + CLOCK_CUTS
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
        disturbed = "open_until" in breaker or number(breaker, "closed_at") * 1000 > now - MINUTE
        longer = 2 * seen.began.skew if seen.began.jumps else 0
        if not disturbed and now > seen.slow_since[way] + BELIEVED + longer:
            raise Broken(f"slow: {row['id']['S']} begins beside calls to quick destinations")


def a_breaker_closes_when_it_is_answered(seen: Seen) -> None:
    for row in seen.engine.rows("flow"):
        if not row["name"]["S"].startswith("breaker#") or "open_until" not in row:
            continue
        way = way_of(f"{row['tenant']['S']}#{row['name']['S'].removeprefix('breaker#')}")
        heard = [each for each in seen.heard if (each.tenant, each.address) == way]
        last = max(seen.calm_at or seen.hub.now, seen.opened[way])
        if heard and not heard[-1].down and heard[-1].at > last + BELIEVED:
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
    if down_for < 10 * MINUTE - slack and not 20 * SECOND - slack <= until - now <= 30 * SECOND + slack:
        raise Broken(f"breaker: {way[1]} is left alone for {(until - now) / SECOND} s")
    if until - now > 15 * MINUTE + slack:
        raise Broken(f"breaker: {way[1]} is left alone for {(until - now) / SECOND} s")


def _is_surely_down(seen: Seen, way: tuple[str, str]) -> bool:
    """True if the newest answers were all failures. Those of the last seconds may not have been noted yet."""
    now = seen.hub.now
    newest = [each for each in seen.heard if (each.tenant, each.address) == way and each.at < now - BELIEVED]
    newest = newest[-_SURELY:]
    return len(newest) == _SURELY and all(each.down for each in newest) and newest[0].at > now - MINUTE
