"""A replay: the events of a span of time are delivered to a subscription as if they were recorded now, in steps.

Each step is a task of its own, as a step of a backfill is. A step makes the deliveries of some pages of the feed,
writes the next step, and only then ends. Deliveries have ids that follow from the event, so an event that was delivered
is not delivered again; a delivery that died is tried again.
"""

import hashlib
import json
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final

from postdate.domain import instants, task_requests
from postdate.domain.slots import UNIQUE_BYTES, ShardPlan, home
from postdate.domain.task import OPERATION_KIND, Destination, Payload, Task, Template

TARGET_TYPE: Final = "replay"
# A step ends with the page on which it has so many events.
STEP_EVENTS: Final = 500
# A step also ends after so many pages, however few of their events are wanted.
STEP_PAGES: Final = 100
_TIMEOUT_SECONDS: Final = 60


@dataclass(frozen=True, kw_only=True, slots=True)
class Step:
    # The id of the replay, which is also the id of its first step.
    replay: str
    # The id of the subscription.
    subscription: str
    # Events that were recorded at this instant or later.
    since: datetime
    # Events that were recorded before this instant; None for all up to now.
    until: datetime | None = None
    # Only these of the subscription's types; empty for all of them.
    types: tuple[str, ...] = ()
    # True to try dead deliveries again, and to make none.
    only_failed: bool = False
    # The number of this step, from 0.
    number: int = 0
    # The page of the feed that the step before ended with; None in the first step.
    after: int | None = None

    @classmethod
    def read(cls, text: str) -> "Step":
        values = json.loads(text)
        until = values["until"]
        return cls(
            replay=values["replay"],
            subscription=values["subscription"],
            since=instants.from_milliseconds(values["since"]),
            until=None if until is None else instants.from_milliseconds(until),
            types=tuple(values["types"]),
            only_failed=values["only_failed"],
            number=values["number"],
            after=values["after"],
        )

    @property
    def text(self) -> str:
        values = {
            "replay": self.replay,
            "subscription": self.subscription,
            "since": instants.milliseconds(self.since),
            "until": None if self.until is None else instants.milliseconds(self.until),
            "types": self.types,
            "only_failed": self.only_failed,
            "number": self.number,
            "after": self.after,
        }
        return json.dumps(values, separators=(",", ":"))

    def following(self, after: int) -> "Step":
        return replace(self, number=self.number + 1, after=after)


def replay_id(subscription: str, since: datetime, why: str, shards: ShardPlan) -> str:
    """The same for the same reason. The steps are at home in the minute in which the span begins."""
    unique = hashlib.sha256(f"{subscription} {since.isoformat()} {why}".encode()).digest()[:UNIQUE_BYTES]
    return shards.item_id(OPERATION_KIND, since, unique)


def task_of(step: Step, tenant: str, *, shards: ShardPlan, now: datetime) -> Task:
    """The row of a step, due now. All steps are at home in the minute of the first."""
    id = step.replay
    if step.number:
        unique = hashlib.sha256(f"{step.replay} {step.number}".encode()).digest()[:UNIQUE_BYTES]
        minute = instants.start_of(home(step.replay).minute)
        id = shards.item_id(OPERATION_KIND, minute, unique)
    return task_requests.register(
        id=id,
        tenant=tenant,
        due_at=now,
        now=now,
        template=Template(
            destination=Destination(type=TARGET_TYPE, address="events"),
            payload=Payload(text=step.text),
            timeout_seconds=_TIMEOUT_SECONDS,
        ),
        why="asked for" if step.number == 0 else "follows",
    )
