"""A step of the state machine `erase` -> a minute's part of the erasure of a tenant, and when to go on. A call of `api`
-> the count of what an erasure would do.

The machine knows the new name alone. The place is in the row of that name.
"""

from collections.abc import Mapping
from datetime import timedelta
from functools import cache
from typing import Any, Final

from functions.erase.count import Census, Counted
from functions.erase.erase import Eraser, ErasureWaits
from functions.erase.reports import FindingsEraser
from functions.erase.settings import Settings
from postdate.domain.errors import BooksDisagree
from postdate.domain.slots import ShardPlan
from postdate.runtime import aws, settings
from postdate.runtime.clock import SystemClock
from postdate.runtime.dead_letters import LETTERS_WAIT_SECONDS, SqsLetters
from postdate.runtime.observability import logger
from postdate.stores.erasures import DynamoErasures
from postdate.stores.ledger_dynamo import DynamoLedger
from postdate.stores.owned import OWNED, Owned
from postdate.stores.reconciliations import DynamoReconciliations
from postdate.stores.reports import S3Reports

# Of one invocation. The page that has begun ends; then the machine calls again.
_WORKS_FOR: Final = timedelta(seconds=60)
# Of one count, for which an operator's request waits.
_COUNTS_FOR: Final = timedelta(seconds=12)


class Wired:
    def __init__(self) -> None:
        given = settings.read(Settings)
        self.clock = SystemClock()
        dynamodb, sqs = aws.client("dynamodb"), aws.client("sqs")
        urls = (given.tasks_dlq_url, given.payments_dlq_url)
        self.eraser = Eraser(
            erasures=DynamoErasures(table=given.tenants_table, client=dynamodb),
            owned=Owned(
                client=dynamodb,
                tables={name: getattr(given, f"{name}_table") for name in OWNED},
                listing_shards=given.listing_shards,
            ),
            ledger=DynamoLedger(
                payments_table=given.payments_table,
                accounts_table=given.accounts_table,
                journal_table=given.journal_table,
                client=dynamodb,
                shards=ShardPlan.parse(given.shard_plan),
                listing_shards=given.listing_shards,
            ),
            letters=tuple(SqsLetters(url=url, client=sqs, wait_seconds=LETTERS_WAIT_SECONDS) for url in urls),
            findings=FindingsEraser(
                reconciliations=DynamoReconciliations(table=given.operations_table, client=dynamodb),
                reports=S3Reports(bucket=given.reports_bucket, client=aws.client("s3")),
            ),
            clock=self.clock,
            waits=ErasureWaits(
                drain=timedelta(seconds=given.erasure_drain_seconds),
                streams=timedelta(seconds=given.erasure_streams_seconds),
                forgotten=timedelta(seconds=given.erasure_forgotten_seconds),
            ),
        )

        self.census = Census(owned=self.eraser.owned, letters=self.eraser.letters)


@cache
def wired() -> Wired:
    return Wired()


@logger.inject_lambda_context
def handler(event: Mapping[str, Any], context: Any) -> dict[str, Any]:
    """The answer is the machine's next input, or the count. Raises what the caller is to try again."""
    given, tenant = wired(), event["tenant"]
    if event.get("action") == "count":
        ends_at = given.clock.now() + _COUNTS_FOR
        found = Counted.read(event["found"])
        return given.census.count(tenant, found, has_time=lambda: given.clock.now() < ends_at).as_dict()
    until = given.clock.now() + _WORKS_FOR
    try:
        worked = given.eraser.work(tenant, has_time=lambda: given.clock.now() < until)
    except BooksDisagree:
        # The text names checks and no account.
        logger.exception("an erasure was refused", extra={"action": "erasure_refused", "id": tenant})
        return {"tenant": tenant, "state": "refused", "seconds": 0}
    state = "done" if worked.seconds is None else "waits" if worked.seconds else "goes on"
    return {"tenant": tenant, "state": state, "seconds": worked.seconds or 0}
