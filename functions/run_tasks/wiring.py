"""The objects of one process that runs tasks: tables, lanes, and the connections to destinations."""

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from functools import cache
from typing import Final

from functions.run_tasks.backfill import BackfillTarget
from functions.run_tasks.chain import RunChain
from functions.run_tasks.circuits import Circuits
from functions.run_tasks.flow_keys import FlowKeys
from functions.run_tasks.lanes import Lane
from functions.run_tasks.own_payloads import OwnPayloads
from functions.run_tasks.replay import ReplayTarget
from functions.run_tasks.settings import Settings
from functions.run_tasks.subscribed import Subscribed
from functions.run_tasks.tables import Tables
from postdate.domain.backfill import TARGET_TYPE as BACKFILL
from postdate.domain.recurrence import Runs
from postdate.domain.replay import TARGET_TYPE as REPLAY
from postdate.domain.slots import ShardPlan
from postdate.domain.sweeping import Horizon
from postdate.runtime import aws, dependencies, settings
from postdate.runtime.cached import Cached
from postdate.runtime.clock import SystemClock
from postdate.runtime.parameters import parameters_at
from postdate.runtime.queue import SqsQueue
from postdate.stores.dependencies import Reporter
from postdate.stores.objects_s3 import S3Objects
from postdate.stores.switchboard import Switchboard
from postdate.stores.vault import Vault
from postdate.targets.base import Target
from postdate.targets.kind import Parts
from postdate.targets.registry import Targets
from postdate.use_cases.notifying import Notifier

# A changed setting of a tenant counts after this time at the latest.
_TENANT_KEPT: Final = timedelta(seconds=30)
_READERS: Final = 16
# More steps of backfills or replays at once would make other calls late.
_BACKFILLERS: Final = 2
_REPLAYERS: Final = 2


class Wired:
    def __init__(self) -> None:
        given = settings.read(Settings)
        self.clock = SystemClock()
        self.parameters = parameters_at(given.parameters, clock=self.clock)
        self.lease = timedelta(seconds=given.lease_seconds)
        self.response_seconds_max = given.response_timeout_seconds_max
        self.workers = given.task_workers
        self.horizon = Horizon(
            lead=timedelta(seconds=given.open_lead_seconds),
            margin=timedelta(seconds=given.open_margin_seconds),
        )
        self._shards = ShardPlan.parse(given.shard_plan)
        self.tables = Tables(given, self._shards, self.clock)
        # A batch goes back to its queue while this table does not answer.
        self.needs = [*dependencies.table(given.items_table)]
        self.reporter = Reporter(dependencies.of_this_process(), self.tables.dependencies, self.clock)
        stored = self.tables.tenants
        self.tenants = Cached(stored.get, load_many=stored.get_many, keep=_TENANT_KEPT, clock=self.clock)
        self.vault = Vault(data_keys=self.tables.data_keys, clock=self.clock)
        self.circuits = Circuits(flow=self.tables.flow, clock=self.clock)
        self.flow_keys = FlowKeys(flow=self.tables.flow, clock=self.clock)
        self.switchboard = Switchboard(switches=self.tables.switches, clock=self.clock)
        self._lanes(given)
        self._runs()
        self._destinations(given)

    def _lanes(self, given: Settings) -> None:
        sqs = aws.client("sqs")
        self.tasks_lane = Lane(url=given.tasks_queue_url, sqs=sqs, clock=self.clock, lease=self.lease)
        self.slow_lane = Lane(url=given.slow_queue_url, sqs=sqs, clock=self.clock, lease=self.lease)
        self.moves_slow = given.slow_lane
        self.dead_letters = SqsQueue(url=given.tasks_dlq_url, client=sqs, clock=self.clock)

    def _runs(self) -> None:
        self.subscribed = Subscribed(
            events=self.tables.events,
            subscriptions=self.tables.subscriptions,
            tasks=self.tables.tasks,
            clock=self.clock,
        )
        self.chain = RunChain(
            definitions=self.tables.definitions,
            tasks=self.tables.tasks,
            queue=self.tasks_lane.queue,
            runs=Runs(shards=self._shards),
            horizon=self.horizon,
            vault=self.vault,
            clock=self.clock,
            subscribed=self.subscribed,
        )

    def _destinations(self, given: Settings) -> None:
        self.own_payloads = OwnPayloads(
            bucket=given.payloads_bucket,
            objects=S3Objects(
                bucket=given.payloads_bucket,
                role_arn=given.payloads_role_arn,
                sts=lambda: aws.client("sts"),
                s3=lambda credentials: aws.client_with("s3", credentials),
                clock=self.clock,
            ),
            readers=ThreadPoolExecutor(_READERS, thread_name_prefix="payloads"),
        )
        self.targets: Mapping[str, Target] = Targets(
            Parts(client=aws.client, now=self.clock.now, loopback_allowed=given.loopback_destinations),
            inside={
                BACKFILL: self._backfills(timedelta(days=given.retention_days)),
                REPLAY: self._replays(),
            },
        )

    def _backfills(self, made_for: timedelta) -> BackfillTarget:
        return BackfillTarget(
            definitions=self.tables.definitions,
            tasks=self.tables.tasks,
            runs=self.chain.runs,
            queue=self.tasks_lane.queue,
            clock=self.clock,
            made_for=made_for,
            pool=ThreadPoolExecutor(_BACKFILLERS, thread_name_prefix="backfills"),
        )

    def _replays(self) -> ReplayTarget:
        return ReplayTarget(
            events=self.tables.events,
            subscriptions=self.tables.subscriptions,
            notifier=Notifier(
                events=self.tables.events,
                subscriptions=self.tables.subscriptions,
                tasks=self.tables.tasks,
                queue=self.tasks_lane.queue,
                shards=self._shards,
                clock=self.clock,
            ),
            clock=self.clock,
            pool=ThreadPoolExecutor(_REPLAYERS, thread_name_prefix="replays"),
        )


@cache
def wired() -> Wired:
    return Wired()
