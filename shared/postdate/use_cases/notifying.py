"""Deliveries of events to subscriptions: one task for each event and each subscription that wants it.

Rows first, then their calls. Ids follow from the event and the subscription, so a call of this use case that is
repeated, after a crash or for a doubled record, writes no second task.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
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
        """Makes the deliveries of these events to one subscription, and returns the number of new ones."""
        if not wanted:
            return 0
        now = self.clock.now()
        before = self._before(wanted, subscription) if subscription.ordered else {}
        tasks = [
            rules.delivery(event, subscription, before=before.get(event.id), shards=self.shards, now=now)
            for event in wanted
        ]
        new = 0
        for turn in _in_turn(wanted, tasks):
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

    def _before(self, wanted: Sequence[Event], subscription: Subscription) -> Mapping[str, Event]:
        """Maps the id of each event to the event whose delivery goes before."""
        found: dict[str, Event] = {}
        for event in wanted:
            # The first event of a subject has none before it.
            if event.sequence == 1:
                continue
            first = max(0, event.sequence - 1 - _LOOKS_BACK)
            earlier = self.events.of(event.subject, after=first, limit=event.sequence - 1 - first)
            if before := rules.wanted_before(event, earlier, subscription):
                found[event.id] = before
        return found


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
