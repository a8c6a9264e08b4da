"""A step of the state machine `archive` -> a minute's part of the archive of feeds and payments, and where to go on."""

from collections.abc import Mapping
from datetime import timedelta
from functools import cache
from typing import Any, Final

from functions.archive.archive import Archiver
from functions.archive.owners import Owners
from functions.archive.retain import Retainer
from functions.archive.settings import Settings
from postdate.domain.errors import Unavailable
from postdate.domain.event import SERVICE
from postdate.domain.reconciling import ArchiveRun
from postdate.domain.retention import kept_for
from postdate.domain.slots import ShardPlan
from postdate.runtime import aws, settings
from postdate.runtime.clock import SystemClock
from postdate.runtime.observability import logger
from postdate.stores.archive import S3Archive
from postdate.stores.data_keys import KmsDataKeys
from postdate.stores.events_dynamo import DynamoEvents
from postdate.stores.reports import S3Reports, note_archive
from postdate.stores.slot_payments import DynamoSlotPayments
from postdate.stores.tenants_dynamo import DynamoTenants
from postdate.stores.vault import Vault
from postdate.stores.walks import DynamoWalks

# The time of one invocation. A manifest that has begun is finished; then the machine calls again.
_WORKS_FOR: Final = timedelta(seconds=60)


class Wired:
    def __init__(self) -> None:
        given = settings.read(Settings)
        self.clock = SystemClock()
        dynamodb, kms = aws.client("dynamodb"), aws.client("kms")
        data_keys = KmsDataKeys(
            table=given.data_keys_table, client=dynamodb, kms=lambda: kms, key_id=given.secrets_key_id
        )
        s3 = aws.client("s3")
        self.reports = S3Reports(bucket=given.reports_bucket, client=s3)
        self.tenants = DynamoTenants(table=given.tenants_table, client=dynamodb)
        self.archiver = Archiver(
            events=DynamoEvents(
                table=given.events_table, client=dynamodb, kept=timedelta(days=given.events_kept_days)
            ),
            archive=S3Archive(bucket=given.archive_bucket, client=s3),
            vault=Vault(data_keys=data_keys, clock=self.clock),
            clock=self.clock,
        )
        self.retainer = Retainer(
            payments=DynamoSlotPayments(
                payments_table=given.payments_table,
                journal_table=given.journal_table,
                client=dynamodb,
                listing_shards=given.listing_shards,
            ),
            events=self.archiver.events,
            archive=self.archiver.archive,
            walks=DynamoWalks(table=given.slots_table, client=dynamodb),
            owners=Owners(
                archive=self.archiver.archive,
                events=self.archiver.events,
                vault=self.archiver.vault,
                clock=self.clock,
            ),
            shards=ShardPlan.parse(given.shard_plan),
            clock=self.clock,
            kept=kept_for(given.payments_kept_days),
            events_kept=timedelta(days=given.events_kept_days),
        )


@cache
def wired() -> Wired:
    return Wired()


@logger.inject_lambda_context
def handler(event: Mapping[str, Any], context: Any) -> dict[str, Any]:
    """The answer is the machine's next input. Raises what the machine is to try again."""
    return _payments(event) if event.get("action") == "payments" else _feeds(event)


def _feeds(event: Mapping[str, Any]) -> dict[str, Any]:
    """Archives the feeds behind the tenant `after`, in the order of their names. A feed that cannot be archived is
    named in `failed` and stops no other: the next night goes on with it. With `today` the events of the day that runs
    are archived as well."""
    given = wired()
    until = given.clock.now() + _WORKS_FOR
    after, today = event.get("after") or "", bool(event.get("today"))
    told = {name: int(event.get(name, 0)) for name in ("manifests", "events")}
    failed = list(event.get("failed", ()))
    # The events of operators, switches and parameters have a feed of their own.
    for tenant in sorted({SERVICE, *given.tenants.ids()}):
        if tenant <= after:
            continue
        try:
            done = given.archiver.run(tenant, has_time=lambda: given.clock.now() < until, today=today)
        except Unavailable:
            logger.exception("a feed was not archived", extra={"action": "archive_failed"})
            failed.append(tenant)
        else:
            told["manifests"] += done.manifests
            told["events"] += done.events
            if not done.is_done:
                # The time is up within this feed: the next step begins with it again, so `after` is the one before.
                return {
                    **told,
                    "after": after,
                    "today": today,
                    "failed": failed,
                    "goes_on": True,
                    "is_behind": True,
                }
        after = tenant
    logger.info("feeds were archived", extra={"action": "archived", "failed": len(failed), **told})
    return {
        **told,
        "after": None,
        "today": today,
        "failed": failed,
        "goes_on": False,
        "is_behind": bool(failed),
    }


def _payments(event: Mapping[str, Any]) -> dict[str, Any]:
    """Archives finished payments from the place at which the last walk ended, and then notes the end of the archive's
    run. Without the note the reconciliation tells that the archive stands."""
    given = wired()
    until = given.clock.now() + _WORKS_FOR
    done = given.retainer.run(has_time=lambda: given.clock.now() < until)
    counted = {"payments": done.archived, "payments_left": done.left, "payment_objects": done.objects}
    told = {name: int(event.get(name, 0)) + number for name, number in counted.items()}
    if done.is_done:
        run = ArchiveRun(finished_at=given.clock.now(), failed=tuple(event.get("failed", ())))
        note_archive(given.reports, run)
        logger.info("finished payments were archived", extra={"action": "payments_archived", **told})
    return {**event, **told, "goes_on": not done.is_done}
