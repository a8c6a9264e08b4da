"""Builds what the steps of the reconciliation need, once for each copy of the function."""

from datetime import timedelta
from functools import cache

from functions.reconcile.letters import LetterBox, LetterQueue
from functions.reconcile.money import Collector, Judge
from functions.reconcile.papers import Papers
from functions.reconcile.report import ReportWriter
from functions.reconcile.settings import Settings
from functions.reconcile.tenants import Inspector
from postdate.domain.recurrence import Runs
from postdate.domain.slots import ShardPlan
from postdate.runtime import aws, settings
from postdate.runtime.clock import SystemClock
from postdate.runtime.dead_letters import LETTERS_WAIT_SECONDS, SqsLetters
from postdate.runtime.parameters import parameters_at
from postdate.stores.definitions_dynamo import DynamoDefinitions
from postdate.stores.erasures import DynamoErasures
from postdate.stores.ledger_dynamo import DynamoLedger
from postdate.stores.operations_dynamo import DynamoOperations
from postdate.stores.reconciliations import DynamoReconciliations
from postdate.stores.reports import S3Reports
from postdate.stores.scans import Scans
from postdate.stores.tasks_dynamo import DynamoTasks
from postdate.stores.tenants_dynamo import DynamoTenants
from postdate.use_cases.auditing import Auditor


class Wired:
    def __init__(self) -> None:
        given = settings.read(Settings)
        self.clock = SystemClock()
        dynamodb, shards = aws.client("dynamodb"), ShardPlan.parse(given.shard_plan)
        retention = timedelta(days=given.retention_days)
        tasks = DynamoTasks(
            table=given.items_table,
            client=dynamodb,
            shards=shards,
            listing_shards=given.listing_shards,
            retention=retention,
        )
        ledger = DynamoLedger(
            payments_table=given.payments_table,
            accounts_table=given.accounts_table,
            journal_table=given.journal_table,
            client=dynamodb,
            shards=shards,
            listing_shards=given.listing_shards,
        )
        tables = {
            "accounts": given.accounts_table,
            "payments": given.payments_table,
            "journal": given.journal_table,
        }
        self.reports = S3Reports(bucket=given.reports_bucket, client=aws.client("s3"))
        self.tenants = DynamoTenants(table=given.tenants_table, client=dynamodb)
        self.parameters = parameters_at(given.parameters, clock=self.clock)
        self.collector = Collector(
            scans=Scans(client=dynamodb, tables=tables),
            # Asked for at each run, because parameters change while the process lives.
            segments_max=lambda: self.parameters.values.reconciling.segments_max,
        )
        self.judge = Judge(
            ledger=ledger,
            auditor=Auditor(ledger=ledger, clock=self.clock),
            erasing=DynamoErasures(table=given.tenants_table, client=dynamodb).under_way,
        )
        self.letters = LetterBox(
            queues=(
                LetterQueue(name="tasks", letters=_letters(given.tasks_dlq_url), known=tasks.get_many),
                LetterQueue(name="payments", letters=_letters(given.payments_dlq_url), known=ledger.payments),
            ),
            clock=self.clock,
        )
        self.inspector = Inspector(
            tasks=tasks,
            definitions=DynamoDefinitions(
                table=given.items_table,
                client=dynamodb,
                listing_shards=given.listing_shards,
                retention=retention,
            ),
            operations=DynamoOperations(table=given.operations_table, client=dynamodb),
            runs=Runs(shards=shards),
            clock=self.clock,
        )
        reconciliations = DynamoReconciliations(table=given.operations_table, client=dynamodb)
        self.reporter = ReportWriter(reconciliations=reconciliations, clock=self.clock)

    def papers(self, run: str) -> Papers:
        return Papers(reports=self.reports, run=run)


def _letters(url: str) -> SqsLetters:
    return SqsLetters(url=url, client=aws.client("sqs"), wait_seconds=LETTERS_WAIT_SECONDS)


@cache
def wired() -> Wired:
    return Wired()
