"""Archives finished payments slot by slot, and sets the instants at which their rows leave the table.

The walk comes to a slot two weeks after its minute, so the events of its payments are still in their table. In a slot:

1. The payments that have ended are taken, if the archive has all their events and the journal agrees with them.
2. Their rows are written as an object under the slot's next number. An object that is there is the work of an earlier
   walk: the rows that it holds count as archived, and the others go into the number behind it.
3. Each row that an object holds gets the instant of its removal, if it has the same version still.
4. A slot with payments that were left is noted for a later day.

The place of the walk moves when all slots of a minute are through. A walk that dies is repeated from that place, and
each step finds what was done before.
"""

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from functools import partial
from typing import Final

from functions.archive.owners import LISTED_WITHIN, Owners
from postdate.domain import archiving, instants, payment_event, retention
from postdate.domain.errors import Unreadable
from postdate.domain.payment import Payment, State
from postdate.domain.slots import ShardPlan, Slot
from postdate.runtime.clock import Clock
from postdate.runtime.observability import logger
from postdate.stores import archived_payments
from postdate.stores.archive import Archive
from postdate.stores.attributes import AttributeMap
from postdate.stores.events import Events
from postdate.stores.slot_payments import SlotPayments, is_leaving, payment_of
from postdate.stores.walks import Walks

_NOTES_AT_ONCE: Final = 100
SLOTS_AT_ONCE: Final = 16
_DAY: Final = timedelta(days=1)
# A payment that cannot be archived is looked at less often the older its slot is: after an eighth of its age.
_PATIENCE: Final = 8


@dataclass(kw_only=True, slots=True)
class Retained:
    """The work of a walk."""

    # Rows that got the instant of their removal.
    archived: int = 0
    # Payments for a later walk.
    left: int = 0
    # The number of objects that were written.
    objects: int = 0
    # False if time ran out.
    is_done: bool = False

    def add(self, other: "Retained") -> None:
        self.archived += other.archived
        self.left += other.left
        self.objects += other.objects


@dataclass(frozen=True, kw_only=True, slots=True)
class Retainer:
    """Walks over the slots of payments."""

    payments: SlotPayments
    events: Events
    archive: Archive
    walks: Walks
    owners: Owners
    # The number of shards of each minute.
    shards: ShardPlan
    clock: Clock
    # The time for which payments stay in their table.
    kept: timedelta
    # The time for which events stay in theirs.
    events_kept: timedelta
    # The number of slots that are worked on side by side.
    at_once: int = SLOTS_AT_ONCE

    def run(self, *, has_time: Callable[[], bool]) -> Retained:
        """Looks at the noted slots, then at the minutes behind the place of the walk. The first walk begins with the
        first day of the archive of events: older payments have no events there. Raises Unavailable; what was archived
        by then stays archived, and is not counted."""
        self.owners.forget()
        done = Retained()
        with ThreadPoolExecutor(self.at_once) as pool:
            walk = partial(self._walk, pool, done)
            self._look_again(walk, has_time)
            for minute in self._minutes():
                if not has_time():
                    return done
                walk([Slot(minute=minute, shard=shard) for shard in range(self.shards.count(minute))])
                self.walks.walk_to(minute)
        done.is_done = has_time()
        return done

    def _minutes(self) -> range:
        """The minutes that are old enough and were not walked through."""
        walked = self.walks.walked()
        first = self._first() if walked is None else walked + 1
        last = instants.minute_of(self.clock.now() - retention.COPIED_AFTER) - 1
        return range(0) if first is None else range(first, last + 1)

    def _look_again(self, walk: Callable[[Sequence[Slot]], None], has_time: Callable[[], bool]) -> None:
        today = self.clock.now().astimezone(UTC).date()
        while has_time() and (notes := self.walks.again(today, limit=_NOTES_AT_ONCE)):
            walk(sorted({slot for _, slot in notes}))
            for day, slot in notes:
                # The look has left a newer note, if one is needed.
                self.walks.forget(slot, day)

    def _first(self) -> int | None:
        """The first minute of the day of the oldest manifest, or earlier, for its events may have come late; None if
        there is none."""
        days = [
            self.archive.folders(owner)[0].rstrip("/").rpartition("/")[2]
            for owner in self.archive.folders(archiving.MANIFESTS)
        ]
        if not days:
            return None
        day = datetime.combine(date.fromisoformat(min(days)), datetime.min.time(), tzinfo=UTC)
        return instants.minute_of(day - LISTED_WITHIN)

    def _walk(self, pool: ThreadPoolExecutor, done: Retained, slots: Sequence[Slot]) -> None:
        """Raises Unavailable."""
        each = pool.map if self.at_once > 1 else map
        for found in each(self.look_at, slots):
            done.add(found)

    def look_at(self, slot: Slot) -> Retained:
        """Archives what is ready in one slot, and notes the day of the next look if something is left."""
        now, tomorrow = self.clock.now(), self.clock.now() + _DAY
        ready: list[tuple[AttributeMap, Payment]] = []
        again: list[datetime] = []
        for row in self.payments.rows(slot):
            if is_leaving(row):
                continue
            try:
                payment = payment_of(row)
            except Unreadable:
                again.append(tomorrow)
                continue
            if retention.leaves_at(payment, self.kept) is None:
                again.append(max(payment.due_at, now) + retention.COPIED_AFTER)
            else:
                ready.append((row, payment))
        sound = self._sound([payment for _, payment in ready])
        archived, objects = self._archived(
            slot, [(row, payment) for row, payment in ready if payment.id in sound]
        )
        left = len(again) + len(ready) - archived
        # Some payments are not sound, or changed meanwhile.
        if len(ready) > archived:
            again.append(max(tomorrow, now + (now - instants.start_of(slot.minute)) / _PATIENCE))
        if again:
            self.walks.look_again(slot, min(again).astimezone(UTC).date())
        return Retained(archived=archived, left=left, objects=objects)

    def _archived(self, slot: Slot, ready: Sequence[tuple[AttributeMap, Payment]]) -> tuple[int, int]:
        """Writes rows to an object and sets the instants of their removal. Returns the number of these rows, and of the
        objects that were written."""
        lines = {
            payment.id: archived_payments.line_of(
                row,
                owner=self.owners.of(payment.tenant).pseudonym,
                seal=partial(self.owners.seal, payment.tenant),
            )
            for row, payment in ready
        }
        objects = self._stored(slot, lines)
        removed = [
            self.payments.remove_at(row, leaves)
            for row, payment in ready
            if (leaves := retention.leaves_at(payment, self.kept)) is not None
        ]
        return sum(removed), objects

    def _stored(self, slot: Slot, lines: Mapping[str, bytes]) -> int:
        """Puts the lines that no object of the slot has into a new one. A line that differs from an earlier one of its
        payment counts as missing: readers take the last."""
        number, missing = 1, dict(lines)
        while missing:
            key = retention.object_key(slot, number)
            if self.archive.put(key, archived_payments.packed(missing[id] for id in sorted(missing))):
                return 1
            there = archived_payments.by_id(self.archive.get(key) or b"")
            missing = {id: line for id, line in missing.items() if there.get(id) != line}
            number += 1
        return 0

    def _sound(self, payments: Sequence[Payment]) -> set[str]:
        """The ids of payments whose events are all archived and that agree with the journal: only these may leave, so
        that every other one stays in sight of the audit and of the repair of events."""
        if not payments:
            return set()
        moved = self.payments.moved(payments)
        # A movement belongs to each completed payment, and to no other one.
        agreeing = [each for each in payments if (each.state is State.COMPLETED) == (each.id in moved)]
        subjects = {each.id: payment_event.subject_of(each) for each in agreeing}
        found = self.events.some(
            (subjects[each.id], version) for each in agreeing for version in range(1, each.version + 1)
        )
        recorded = {(subject.id, version): event.recorded_at for (subject, version), event in found.items()}
        sound = {
            each.id
            for each in agreeing
            if all(self._has_event(each, version, recorded) for version in range(1, each.version + 1))
        }
        for payment in payments:
            if payment.id not in sound:
                extra = {"action": "payment_not_archived", "payment_id": payment.id}
                logger.warning("a payment stays: its events or its movement are not complete", extra=extra)
        return sound

    def _has_event(
        self, payment: Payment, version: int, recorded: Mapping[tuple[str, int], datetime | None]
    ) -> bool:
        """True if the event of this version is in the archive. An event that has expired was checked, with all others
        of its payment, when a later one was recorded; the last one has to be there."""
        at = recorded.get((payment.id, version))
        if at is not None:
            return at <= self.owners.of(payment.tenant).until
        if version == payment.version:
            return False
        # The oldest lines of a long history are left out: their versions are older than the first that is there.
        made_at = next((line.at for line in payment.history if line.version >= version), self.clock.now())
        return made_at + self.events_kept <= self.clock.now()
