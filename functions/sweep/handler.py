"""A tick of the scheduler, its own heartbeat, or a pass handed out -> opens, closes and audits slots."""

import json
from collections.abc import Mapping, Sequence
from datetime import timedelta
from functools import cache
from typing import Any

from functions.sweep.heartbeat import Heartbeat
from functions.sweep.settings import Settings
from functions.sweep.stalled import StalledOperations
from functions.sweep.sweep_group import GroupSweeper
from functions.sweep.tick import Ticker
from functions.sweep.ticks import Ticks
from postdate.domain import payment, task
from postdate.domain.slots import ShardPlan
from postdate.domain.sweeping import Groups, Horizon, Stage, Sweep
from postdate.runtime import aws, metric, settings
from postdate.runtime.clock import SystemClock
from postdate.runtime.machine import StepFunctions
from postdate.runtime.observability import emit, logger, metrics
from postdate.runtime.parameters import parameters_at
from postdate.runtime.queue import SqsQueue
from postdate.stores.operations_dynamo import DynamoOperations
from postdate.stores.passes_dynamo import DynamoPasses
from postdate.stores.switchboard import Switchboard
from postdate.stores.switches import DynamoSwitches
from postdate.stores.tallies import DynamoTallies
from postdate.stores.timetable import DynamoTimetable

_TOLD_MAX = 20


class Wired:
    """The use cases over this environment's tables and queues."""

    def __init__(self) -> None:
        given = settings.read(Settings)
        sqs, dynamodb, clock = aws.client("sqs"), aws.client("dynamodb"), SystemClock()
        shards = ShardPlan.parse(given.shard_plan)
        horizon = Horizon(
            lead=timedelta(seconds=given.open_lead_seconds),
            margin=timedelta(seconds=given.open_margin_seconds),
        )
        groups = Groups(shards=shards, size=given.shards_per_group)
        passes = DynamoPasses(table=given.slots_table, client=dynamodb)
        ticks = Ticks(url=given.ticks_queue_url, client=sqs)
        self.sweeper = GroupSweeper(
            timetable=DynamoTimetable(
                items_table=given.items_table, payments_table=given.payments_table, client=dynamodb
            ),
            passes=passes,
            tallies=DynamoTallies(table=given.slots_table, client=dynamodb),
            queues={
                task.KINDS: SqsQueue(url=given.tasks_queue_url, client=sqs, clock=clock),
                frozenset({payment.KIND}): SqsQueue(url=given.payments_queue_url, client=sqs, clock=clock),
            },
            groups=groups,
            horizon=horizon,
            switchboard=Switchboard(
                switches=DynamoSwitches(table=given.switches_table, client=dynamodb), clock=clock
            ),
            clock=clock,
        )
        self.parameters = parameters_at(given.parameters, clock=clock)
        self.ticker = Ticker(
            tables=frozenset({given.items_table, given.payments_table}),
            sweeper=self.sweeper,
            passes=passes,
            groups=groups,
            horizon=horizon,
            clock=clock,
            hand_out=ticks.hand_out,
            # Read at each tick, because parameters change while the process lives.
            passes_max=lambda: self.parameters.values.sweeping.passes_max,
        )
        self.stalled = StalledOperations(
            operations=DynamoOperations(table=given.operations_table, client=dynamodb),
            machine=StepFunctions(arn=given.operation_machine_arn, client=aws.client("stepfunctions")),
            clock=clock,
        )
        self.heartbeat = Heartbeat(
            passes=passes,
            clock=clock,
            every=timedelta(seconds=given.tick_seconds),
            send=ticks.beat,
        )


@cache
def wired() -> Wired:
    return Wired()


@logger.inject_lambda_context
@metrics.log_metrics
def handler(event: Mapping[str, Any], context: object) -> dict[str, Any]:
    failed = []
    with wired().parameters.fresh():
        for record in event["Records"]:
            try:
                _handle(json.loads(record["body"]))
            except Exception:
                logger.exception(
                    "a wake-up failed and will be redelivered", extra={"action": "wake_up_failed"}
                )
                failed.append({"itemIdentifier": record["messageId"]})
    emit(metric.WAKE_UPS, len(event["Records"]))
    return {"batchItemFailures": failed}


def _handle(wake_up: Mapping[str, Any]) -> None:
    """Carries out one message: a tick of the scheduler, a heartbeat, or a pass that another sweeper handed out."""
    match wake_up:
        case {"kind": "tick"}:
            emit(metric.TICKS)
            if wired().heartbeat.revive():
                logger.info("heartbeat started", extra={"action": "heartbeat_started"})
            _tick()
        case {"kind": "heartbeat", "number": int(number)}:
            if wired().heartbeat.beat(number):
                _tick()
        case {"kind": "sweep", "minute": int(minute), "group": int(group), "stage": str(stage)}:
            epoch = int(wake_up.get("epoch", 0))
            sweep = Sweep(minute=minute, group=group, stage=Stage(stage), epoch=epoch)
            swept = wired().sweeper.sweep(sweep)
            emit(metric.CALLS_SENT, swept.sent)
            _tell_due(swept.due, swept.waiting)
            _tell_overdue(swept.overdue)
        case _:
            raise ValueError("a wake-up of no known kind")


def _tick() -> None:
    """Makes the passes that are due, and tells the numbers."""
    ticked = wired().ticker.tick()
    emit(metric.CALLS_SENT, ticked.sent)
    emit(metric.PASSES_FAILED, ticked.failed)
    _tell_due(ticked.due, ticked.waiting)
    _tell_overdue(ticked.overdue)
    emit(metric.BEHIND, ticked.behind_minutes)
    _tell_stalled(wired().stalled.look())
    if ticked.sent or ticked.handed_out or ticked.failed:
        logger.info(
            "swept",
            extra={
                "action": "swept",
                "made": ticked.made,
                "failed": ticked.failed,
                "handed_out": ticked.handed_out,
                "sent": ticked.sent,
            },
        )


def _tell_due(due: int, waiting: int) -> None:
    """Expected against begun, of the minutes that were closed now."""
    emit(metric.ITEMS_DUE, due)
    emit(metric.ITEMS_WAITING, waiting)


def _tell_stalled(operations: Sequence[str]) -> None:
    """Reports operations whose execution died. A new one continues them; the cause needs a person."""
    emit(metric.OPERATIONS_STALLED, len(operations))
    if operations:
        logger.error(
            "operations had no execution",
            extra={
                "action": "operations_stalled",
                "count": len(operations),
                "operations": list(operations[:_TOLD_MAX]),
            },
        )


def _tell_overdue(overdue: Sequence[str]) -> None:
    """Reports items whose call was lost. The audit has sent the call again; the cause needs a person."""
    emit(metric.OVERDUE, len(overdue))
    if overdue:
        logger.error(
            "overdue items had no worker",
            extra={"action": "overdue", "count": len(overdue), "items": list(overdue[:_TOLD_MAX])},
        )
