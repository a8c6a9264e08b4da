"""Retention after a run: nights archive its payments while workers die, the rows expire, and callers ask again 401 days
later."""

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random
from typing import Any, Final

from postdate.domain.errors import Unavailable
from postdate.domain.slots import home
from postdate.stores.archive import MemoryArchive
from postdate.stores.reports import MemoryReports
from tests.simulation.afterwards import DAY, Afterwards
from tests.simulation.hub import SECOND, Actor, Crash
from tests.simulation.mix import HOUR, MINUTE
from tests.simulation.rows import is_payment, lines, number, text
from tests.simulation.seen import Broken
from tests.simulation.transitions import FINAL

_SCHEDULE: Final = "/api/v1/payments/schedule"
_KEPT: Final = 400 * DAY
_WALKS_BEFORE: Final = 3
_FAULTY_NIGHTS: Final = 2
_CALM_NIGHTS: Final = 3


class DyingArchive(MemoryArchive):
    """Workers die before and after they write an object, and S3 fails."""

    def __init__(self, draws: Random, park: Callable[[], None]) -> None:
        super().__init__()
        self._draws = draws
        self._park = park
        self.is_faulty = False

    def put(self, key: str, content: bytes) -> bool:
        self._park()
        drawn = self._draws.random() if self.is_faulty else 1.0
        if drawn < 0.1:
            raise Crash
        written = super().put(key, content)
        self._park()
        if drawn < 0.2:
            raise Crash
        if drawn < 0.25:
            raise Unavailable("S3")
        return written

    def get(self, key: str) -> bytes | None:
        if self.is_faulty and self._draws.random() < 0.05:
            raise Unavailable("S3")
        return super().get(key)


@dataclass(kw_only=True, slots=True)
class Kept:
    """Answers by ids of payments, `before` and `after` they left the table; `replayed` are the ids that each key was
    answered with, first and again, `leave_at` the instants of removal and the earliest ones that are right."""

    before: dict[str, Any] = field(default_factory=dict)
    after: dict[str, Any] = field(default_factory=dict)
    left: set[str] = field(default_factory=set)
    leave_at: dict[str, tuple[int, int]] = field(default_factory=dict)
    replayed: list[tuple[str, str, str]] = field(default_factory=list)
    money_before: list[str] = field(default_factory=list)
    money_after: list[str] = field(default_factory=list)
    audits: list[tuple[str, Any]] = field(default_factory=list)


@dataclass(kw_only=True, slots=True, eq=False)
class Retaining(Afterwards):
    archive: DyingArchive = field(init=False)
    kept: Kept = field(default_factory=Kept)

    def __post_init__(self) -> None:
        hub = self.run.hub
        self.archive = DyingArchive(Random(hub.draws.getrandbits(64)), lambda: hub.park(0))

    def go(self) -> Kept:
        self.begin()
        payments = [row for row in self.run.seen.items() if is_payment(row) and text(row, "status") in FINAL]
        if not payments:
            return self.kept
        ids = {str(text(row, "id")): str(text(row, "tenant")) for row in payments}
        self.together(HOUR, (self.actor("caller"), lambda actor: self._look(actor, ids, self.kept.before)))
        self._nights(payments)
        self._expire(ids)
        self.run.hub.now += 401 * DAY
        self._serve_from_the_archive()
        self.kept.money_before = self._money()
        self.together(HOUR, (self.actor("caller"), lambda actor: self._ask_again(actor, ids)))
        self.kept.money_after = self._money()
        self.run.seen.reach["payments archived"] += len(self.kept.left)
        return self.kept

    def _look(self, actor: Actor, ids: dict[str, str], found: dict[str, Any]) -> None:
        for id, tenant in ids.items():
            actor.tenant = tenant
            found[id] = self.run.clients.ask(actor, "GET", f"/api/v1/payments/{id}").body

    def _nights(self, payments: list[Any]) -> None:
        minutes = [home(str(text(row, "id"))).minute for row in payments]
        first, last = min(minutes), max(minutes)
        hub = self.run.hub
        self._walked_to(first - _WALKS_BEFORE)
        hub.now = max(hub.now, (last + 2) * MINUTE + 14 * DAY)
        self.archive.is_faulty = True
        for _ in range(_FAULTY_NIGHTS):
            copies = hub.draws.choice((1, 1, 2))
            with self.faulty():
                self.together(DAY, *((self._archivist(), self._night) for _ in range(copies)))
            hub.now += DAY
            self._walked_to(hub.now // MINUTE - 14 * 24 * 60 - _WALKS_BEFORE)
        self.archive.is_faulty = False
        for _ in range(_CALM_NIGHTS):
            self.together(DAY, (self._archivist(), self._night))
            hub.now += 2 * DAY
            self._walked_to(hub.now // MINUTE - 14 * 24 * 60 - _WALKS_BEFORE)

    def _walked_to(self, minute: int) -> None:
        """The minutes before have no payment: a walk over them would find nothing, slowly."""
        row = self.run.wire.engine.row("slots", "retention", "walked")
        if row is None or number(row, "number") < minute:
            place = {"scope": {"S": "retention"}, "name": {"S": "walked"}, "number": {"N": str(minute)}}
            self.run.wire.engine.write("slots", place)

    def _archivist(self) -> Actor:
        actor = self.actor("archive", function="archive")
        wired = actor.wired
        for user in (wired.archiver, wired.retainer, wired.retainer.owners):
            object.__setattr__(user, "archive", self.archive)
        wired.reports = MemoryReports()
        return actor

    def _night(self, actor: Actor) -> None:
        for first in ({"today": True}, {"action": "payments"}):
            event: dict[str, Any] = dict(first)
            while True:
                event = self.answered(actor, "archive", event)
                if not event["goes_on"]:
                    break

    def _expire(self, ids: dict[str, str]) -> None:
        engine = self.run.wire.engine
        for row in list(engine.rows("payments")):
            id = str(text(row, "id"))
            if "expires_at" not in row or id not in ids:
                continue
            slot_ends = (home(id).minute + 1) * MINUTE
            at = max(slot_ends, *(line[1] * 1000 for line in lines(row)), number(row, "due") * 1000)
            self.kept.leave_at[id] = number(row, "expires_at") * SECOND, at + _KEPT
            self.kept.left.add(id)
            engine.remove("payments", str(text(row, "slot")), id)

    def _serve_from_the_archive(self) -> None:
        clients = self.run.clients
        name, wired = self.run.functions.copy("api")
        wired.payments.changer.archived._archive = lambda: self.archive
        clients._idle[:] = [(name, wired)]

    def _ask_again(self, actor: Actor, ids: dict[str, str]) -> None:
        seen, clients = self.run.seen, self.run.clients
        self._look(actor, ids, self.kept.after)
        for (tenant, path, key), told in sorted(seen.keys.items()):
            bodies = seen.bodies[tenant, path, key]
            if path == _SCHEDULE and len(bodies) == 1 and told["payment_id"] in self.kept.left:
                actor.tenant = tenant
                answer = clients.ask(actor, "POST", path, json.loads(next(iter(bodies))), key=key)
                again = str((answer.body or {}).get("payment_id")) if answer.replayed else f"{answer.http}"
                self.kept.replayed.append((key, told["payment_id"], again))
        if not seen.damaged:
            for tenant in sorted(set(ids.values())):
                actor.tenant = tenant
                self.kept.audits.append((tenant, clients.ask(actor, "GET", "/api/v1/audit").body))

    def _money(self) -> list[str]:
        engine = self.run.wire.engine
        rows = [*engine.rows("accounts"), *engine.rows("journal"), *engine.rows("payments")]
        return sorted(json.dumps(row, sort_keys=True) for row in rows)


def i14_an_archived_payment_is_told_as_before(kept: Kept) -> None:
    """By its id, and with every field; each payment that ended has left, and none too early."""
    for id, told in kept.before.items():
        if kept.after[id] != told:
            raise Broken(f"I14: {id} was told as {told}, and 401 days later as {kept.after[id]}")
    if stays := sorted(kept.before.keys() - kept.left):
        raise Broken(f"I14: {stays[0]} has ended and stays in the table for ever")
    for id, (at, earliest) in kept.leave_at.items():
        if at < earliest - SECOND:
            raise Broken(f"I14: {id} leaves {(earliest - at) // SECOND} s too early")


def i13_the_key_of_an_archived_payment_is_replayed(kept: Kept) -> None:
    """With the same payment, and without an effect on money; the books agree afterwards."""
    for key, first, again in kept.replayed:
        if first != again:
            raise Broken(
                f"I13: the key {key} registered {first}, and 401 days later is answered with {again}"
            )
    if kept.money_before != kept.money_after:
        raise Broken("I13: a repeated registration of an archived payment moved money")
    for tenant, audit in kept.audits:
        if not audit["ok"]:
            wrong = [check["name"] for check in audit["checks"] if not check["ok"]]
            raise Broken(f"I13: the books of {tenant} disagree once payments have left: {wrong}")
