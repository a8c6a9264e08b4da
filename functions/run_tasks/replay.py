"""Steps of replays: a destination inside Postdate, as steps of backfills are.

A step that breaks off is simply repeated: it makes the deliveries that are missing, writes the step after it and calls
that one.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from functions.run_tasks.inside import InsideTarget
from postdate.domain import subscription as rules
from postdate.domain.due import Due, Packet, Via, pack
from postdate.domain.errors import InvalidState, Unavailable
from postdate.domain.event import Event
from postdate.domain.replay import STEP_EVENTS, STEP_PAGES, Step, task_of
from postdate.domain.subscription import State, Subscription
from postdate.domain.task import State as TaskState
from postdate.runtime.observability import logger
from postdate.stores.events import Events, FeedPage, page_before
from postdate.stores.subscriptions import Subscriptions
from postdate.stores.tasks import Written
from postdate.targets.base import Delivery
from postdate.use_cases.notifying import Notifier

_THERE: Final = frozenset({Written.DONE, Written.CONFLICT})
_AUTHOR: Final = "function:run_tasks"


@dataclass(frozen=True, kw_only=True, slots=True)
class ReplayTarget(InsideTarget):
    events: Events
    subscriptions: Subscriptions
    notifier: Notifier

    def carry_out(self, delivery: Delivery) -> None:
        self._take(Step.read(delivery.payload.decode()), delivery.tenant)

    def _take(self, step: Step, tenant: str) -> None:
        subscription = self.subscriptions.get(tenant, step.subscription)
        if subscription is None or subscription.state is State.ENDED:
            raise InvalidState(State.ENDED, "its subscription has ended")
        after = page_before(self.events, tenant, step.since) if step.after is None else step.after
        pages = self.events.pages(tenant, after=after, limit=STEP_PAGES)
        # A replay of the whole pause has come to all earlier events: nothing is to be made before its own.
        told = replace(subscription, missed_since=None) if _covers(step, subscription) else subscription
        found: list[Event] = []
        made = redriven = 0
        for page in pages:
            # Pages are in the order of recording, so no later page has an event that is wanted.
            if step.until is not None and page.recorded_at >= step.until:
                self._end(step, subscription)
                return
            found = self._wanted(page, step, subscription)
            redriven += self._redrive(self._of_pause(found, step, subscription), subscription)
            made += 0 if step.only_failed else self.notifier.deliver(found, told)
            after = page.number
            if made + redriven >= STEP_EVENTS:
                break
        logger.info(
            "events are delivered again",
            extra={"action": "replayed", "subscription": subscription.id, "made": made, "redriven": redriven},
        )
        # The end of the feed: later events are delivered as they happen.
        if not pages or (len(pages) < STEP_PAGES and after == pages[-1].number):
            self._end(step, subscription)
        else:
            self._follow(step.following(after), tenant)

    def _wanted(self, page: FeedPage, step: Step, subscription: Subscription) -> list[Event]:
        asked = replace(subscription, types=step.types) if step.types else subscription
        entries = [each for each in page.entries if subscription.names(each.type) and asked.names(each.type)]
        found = self.events.listed(page.tenant, entries)
        return [found[each] for each in entries if each in found and subscription.wants(found[each])]

    def _of_pause(self, events: Sequence[Event], step: Step, subscription: Subscription) -> Sequence[Event]:
        """Leaves out what a resumption must not redrive: events of the moment before the pause, whose deliveries had
        ended."""
        since = subscription.missed_since
        if since is None or not _covers(step, subscription):
            return events
        return [each for each in events if each.recorded_at is None or each.recorded_at >= since]

    def _redrive(self, events: Sequence[Event], subscription: Subscription) -> int:
        """Calls the dead deliveries of these events again, and returns their number."""
        ids = [rules.delivery_id(event, subscription, self.notifier.shards) for event in events]
        known = self.notifier.tasks.get_many(ids)
        dead = [known[id] for id in ids if id in known and known[id].state is TaskState.DEAD]
        if dead:
            self.notifier.queue.send(
                Packet(tenant=task.tenant, via=Via.DEAD, dues=(Due.of(task),)) for task in dead
            )
        return len(dead)

    def _follow(self, step: Step, tenant: str) -> None:
        task = task_of(step, tenant, shards=self.notifier.shards, now=self.clock.now())
        if not _THERE.issuperset(self.notifier.tasks.add([task])):
            raise Unavailable
        self.notifier.queue.send(pack([(task.tenant, Due.of(task))], Via.REGISTRATION))

    def _end(self, step: Step, subscription: Subscription) -> None:
        """Takes the mark of the pause away after a replay of the whole pause. Raises Unavailable if another change was
        faster: the step is repeated with the newer subscription."""
        if subscription.missed_since is not None and _covers(step, subscription):
            after = rules.changed(subscription, now=self.clock.now(), by=_AUTHOR, missed_since=None)
            if not self.subscriptions.change(after):
                raise Unavailable("the subscription was changed meanwhile")


def _covers(step: Step, subscription: Subscription) -> bool:
    """True if the replay delivers all events of the subscription's pause: a part of them takes no mark away."""
    since = subscription.replayed_since
    is_whole = step.until is None and not step.types and not step.only_failed
    return since is None or (is_whole and step.since <= since)
