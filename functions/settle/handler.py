"""Packets of due payments from the queue -> each settled at its instant, or failed, in one transaction."""

import random
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from functools import cache
from typing import Any, Final

from functions.settle.run import PaymentRunner
from functions.settle.settings import Settings
from functions.settle.stops import Stops
from functions.settle.tally import PaymentTally
from postdate.domain.due import DELAY_MAX
from postdate.domain.payment import Payment, State
from postdate.domain.retry import RetryPolicy
from postdate.domain.slots import ShardPlan
from postdate.runtime import aws, dependencies, metric, records, settings
from postdate.runtime.clock import SystemClock
from postdate.runtime.observability import emit, emit_all, logger, metrics
from postdate.runtime.outbox import Outbox
from postdate.runtime.parameters import parameters_at
from postdate.runtime.putting_back import put_back
from postdate.runtime.queue import Received, SqsQueue
from postdate.runtime.visibility import Visibility
from postdate.stores.dependencies import DynamoDependencies, Reporter
from postdate.stores.ledger_dynamo import LEDGER_TRIES, DynamoLedger
from postdate.stores.switchboard import Switchboard
from postdate.stores.switches import DynamoSwitches

_LATE_MS: Final = 1000


class Wired:
    """The objects of one process: the ledger and the queues."""

    def __init__(self) -> None:
        given = settings.read(Settings)
        sqs, self.clock = aws.client("sqs"), SystemClock()
        self.parameters = parameters_at(given.parameters, clock=self.clock)
        self.lease = timedelta(seconds=given.lease_seconds)
        self.visibility = Visibility(url=given.payments_queue_url, client=sqs, lease=self.lease)
        self.queue = SqsQueue(url=given.payments_queue_url, client=sqs, clock=self.clock)
        self.dead_letters = SqsQueue(url=given.payments_dlq_url, client=sqs, clock=self.clock)
        # No pointer leads to a later attempt, so the queue has to hold its message until then.
        self.retry = RetryPolicy(
            max_attempts=given.payment_attempts_max,
            initial_seconds=given.payment_retry_seconds,
            max_seconds=min(given.payment_retry_max_seconds, DELAY_MAX.total_seconds()),
        )
        self.ledger = DynamoLedger(
            payments_table=given.payments_table,
            accounts_table=given.accounts_table,
            journal_table=given.journal_table,
            client=aws.client("dynamodb", tries=LEDGER_TRIES),
            shards=ShardPlan.parse(given.shard_plan),
            listing_shards=given.listing_shards,
        )
        # A batch goes back to its queue while one of these tables does not answer.
        tables = (given.payments_table, given.accounts_table, given.journal_table, given.switches_table)
        self.needs = [name for each in tables for name in dependencies.table(each)]
        self.reporter = Reporter(
            dependencies.of_this_process(),
            DynamoDependencies(table=given.flow_table, client=aws.client("dynamodb"), function="settle"),
            self.clock,
        )
        self.switchboard = Switchboard(
            switches=DynamoSwitches(table=given.switches_table, client=aws.client("dynamodb")),
            clock=self.clock,
        )


@cache
def wired() -> Wired:
    return Wired()


@logger.inject_lambda_context
@metrics.log_metrics
def handler(event: Mapping[str, Any], context: Any) -> dict[str, Any]:
    messages, unreadable = records.read(event["Records"])
    tally = PaymentTally()
    try:
        with dependencies.of_this_process().guarding(), wired().parameters.fresh():
            until = dependencies.of_this_process().open_until(wired().needs)
            tally = _runner().run(messages) if until is None else _put_back(messages, until)
    except Exception:
        # What was posted is stored or was never made; the messages bring back the rest.
        logger.exception("a batch stopped before its end", extra={"action": "batch_broke_off"})
        tally.failed_messages |= {message.message_id for message in messages}
    wired().reporter.tell()
    failed = [message for message in messages if message.message_id in tally.failed_messages]
    wired().visibility.back_off(failed)
    _tell(tally, messages)
    ids = [*unreadable, *(message.message_id for message in failed)]
    return {"batchItemFailures": [{"itemIdentifier": message_id} for message_id in ids]}


def _put_back(messages: Sequence[Received], until: datetime) -> PaymentTally:
    """Holds the batch back, without reading or settling, while a table does not answer."""
    given = wired()
    outbox = Outbox(queue=given.queue, dead_letters=given.dead_letters)
    stopped, failed = put_back(messages, until=until, outbox=outbox, clock=given.clock)
    return PaymentTally(stopped=stopped, failed_messages=failed)


def _runner() -> PaymentRunner:
    given = wired()
    return PaymentRunner(
        ledger=given.ledger,
        outbox=Outbox(queue=given.queue, dead_letters=given.dead_letters),
        hide=given.visibility.hide,
        clock=given.clock,
        lease=given.lease,
        stops=Stops(given.switchboard, given.clock),
        retry=given.parameters.values.payment_retries.over(given.retry),
        draw=random.random,
    )


def _tell(tally: PaymentTally, messages: Sequence[Received]) -> None:
    values = {
        metric.PACKETS: len(messages),
        metric.REDELIVERIES: sum(message.receives > 1 for message in messages),
        metric.PAYMENTS_SETTLED: tally.settled,
        metric.PAYMENTS_FAILED: tally.failed,
        metric.MONEY_MOVED: sum(each.amount for each, _ in tally.ended if each.state is State.COMPLETED),
        metric.BALANCE_UPDATES: 2 * tally.settled,
        metric.PAYMENTS_LATE: sum(lateness > _LATE_MS for lateness in tally.lateness_ms),
        metric.PAYMENTS_STUMBLED: tally.stumbled,
        metric.PAYMENTS_PARKED: tally.parked,
        metric.BOOKS_DISAGREE: tally.disagreeing,
        metric.CALLS_DROPPED: tally.dropped,
        metric.CALLS_DEFERRED: tally.deferred,
        metric.CALLS_STOPPED: tally.stopped,
        metric.MESSAGES_FAILED: len(tally.failed_messages),
    }
    emit_all(values)
    # One line for each payment: a person looks for a payment by its id.
    for payment, lateness_ms in tally.ended:
        logger.info(
            "a payment ended",
            extra={
                "action": "payment_executed",
                "payment_id": payment.id,
                "execution_id": payment.executions[-1].id if payment.executions else None,
                "status": payment.state.value,
                "latency_ms": round(lateness_ms, 1),
            },
        )
    for payment in tally.failures:
        logger.info(
            "an attempt failed",
            extra={
                "action": _action(payment),
                "payment": payment.id,
                "attempt": payment.attempts,
                "reason": payment.history[-1].why,
            },
        )
    for measured, times in (
        (metric.PAYMENT_LATENESS, tally.lateness_ms),
        (metric.PAYMENT_WAIT, tally.wait_ms),
        (metric.PAYMENT_EXECUTION, tally.execution_ms),
    ):
        for milliseconds in times:
            emit(measured, milliseconds)


def _action(payment: Payment) -> str:
    if payment.state is State.FAILED:
        return "failed"
    return "parked" if payment.lease_until is None else "stumbled"
