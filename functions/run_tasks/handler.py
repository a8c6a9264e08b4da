"""Packets of due tasks from one of two queues -> each delivered at its instant, its outcome committed.

The queue `tasks` has all calls at first; those to slow destinations are moved to the queue `slow`, which has workers of
its own.
"""

import random
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta
from functools import cache, partial
from typing import Any, Final

from functions.run_tasks.backfill import BackfillTarget
from functions.run_tasks.batch import Worker
from functions.run_tasks.chain import RunChain
from functions.run_tasks.circuits import Circuits
from functions.run_tasks.flow_keys import FlowKeys
from functions.run_tasks.gate import Gate
from functions.run_tasks.in_flight import InFlight
from functions.run_tasks.intake import Intake
from functions.run_tasks.replay import ReplayTarget
from functions.run_tasks.run import TaskRunner
from functions.run_tasks.sending import OwnPayloads, Sender
from functions.run_tasks.settings import Settings
from functions.run_tasks.stops import Stops
from functions.run_tasks.subscribed import Subscribed
from functions.run_tasks.tally import TaskTally
from postdate.domain.backfill import TARGET_TYPE as BACKFILL
from postdate.domain.recurrence import Runs
from postdate.domain.replay import TARGET_TYPE as REPLAY
from postdate.domain.slots import ShardPlan
from postdate.domain.sweeping import Horizon
from postdate.runtime import aws, dependencies, records, settings
from postdate.runtime.cached import Cached
from postdate.runtime.clock import Clock, SystemClock
from postdate.runtime.further import SqsFurther
from postdate.runtime.holding import put_back
from postdate.runtime.observability import logger, metrics
from postdate.runtime.outbox import Outbox
from postdate.runtime.parameters import parameters_at
from postdate.runtime.queue import Received, SqsQueue
from postdate.runtime.visibility import Visibility
from postdate.stores.data_keys import KmsDataKeys
from postdate.stores.definitions_dynamo import DynamoDefinitions
from postdate.stores.dependencies import DynamoDependencies, Reporter
from postdate.stores.events_dynamo import DynamoEvents
from postdate.stores.flow_dynamo import DynamoFlow
from postdate.stores.objects_s3 import S3Objects
from postdate.stores.payloads import DynamoPayloads
from postdate.stores.subscriptions_dynamo import DynamoSubscriptions
from postdate.stores.switchboard import Switchboard
from postdate.stores.switches import DynamoSwitches
from postdate.stores.tasks_dynamo import DynamoTasks
from postdate.stores.tenants import DynamoTenants
from postdate.stores.vault import Vault
from postdate.targets.base import Target
from postdate.targets.kind import Parts
from postdate.targets.registry import Targets
from postdate.use_cases.notifying import Notifier

# The author of what a worker changes in plans and writes as runs. Other changes of tasks name none, to keep rows small.
AUTHOR: Final = "function:run_tasks"
_TENANT_KEPT = timedelta(seconds=30)
_SECONDS_TO_SETTLE = 10
_READERS = 16
_BACKFILLERS = 2
_REPLAYERS = 2


class Lane:
    """A queue of calls, and what its workers do with the messages in it."""

    def __init__(self, *, url: str, sqs: Any, clock: Clock, lease: timedelta) -> None:
        self.name = url.rpartition("/")[2]
        self.queue = SqsQueue(url=url, client=sqs, clock=clock)
        self.visibility = Visibility(url=url, client=sqs, lease=lease)
        self.further = SqsFurther(url=url, client=sqs)


class Wired:
    """The objects of one process: tables, queues, and the connections to destinations."""

    def __init__(self) -> None:
        given = settings.read(Settings)
        sqs, dynamodb, self.clock = aws.client("sqs"), aws.client("dynamodb"), SystemClock()
        shards, retention = ShardPlan.parse(given.shard_plan), timedelta(days=given.retention_days)
        self.parameters = parameters_at(given.parameters, clock=self.clock)
        self.lease = timedelta(seconds=given.lease_seconds)
        self.response_seconds_max = given.response_timeout_seconds_max
        self.tasks_lane = Lane(url=given.tasks_queue_url, sqs=sqs, clock=self.clock, lease=self.lease)
        self.slow_lane = Lane(url=given.slow_queue_url, sqs=sqs, clock=self.clock, lease=self.lease)
        self.moves_slow = given.slow_lane
        self.workers = given.task_workers
        self.dead_letters = SqsQueue(url=given.tasks_dlq_url, client=sqs, clock=self.clock)
        self.payloads = DynamoPayloads(table=given.payloads_table, client=dynamodb)
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
        self.tenants = Cached(
            DynamoTenants(table=given.tenants_table, client=dynamodb).get, keep=_TENANT_KEPT, clock=self.clock
        )
        self.vault = Vault(
            data_keys=KmsDataKeys(
                table=given.data_keys_table,
                client=dynamodb,
                kms=partial(aws.client, "kms"),
                key_id=given.secrets_key_id,
            ),
            clock=self.clock,
        )
        self.tasks = DynamoTasks(
            table=given.items_table,
            client=dynamodb,
            shards=shards,
            listing_shards=given.listing_shards,
            retention=retention,
        )
        self.horizon = Horizon(
            lead=timedelta(seconds=given.open_lead_seconds),
            margin=timedelta(seconds=given.open_margin_seconds),
        )
        self.subscribed = Subscribed(
            events=DynamoEvents(
                table=given.events_table, client=dynamodb, kept=timedelta(days=given.events_kept_days)
            ),
            subscriptions=DynamoSubscriptions(table=given.subscriptions_table, client=dynamodb),
            tasks=self.tasks,
            clock=self.clock,
        )
        self.chain = RunChain(
            definitions=DynamoDefinitions(
                table=given.items_table,
                client=dynamodb,
                listing_shards=given.listing_shards,
                retention=retention,
                author=lambda: AUTHOR,
            ),
            tasks=self.tasks,
            queue=self.tasks_lane.queue,
            runs=Runs(shards=shards),
            horizon=self.horizon,
            vault=self.vault,
            clock=self.clock,
            subscribed=self.subscribed,
        )
        self.flow = DynamoFlow(
            table=given.flow_table, client=dynamodb, author=lambda: AUTHOR, now=self.clock.now
        )
        # A batch goes back to its queue while this table does not answer.
        self.needs = [*dependencies.table(given.items_table)]
        self.reporter = Reporter(
            dependencies.of_this_process(),
            DynamoDependencies(table=given.flow_table, client=dynamodb, function="run_tasks"),
            self.clock,
        )
        self.circuits = Circuits(flow=self.flow, clock=self.clock)
        self.flow_keys = FlowKeys(flow=self.flow, clock=self.clock)
        self.switchboard = Switchboard(
            switches=DynamoSwitches(table=given.switches_table, client=dynamodb), clock=self.clock
        )
        # Last: the targets of steps use the stores above.
        self.targets: Mapping[str, Target] = Targets(
            Parts(client=aws.client, now=self.clock.now, loopback_allowed=given.loopback_destinations),
            inside={BACKFILL: self._backfills(retention), REPLAY: self._replays(shards)},
        )

    def _replays(self, shards: ShardPlan) -> ReplayTarget:
        events, subscriptions = self.subscribed.events, self.subscribed.subscriptions
        return ReplayTarget(
            events=events,
            subscriptions=subscriptions,
            notifier=Notifier(
                events=events,
                subscriptions=subscriptions,
                tasks=self.tasks,
                queue=self.tasks_lane.queue,
                shards=shards,
                clock=self.clock,
            ),
            clock=self.clock,
            pool=ThreadPoolExecutor(_REPLAYERS, thread_name_prefix="replays"),
        )

    def _backfills(self, made_for: timedelta) -> BackfillTarget:
        """The target of the steps of backfills. Two threads: more steps at once would make other calls late."""
        return BackfillTarget(
            definitions=self.chain.definitions,
            tasks=self.tasks,
            runs=self.chain.runs,
            queue=self.tasks_lane.queue,
            clock=self.clock,
            made_for=made_for,
            pool=ThreadPoolExecutor(_BACKFILLERS, thread_name_prefix="backfills"),
        )


@cache
def wired() -> Wired:
    return Wired()


@logger.inject_lambda_context
@metrics.log_metrics
def handler(event: Mapping[str, Any], context: Any) -> dict[str, Any]:
    lane = _lane(event["Records"])
    messages, unreadable = records.read(event["Records"])
    tally = TaskTally(packets=len(messages))
    try:
        with dependencies.of_this_process().guarding(), wired().parameters.fresh():
            until = dependencies.of_this_process().open_until(wired().needs)
            if until is None:
                tally = _runner(context, lane, messages).run(messages)
            else:
                tally.stopped, tally.failed_messages = _put_back(lane, messages, until)
    except Exception:
        # What was decided is stored or will be decided again; the messages bring it back.
        logger.exception("a batch stopped before its end", extra={"action": "batch_broke_off"})
        tally.failed_messages |= {message.message_id for message in messages}
    wired().reporter.tell()
    failed = [message for message in messages if message.message_id in tally.failed_messages]
    lane.visibility.back_off(failed)
    tally.tell()
    ids = [*unreadable, *(message.message_id for message in failed)]
    return {"batchItemFailures": [{"itemIdentifier": message_id} for message_id in ids]}


def _put_back(lane: Lane, messages: Sequence[Received], until: datetime) -> tuple[int, set[str]]:
    """No call is looked at while the table of tasks does not answer."""
    outbox = Outbox(queue=lane.queue, dead_letters=wired().dead_letters)
    return put_back(messages, until=until, outbox=outbox, clock=wired().clock)


def _lane(event: Sequence[Mapping[str, Any]]) -> Lane:
    """The queue that the event comes from: all of its messages are of one."""
    slow = any(each.get("eventSourceARN", "").endswith(f":{wired().slow_lane.name}") for each in event[:1])
    return wired().slow_lane if slow else wired().tasks_lane


def _runner(context: Any, lane: Lane, messages: Sequence[Received]) -> TaskRunner:
    given = wired()

    def seconds_left() -> float:
        # The rest of the time is for the outcomes, which have to be written before Lambda ends the function.
        return float(context.get_remaining_time_in_millis()) / 1000 - _SECONDS_TO_SETTLE

    worker = Worker(
        clock=given.clock,
        holder=context.aws_request_id[:13],
        lease=given.lease,
        horizon=given.horizon,
        seconds_left=seconds_left,
        draw=random.random,
        # Parameters may change while the batch runs. One batch keeps one document.
        parameters=given.parameters.values,
    )
    sender = Sender(
        worker,
        targets=given.targets,
        payloads=given.payloads,
        own=given.own_payloads,
        tenant=given.tenants.get,
        vault=given.vault,
        response_seconds_max=given.response_seconds_max,
        subscribed=given.subscribed,
    )
    in_flight = InFlight(lambda tenant: sender.share_of(tenant, given.workers))
    return TaskRunner(
        worker,
        tasks=given.tasks,
        chain=given.chain,
        gate=Gate(
            flow=given.flow,
            circuits=given.circuits,
            flow_keys=given.flow_keys,
            stops=Stops(given.switchboard, given.clock),
            clock=given.clock,
            lease=given.lease,
            # A call in the slow lane has no slower lane to move to.
            moves_slow=given.moves_slow and lane is given.tasks_lane,
        ),
        sender=sender,
        outbox=Outbox(queue=lane.queue, dead_letters=given.dead_letters, slow=given.slow_lane.queue),
        intake=Intake(
            worker,
            event=messages,
            further=lane.further,
            extend=lane.visibility.extend,
            back_off=lane.visibility.back_off,
            in_flight=in_flight,
        ),
        in_flight=in_flight,
    )
