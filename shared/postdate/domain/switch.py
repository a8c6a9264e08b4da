"""Switches of operators: what is stopped now, and when what waited for it may go on.

A switch that is on works normally. A switch that nobody ever turned is on and has no row. While a switch is off, calls
that need it are sent again with a pause that grows, so that waiting costs little and nobody counts an attempt.

Payments go on in order: each instant for which money was stopped has one instant at which it is released, and no later
payment is released before an earlier one. The first payment is released when the last waiting message is surely back.
Workers may still take two messages in the wrong order. So a payment that lacks money does not fail before all earlier
payments had their time.
"""

import re
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Final

from postdate.domain.instants import whole

SETTLEMENT: Final = "settlement"
API_WRITES: Final = "api_writes"
TENANT: Final = "tenant:"
TARGET: Final = "target:"
# A reading of a switch counts for so long, counted from before the question. Nothing that needs it begins later.
COUNTS_FOR: Final = timedelta(milliseconds=1900)
HISTORY_MAX: Final = 50
_PAUSE_SHARE: Final = 4
_PAUSE_MIN: Final = timedelta(seconds=2)
_PAUSE_MAX: Final = timedelta(seconds=60)
# A pause is rounded up to whole seconds, and the message has to be received.
_BACK_WITHIN: Final = timedelta(seconds=2)
_CATCH_UP_SHARE: Final = 10
# A released payment may wait so long for a worker, because each one waits for the releases of its own batch first.
_STRAGGLES: Final = timedelta(seconds=30)
_CATCH_UP_MAX: Final = timedelta(minutes=15)
_TENANT_NAME: Final = re.compile(r"tenant:[a-z0-9][a-z0-9-]{0,62}")


@dataclass(frozen=True, kw_only=True, slots=True)
class SwitchChange:
    """One line of a switch's history."""

    # The instant of the turn.
    at: datetime
    # The position after it.
    on: bool
    # The author, as `<type>:<id>`.
    by: str
    # The reason that the author gave.
    why: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Switch:
    # `settlement`, `api_writes`, `tenant:<id>` or `target:<type>`.
    name: str
    # False while work of this kind does not begin.
    on: bool = True
    # The beginning of the last time for which it was off. Two times count as one while the first is being caught up.
    # None if it never was off.
    off_at: datetime | None = None
    # The end of that time; None while it is off, and if it never was off.
    on_at: datetime | None = None
    # The newest last, HISTORY_MAX at most.
    history: tuple[SwitchChange, ...] = ()
    # One more with each turn; 0 if it was never turned.
    version: int = 0

    @property
    def caught_up_at(self) -> datetime | None:
        """The instant from which on nothing that waited for it is released any more; None while it is off."""
        if self.off_at is None or self.on_at is None:
            return None
        return whole(self.on_at + self._released_after + self._catch_up)

    def is_caught_up(self, now: datetime) -> bool:
        """False while it is off, and while payments that waited for it may be released."""
        return self.on and ((until := self.caught_up_at) is None or until <= now)

    def released_at(self, due_at: datetime) -> datetime | None:
        """The earliest instant for a payment that is due then, never before it is due; None while the switch is off.
        Later payments are never released before earlier ones."""
        if not self.on:
            return None
        if self.off_at is None or self.on_at is None:
            return due_at
        duration = self.on_at - self.off_at
        behind = min(max(due_at - self.off_at, timedelta(0)), duration)
        share = behind / duration if duration else 0.0
        return max(due_at, whole(self.on_at + self._released_after + share * self._catch_up))

    def orders_until(self, due_at: datetime) -> datetime | None:
        """The instant up to which a payment that is due then may have to wait for earlier ones that were stopped; None
        if it waits for none of them."""
        released_at, caught_up_at = self.released_at(due_at), self.caught_up_at
        if released_at is None or caught_up_at is None or released_at == due_at:
            return None
        return caught_up_at + _STRAGGLES

    def pause(self, now: datetime) -> timedelta:
        """The time after which a call that waits for this switch asks again."""
        if self.off_at is None:
            return _PAUSE_MIN
        return _paused_for(now - self.off_at)

    @property
    def _released_after(self) -> timedelta:
        """The longest pause that a message was given while the switch was off, and the time to come back."""
        return _paused_for(self._duration) + _BACK_WITHIN

    @property
    def _catch_up(self) -> timedelta:
        return min(self._duration / _CATCH_UP_SHARE, _CATCH_UP_MAX)

    @property
    def _duration(self) -> timedelta:
        if self.off_at is None or self.on_at is None:
            return timedelta(0)
        return self.on_at - self.off_at


def _paused_for(off: timedelta) -> timedelta:
    return min(max(off / _PAUSE_SHARE, _PAUSE_MIN), _PAUSE_MAX)


def turned(before: Switch, *, on: bool, now: datetime, by: str, why: str) -> Switch:
    """The switch after an operator turned it; the same if it is in that position already."""
    if on == before.on:
        return before
    turn = SwitchChange(at=now, on=on, by=by, why=why)
    after = replace(before, on=on, history=(*before.history, turn)[-HISTORY_MAX:], version=before.version + 1)
    if on:
        return replace(after, on_at=max(now, before.off_at or now))
    caught_up = before.caught_up_at
    still_waits = caught_up is not None and now < caught_up
    return replace(after, off_at=before.off_at if still_waits else now, on_at=None)


def of_tenant(tenant: str) -> str:
    return f"{TENANT}{tenant}"


def of_target(kind: str) -> str:
    return f"{TARGET}{kind}"


def is_name(name: str, *, targets: frozenset[str]) -> bool:
    """`targets` are the kinds of destinations."""
    if name.startswith(TARGET):
        return name.removeprefix(TARGET) in targets
    return name in (SETTLEMENT, API_WRITES) or _TENANT_NAME.fullmatch(name) is not None
