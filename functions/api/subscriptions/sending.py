"""Sends events to one subscription on request: a test, or a replay of the past."""

import json
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from postdate.domain import replay as replays
from postdate.domain import task_requests
from postdate.domain.errors import Unavailable
from postdate.domain.recurs import Recurs
from postdate.domain.replay import Step
from postdate.domain.slots import UNIQUE_BYTES, ShardPlan
from postdate.domain.subscription import Subscription
from postdate.domain.sweeping import Horizon
from postdate.domain.task import DELIVERY_KIND, Payload, Task, Template
from postdate.runtime.clock import Clock
from postdate.runtime.queue import Queue
from postdate.stores.tasks import Tasks, Written
from postdate.use_cases import calls

TEST_TYPE: Final = "subscription.test"


@dataclass(frozen=True, kw_only=True, slots=True)
class EventSender:
    tasks: Tasks
    queue: Queue
    shards: ShardPlan
    horizon: Horizon
    clock: Clock

    def test(self, known: Subscription, unique: bytes) -> Task:
        """Sends an event that stands for no change. `unique` makes the id of its delivery."""
        now = self.clock.now()
        task = task_requests.register(
            id=self.shards.item_id(DELIVERY_KIND, now, unique[:UNIQUE_BYTES]),
            tenant=known.tenant,
            due_at=now,
            now=now,
            template=Template(destination=known.destination, payload=Payload(text=_test_body(known, now))),
            recurs=Recurs(definition=known.id, plan=0, at=now, number=0),
            why="a test",
        )
        self._write(task)
        return task

    def replay(self, known: Subscription, *, since: datetime, why: str, **asked: Any) -> Step:
        """Begins to deliver events of the past. Equal reasons begin one replay, however often they are given."""
        now = self.clock.now()
        step = Step(
            replay=replays.replay_id(known.id, since, why, self.shards),
            subscription=known.id,
            since=since,
            **asked,
        )
        task = replays.task_of(step, known.tenant, shards=self.shards, now=now)
        self._write(task)
        return step

    def _write(self, task: Task) -> None:
        """The row is the promise. If its call is lost, the closing pass finds the row."""
        # CONFLICT: an equal replay was begun before.
        if self.tasks.add([task])[0] not in (Written.DONE, Written.CONFLICT):
            raise Unavailable
        calls.send([task], queue=self.queue, horizon=self.horizon, now=self.clock.now())


def _test_body(known: Subscription, now: datetime) -> str:
    body = {
        "event_id": None,
        "type": TEST_TYPE,
        "occurred_at": now.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
        "subject": {"kind": "subscription", "id": known.id},
        "data": {},
    }
    return json.dumps(body, separators=(",", ":"))
