"""Deliveries of events to subscriptions: their turn, their bodies and their signatures.

A delivery belongs to a subscription as a run belongs to a definition, and is delivered as any task is. Three things
differ. No attempt begins while the subscription is paused, or before the delivery ahead of it has ended. The body is
the event, read from the table of events at each attempt. The subscription's own secrets sign it.
"""

from collections.abc import Iterable, Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from typing import Final

from functions.run_tasks.batch import SOON
from postdate.domain import subscription as rules
from postdate.domain import transitions, verdicts
from postdate.domain.errors import InvalidState, Unavailable
from postdate.domain.event import Event, parsed_id
from postdate.domain.event_body import text_of
from postdate.domain.item import Phase
from postdate.domain.subscription import State, Subscription
from postdate.domain.task import Task
from postdate.domain.transitions import Transition
from postdate.domain.verdicts import Deferred, Dropped
from postdate.runtime.cached import Cached
from postdate.runtime.clock import Clock
from postdate.runtime.observability import logger
from postdate.stores.events import Events
from postdate.stores.subscriptions import Subscriptions
from postdate.stores.tasks import Tasks
from postdate.targets.base import Failed, Receipt, Untried

ENDED: Final = "its subscription has ended"
PAUSED: Final = "its subscription is paused"
WAITS: Final = "waits for the delivery before it"
# How long a subscription that was paused or ended is still delivered to.
_KEPT: Final = timedelta(seconds=2)
# The wait for a delivery that is in progress. SQS waits in whole seconds.
_POLL: Final = timedelta(seconds=1)
# The wait for a paused subscription, and the longest for a delivery that will be tried again.
_REST: Final = timedelta(minutes=5)
_AUTHOR: Final = "function:run_tasks"


class Subscribed:
    """Outlives a batch; `Bodies` are of one batch."""

    def __init__(self, *, events: Events, subscriptions: Subscriptions, tasks: Tasks, clock: Clock) -> None:
        self.events = events
        self.subscriptions = subscriptions
        self._tasks = tasks
        self._clock = clock
        self._known = Cached(self._load, keep=_KEPT, clock=clock)

    def subscription(self, task: Task) -> Subscription | None:
        return self._known.get(f"{task.tenant}#{task.task_id}")

    def steps(self, deliveries: Sequence[Task]) -> list[Transition | Dropped | Deferred | None]:
        """The decision about each delivery in place of an attempt; None if its attempt begins. Raises Unavailable when
        a row cannot be read now."""
        ahead = self._tasks.get_many(id for each in deliveries for id in _ahead(each))
        if ahead.unreadable:
            raise Unavailable("newer code alone can read a delivery")
        now = self._clock.now()
        return [
            self._step(each, [ahead[id] for id in _ahead(each) if id in ahead], now) for each in deliveries
        ]

    def end(self, task: Task) -> None:
        """Ends the subscription of a delivery that was answered 410. If this is lost, so is nothing else: the next
        delivery is answered the same."""
        with suppress(Unavailable, InvalidState):
            subscription = self.subscriptions.get(task.tenant, task.task_id)
            # The owner has given the subscription another address since this delivery was made.
            if subscription is None or subscription.destination.address != task.destination.address:
                return
            reason = f"its endpoint answered {rules.ENDS_STATUS}"
            after = rules.ended(subscription, now=self._clock.now(), by=_AUTHOR, reason=reason)
            if self.subscriptions.change(after):
                logger.warning(
                    "a subscription has ended",
                    extra={"action": "subscription_ended", "subscription": after.id, "reason": reason},
                )

    def _load(self, key: str) -> Subscription | None:
        tenant, _, id = key.partition("#")
        return self.subscriptions.get(tenant, id)

    def _step(
        self, task: Task, ahead: Iterable[Task], now: datetime
    ) -> Transition | Dropped | Deferred | None:
        subscription = self.subscription(task)
        if subscription is None or subscription.state is State.ENDED:
            return verdicts.stop(task, now=now, why=ENDED)
        if not task.state.waits:
            # A worker that crashed had begun it, or a person redrives it.
            return None
        if subscription.state is State.PAUSED:
            return _postponed(task, now, now + _REST, PAUSED)
        open_ones = [each for each in ahead if each.phase is not Phase.RESTS]
        if not open_ones:
            return None
        # The delivery ahead may end just after its next attempt.
        until = max(each.due_at for each in open_ones) + _POLL
        if until <= now + SOON:
            return Deferred(why=WAITS, not_before=now + _POLL)
        return _postponed(task, now, min(until, now + _REST), WAITS)


class Bodies:
    """The events of one batch, each read once."""

    def __init__(self, events: Events) -> None:
        self._events = events
        self._read: dict[str, Event | None] = {}
        self._unread: set[str] = set()

    def prefetch(self, deliveries: Iterable[Task]) -> None:
        """Reads the events of these deliveries in one request, for `of`."""
        wanted = {
            task.payload.key: known
            for task in deliveries
            if task.payload.key is not None
            and task.payload.key not in self._read
            and (known := parsed_id(task.tenant, task.payload.key)) is not None
        }
        if not wanted:
            return
        try:
            found = self._events.some(wanted.values())
        except Unavailable:
            self._unread |= wanted.keys()
            return
        self._unread -= wanted.keys()
        self._read |= {id: found.get(named_by) for id, named_by in wanted.items()}

    def of(self, task: Task) -> bytes | Failed | Untried:
        """The body of a delivery that was prefetched."""
        key = task.payload.key
        if key is None:
            return (task.payload.text or "").encode()
        if key in self._unread:
            return Untried(reason="its event could not be read")
        event = self._read.get(key)
        return Failed(reason="its event is gone", retry=False) if event is None else text_of(event).encode()


def says_gone(receipt: Receipt) -> bool:
    return isinstance(receipt, Failed) and receipt.http_status == rules.ENDS_STATUS


def _ahead(task: Task) -> tuple[str, ...]:
    return () if task.recurs is None else task.recurs.before


def _postponed(task: Task, now: datetime, until: datetime, why: str) -> Transition:
    claim = Transition(before=task, after=task)
    return transitions.postpone(claim, now=now, until=until, why=why, placed=False)
