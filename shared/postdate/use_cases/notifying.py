"""Deliveries of events to subscriptions: one task for each event and each subscription that wants it.

Rows first, then their calls. Ids follow from the event and the subscription, so a call of this use case that is
repeated, after a crash or for a doubled record, writes no second task.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from postdate.domain import subscription as rules
from postdate.domain.due import Due, Via, pack
from postdate.domain.errors import Unavailable
from postdate.domain.event import Event
from postdate.domain.slots import ShardPlan
from postdate.domain.subscription import Subscription
from postdate.domain.task import State, Task
from postdate.runtime.clock import Clock
from postdate.runtime.queue import Queue
from postdate.stores.events import Events
from postdate.stores.subscriptions import Subscriptions, live
from postdate.stores.tasks import Tasks, Written

# So many earlier events of a subject are searched for the one that the subscription was told before.
_LOOKS_BACK: Final = 100
_THERE: Final = frozenset({Written.DONE, Written.CONFLICT})
# Rows of deliveries are kept for 35 days.
_MISSED_FOR: Final = timedelta(days=30)


@dataclass(frozen=True, kw_only=True, slots=True)
class Notifier:
    events: Events
    subscriptions: Subscriptions
    tasks: Tasks
    queue: Queue
    # The number of shards of each minute, which the ids of deliveries name.
    shards: ShardPlan
    clock: Clock

    def notify(self, tenant: str, events: Sequence[Event]) -> None:
        """Makes the deliveries of recorded events. `events` are as they were recorded first: a pause is compared with
        that instant. Raises Unavailable if one may be missing: the caller repeats all."""
        for subscription in live(self.subscriptions, tenant):
            told = [event for event in events if subscription.wants(event) and subscription.is_told(event)]
            self.deliver(told, subscription)

    def deliver(self, wanted: Sequence[Event], subscription: Subscription) -> int:
        """Makes the deliveries of these events to one subscription, and returns the number of new ones.

        Also makes those of earlier events of their subjects that the replay after a pause has not come to: a worker
        takes a missing row for a delivery that is over, and would send the later one first."""
        now = self.clock.now()
        chain = self._chain(wanted, subscription)
        tasks = [
            rules.delivery(event, subscription, before=before, shards=self.shards, now=now)
            for event, before in chain
        ]
        new = 0
        for turn in _in_turn([event for event, _ in chain], tasks):
            new += self._write(turn)
        return new

    def _write(self, tasks: Sequence[Task]) -> int:
        written = self.tasks.add(tasks)
        if not _THERE.issuperset(written):
            raise Unavailable("a delivery could not be written")
        new = [task for task, done in zip(tasks, written, strict=True) if done is Written.DONE]
        called = new
        if len(new) < len(tasks):
            # The writer before may have crashed between the rows and their calls.
            known = self.tasks.get_many(task.id for task in tasks)
            called = [task for task in known.values() if task.state is State.PENDING]
        if called:
            self.queue.send(pack(((task.tenant, Due.of(task)) for task in called), Via.REGISTRATION))
        return len(new)

    def _chain(
        self, wanted: Sequence[Event], subscription: Subscription
    ) -> Sequence[tuple[Event, Event | None]]:
        """The events to deliver, each with the event whose delivery goes before it."""
        if not subscription.ordered:
            return [(event, None) for event in wanted]
        found: dict[str, tuple[Event, Event | None]] = {}
        for event in wanted:
            earlier = self._earlier(event)
            found[event.id] = event, rules.wanted_before(event, earlier, subscription)
            for each in self._missing(earlier, subscription):
                if each.id not in found:
                    before = rules.wanted_before(each, earlier, subscription)
                    # The first of them: its own predecessor may be further back.
                    before = before or rules.wanted_before(each, self._earlier(each), subscription)
                    found[each.id] = each, before
        return list(found.values())

    def _missing(self, earlier: Sequence[Event], subscription: Subscription) -> list[Event]:
        """The events of a pause that have no delivery yet. Older ones may have had one that has expired."""
        since = self.clock.now() - _MISSED_FOR
        missed = {
            rules.delivery_id(each, subscription, self.shards): each
            for each in earlier
            if subscription.missed(each) and each.recorded_at is not None and each.recorded_at > since
        }
        known = self.tasks.get_many(missed) if missed else {}
        return [each for id, each in missed.items() if id not in known]

    def _earlier(self, event: Event) -> list[Event]:
        """The events of the subject before this one, the last 100 of them."""
        first = max(0, event.sequence - 1 - _LOOKS_BACK)
        # The first event of a subject has none before it.
        limit = event.sequence - 1 - first
        return self.events.of(event.subject, after=first, limit=limit) if limit else []


def _in_turn(events: Sequence[Event], tasks: Sequence[Task]) -> Iterable[list[Task]]:
    """Puts deliveries into turns, to be written one after the other. A delivery comes in a later turn than those of
    earlier events of its subject: a worker takes a missing row for a delivery that is over, and would go ahead of
    it."""
    turns: list[list[Task]] = []
    placed: dict[object, int] = {}
    for event, task in sorted(zip(events, tasks, strict=True), key=lambda pair: pair[0].sequence):
        turn = placed.get(event.subject, -1) + 1
        placed[event.subject] = turn
        if turn == len(turns):
            turns.append([])
        turns[turn].append(task)
    return turns
