"""Values that several parts of the API share."""

import os
from dataclasses import dataclass
from datetime import timedelta
from typing import Self

from functions.api.settings import Settings
from postdate.domain.slots import UNIQUE_BYTES, ShardPlan
from postdate.domain.sweeping import Groups, Horizon
from postdate.runtime import aws
from postdate.runtime.clock import Clock
from postdate.runtime.queue import SqsQueue


@dataclass(frozen=True, kw_only=True, slots=True)
class Base:
    # The settings of the function.
    given: Settings
    # The clock of the process.
    clock: Clock
    # The number of shards of each minute.
    shards: ShardPlan
    # The groups of shards that a sweep works on.
    groups: Groups
    # The time before an instant in which its minute is open.
    horizon: Horizon
    # The time for which rows stay after their end.
    retention: timedelta
    # The queue of calls of tasks.
    tasks_queue: SqsQueue

    @classmethod
    def of(cls, given: Settings, clock: Clock) -> Self:
        """The values that follow from the settings of the function."""
        shards = ShardPlan.parse(given.shard_plan)
        return cls(
            given=given,
            clock=clock,
            shards=shards,
            groups=Groups(shards=shards, size=given.shards_per_group),
            horizon=Horizon(
                lead=timedelta(seconds=given.open_lead_seconds),
                margin=timedelta(seconds=given.open_margin_seconds),
            ),
            retention=timedelta(days=given.retention_days),
            tasks_queue=SqsQueue(url=given.tasks_queue_url, client=aws.client("sqs"), clock=clock),
        )


def unique() -> bytes:
    return os.urandom(UNIQUE_BYTES)
