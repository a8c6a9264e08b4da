"""Changes from the streams of tables -> one immutable event each, its entry in the tenant's feed, and its deliveries to
subscriptions."""

from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import asdict
from datetime import datetime, timedelta
from functools import cache
from typing import Any, Final

from functions.record.audits import audit_failed
from functions.record.bus import published
from functions.record.changes import Change, change_of
from functions.record.configs import config_changed
from functions.record.letters import Rereader
from functions.record.mend import Mender
from functions.record.readers import readers
from functions.record.record import Recorded, Recorder
from functions.record.settings import Settings
from functions.record.tiers import Tiers
from postdate.domain import calendar
from postdate.domain.errors import Unavailable
from postdate.domain.event import SERVICE, Event
from postdate.domain.slots import ShardPlan
from postdate.runtime import aws, settings
from postdate.runtime.clock import SystemClock
from postdate.runtime.letters import LetterSender
from postdate.runtime.observability import logger
from postdate.runtime.parameters import parameters_at
from postdate.runtime.queue import SqsQueue
from postdate.stores.calendar import DynamoCalendar
from postdate.stores.events_dynamo import DynamoEvents
from postdate.stores.items import Items
from postdate.stores.subscriptions_dynamo import DynamoSubscriptions
from postdate.stores.tasks_dynamo import DynamoTasks
from postdate.stores.tenants_dynamo import DynamoTenants
from postdate.use_cases.notifying import Notifier

AUTHOR: Final = "function:record"
# A check ends so long before the function does.
_KEPT_MILLISECONDS: Final = 15_000


class Wired:
    def __init__(self) -> None:
        given = settings.read(Settings)
        self.clock = SystemClock()
        self.letters = LetterSender(url=given.events_dlq_url, client=aws.client("sqs"))
        dynamodb, shards = aws.client("dynamodb"), ShardPlan.parse(given.shard_plan)
        kept = timedelta(days=given.events_kept_days)
        events = DynamoEvents(table=given.events_table, client=dynamodb, kept=kept)
        self.calendar = DynamoCalendar(table=given.slots_table, client=dynamodb)
        self.tiers = Tiers(DynamoTenants(table=given.tenants_table, client=dynamodb).get, clock=self.clock)
        notifier = Notifier(
            events=events,
            subscriptions=DynamoSubscriptions(table=given.subscriptions_table, client=dynamodb),
            tasks=DynamoTasks(
                table=given.items_table,
                client=dynamodb,
                shards=shards,
                listing_shards=given.listing_shards,
                retention=timedelta(days=given.retention_days),
                author=lambda: AUTHOR,
            ),
            queue=SqsQueue(url=given.tasks_queue_url, client=aws.client("sqs"), clock=self.clock),
            shards=shards,
            clock=self.clock,
        )
        self.parameters = parameters_at(given.parameters, clock=self.clock)
        self.recorder = Recorder(
            events=events,
            notify=notifier.notify,
            bury=lambda tenant, ids: self.letters.send({"undelivered": list(ids), "tenant": tenant}),
            publish=published(
                given.events_bus,
                aws.client("events"),
                # Asked for at each batch, because parameters change while the process lives.
                flag=lambda: self.parameters.values.flags.bus,
            ),
            readers=readers(given),
            clock=self.clock,
        )
        load = Items(client=dynamodb, items_table=given.items_table, payments_table=given.payments_table).load
        self.mender = Mender(events=events, recorder=self.recorder, load=load, kept=kept, clock=self.clock)
        self.rereader = Rereader(
            url=given.events_dlq_url,
            sqs=aws.client("sqs"),
            streams=aws.client("dynamodbstreams"),
            mender=self.mender,
            recorder=self.recorder,
            load=load,
            clock=self.clock,
        )


@cache
def wired() -> Wired:
    return Wired()


@logger.inject_lambda_context
def handler(event: Mapping[str, Any], context: Any) -> dict[str, Any]:
    """Answers a batch of a stream with the first record that failed; the stream then delivers that record and all later
    ones again. A command names its `action`. `check` makes the missing events of a tenant. `letters` records the events
    that dead letters name, or makes their deliveries, and deletes those letters. `audit_failed` records the
    contradictions that a reconciliation found. `config_changed` records that an operator deployed parameters."""
    with wired().parameters.fresh():
        return _answered(event, context)


def _answered(event: Mapping[str, Any], context: Any) -> dict[str, Any]:
    """Records the changes of a batch. A record that cannot be read goes to the dead letters and holds up no other."""
    if "action" in event:
        return _mended(event, lambda: context.get_remaining_time_in_millis() > _KEPT_MILLISECONDS)
    given = wired()
    changes = [change for record in event["Records"] if (change := change_of(record)) is not None]
    recorded = given.recorder.record(changes)
    failed = set(recorded.failed)
    for change, error in recorded.poisoned:
        if not _buried(change, error):
            failed.add(change.number)
    _count(recorded.new)
    _tell(recorded, failed)
    first = [change.number for change in changes if change.number in failed][:1]
    return {"batchItemFailures": [{"itemIdentifier": number} for number in first]}


def _mended(event: Mapping[str, Any], has_time: Callable[[], bool]) -> dict[str, Any]:
    """Carries out the command that `action` names."""
    if event["action"] == "audit_failed":
        failed = audit_failed(event["found"], run=event["run"], now=wired().clock.now())
        wired().recorder.record_events(failed.subject.tenant, [failed])
        return {"event_id": failed.id}
    if event["action"] == "letters":
        reread = wired().rereader.read(has_time)
        return {"letters_deleted": reread.deleted, "letters_kept": reread.kept} | asdict(reread.mended)
    if event["action"] == "config_changed":
        changes = config_changed(event)
        wired().recorder.record_events(SERVICE, changes)
        return {"event_ids": [change.id for change in changes]}
    since = datetime.fromisoformat(event["since"])
    found = wired().mender.check(event["tenant"], since=since, after=event.get("after"), has_time=has_time)
    logger.info(
        "missing events were looked for",
        extra={
            "action": "gaps_checked",
            "subjects": found.subjects,
            "filled": found.filled_count,
            "left": sum(gap.count for gap in found.left),
        },
    )
    return asdict(found)


def _count(events: Sequence[Event]) -> None:
    """Counts new events for the operators' calendar, which holds nothing up: what cannot be counted is missing there. A
    worker that dies before it counts leaves a batch out, and none is counted twice."""
    given = wired()
    try:
        given.calendar.add(calendar.changes_by_tier(events, now=given.clock.now(), tier_of=given.tiers.of))
    except Unavailable:
        logger.exception("events are missing in the calendar", extra={"action": "calendar_not_counted"})


def _buried(change: Change, error: Exception) -> bool:
    """The letter names the row and the record. It holds no values and needs none: the row's own history tells what the
    event would have said."""
    letter = {
        "table": change.table,
        "keys": {name: next(iter(value.values())) for name, value in change.keys.items()},
        "number": change.number,
        "error": type(error).__name__,
    }
    logger.error("a record cannot be read", extra={"action": "unreadable", **letter}, exc_info=error)
    return wired().letters.send(letter)


def _tell(recorded: Recorded, failed: Set[str]) -> None:
    """Logs one line for each batch. The age of the records is a metric of Lambda itself."""
    now = wired().clock.now()
    occurred = [event.occurred_at for event in recorded.events]
    logger.info(
        "changes were recorded",
        extra={
            "action": "recorded",
            "events": len(recorded.events) - recorded.doubled,
            "doubled": recorded.doubled,
            "failed": len(failed),
            "poisoned": len(recorded.poisoned),
            "delay_ms_max": max((now - at for at in occurred), default=timedelta(0))
            // timedelta(milliseconds=1),
        },
    )
