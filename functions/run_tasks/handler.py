"""Packets of due tasks from the queue -> each delivered at its instant, its outcome committed."""

import random
from collections.abc import Iterable, Mapping
from datetime import timedelta
from functools import cache
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError

from functions.run_tasks.deliveries import Deliveries
from functions.run_tasks.ledger import Ledger
from functions.run_tasks.run import Report, Runner
from functions.run_tasks.settings import Settings
from postdate.domain.slots import ShardPlan
from postdate.runtime import aws, settings
from postdate.runtime.cached import Cached
from postdate.runtime.clock import SystemClock
from postdate.runtime.observability import count, logger, metrics, milliseconds
from postdate.runtime.queue import Received, SqsQueue, received
from postdate.stores.payloads import DynamoPayloads
from postdate.stores.tasks_dynamo import DynamoTasks
from postdate.stores.tenants import DynamoTenants
from postdate.targets.registry import targets

_TENANT_KEPT = timedelta(seconds=30)
_SECONDS_TO_SETTLE = 10


class Wired:
    """What outlives a batch: tables, queues, and the connections of the destinations."""

    def __init__(self) -> None:
        given = settings.read(Settings)
        sqs, self.clock = aws.client("sqs"), SystemClock()
        self.lease = timedelta(seconds=given.lease_seconds)
        self.queue_url = given.tasks_queue_url
        self.queue = SqsQueue(url=given.tasks_queue_url, client=sqs)
        self.dead_letters = SqsQueue(url=given.tasks_dlq_url, client=sqs)
        self.payloads = DynamoPayloads(table=given.payloads_table)
        self.tenants = Cached(
            DynamoTenants(table=given.tenants_table).get, keep=_TENANT_KEPT, clock=self.clock
        )
        self.tasks = DynamoTasks(
            table=given.items_table,
            client=aws.client("dynamodb"),
            plan=ShardPlan.parse(given.shard_plan),
            listing_shards=given.listing_shards,
            retention=timedelta(days=given.retention_days),
        )
        self.targets = targets(sqs=sqs, loopback_allowed=given.loopback_destinations, now=self.clock.now)

    def extend(self, messages: Iterable[Received], visible_after: timedelta) -> None:
        """A message that dies with this worker comes back when the lease is over, not after the queue's own time."""
        entries = [
            {
                "Id": str(place),
                "ReceiptHandle": message.receipt,
                "VisibilityTimeout": int(visible_after.total_seconds()),
            }
            for place, message in enumerate(messages)
        ]
        try:
            aws.client("sqs").change_message_visibility_batch(QueueUrl=self.queue_url, Entries=entries)
        except (ClientError, BotoCoreError) as error:
            logger.warning(
                "leases stay as they are", extra={"action": "not_extended", "error": type(error).__name__}
            )


@cache
def wired() -> Wired:
    return Wired()


@logger.inject_lambda_context
@metrics.log_metrics
def handler(event: Mapping[str, Any], context: Any) -> dict[str, Any]:
    messages, unreadable = _read(event["Records"])
    given = wired()
    runner = Runner(
        tasks=given.tasks,
        deliveries=Deliveries(
            targets=given.targets,
            payloads=given.payloads,
            tenant=given.tenants.get,
            seconds_left=lambda: context.get_remaining_time_in_millis() / 1000 - _SECONDS_TO_SETTLE,
        ),
        ledger=Ledger(queue=given.queue, dead_letters=given.dead_letters, clock=given.clock),
        extend_messages=given.extend,
        clock=given.clock,
        lease=given.lease,
        holder=context.aws_request_id[:13],
        draw=random.random,
    )
    report = runner.run(messages)
    _tell(report, len(messages))
    failed = [*unreadable, *sorted(report.failed_messages)]
    return {"batchItemFailures": [{"itemIdentifier": message_id} for message_id in failed]}


def _read(records: Iterable[Mapping[str, Any]]) -> tuple[list[Received], list[str]]:
    messages, unreadable = [], []
    for record in records:
        try:
            messages.append(received(record))
        except ValueError:
            logger.exception(
                "a message is no packet", extra={"action": "unreadable", "id": record["messageId"]}
            )
            unreadable.append(record["messageId"])
    return messages, unreadable


def _tell(report: Report, messages: int) -> None:
    counts = {
        "TasksClaimed": report.claimed,
        "TasksSucceeded": report.succeeded,
        "TasksRetried": report.retried,
        "TasksDead": report.dead,
        "CallsDropped": report.dropped,
        "CallsDeferred": report.deferred,
        "OutcomesFencedOff": report.fenced_off,
        "MessagesFailed": len(report.failed_messages),
    }
    count("Packets", messages)
    for name, value in counts.items():
        if value:
            count(name, value)
    for task in report.failures:
        action = "retry" if task.state.waits else "dead"
        logger.info(
            "an attempt failed",
            extra={
                "action": action,
                "task": task.id,
                "attempt": task.attempts,
                "reason": task.history[-1].why,
            },
        )
    for lateness in report.lateness_ms:
        milliseconds("TaskLateness", lateness)
